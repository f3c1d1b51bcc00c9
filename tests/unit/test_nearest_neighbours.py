"""NearestNeighbours: the nearest training documents vote for their labels."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

import polyseme
from polyseme import LabelHierarchy, NearestNeighbours
from polyseme.backbones.nearest import index as index_module
from polyseme.backbones.nearest.documents import TakenAtItsWord
from polyseme.cost.estimate import estimate_training
from polyseme.files.kinds import method_named
from polyseme.machine.run import Run
from polyseme.tagger import tagger_for
from tests.small_data import topics
from tests.small_problems import clusters_of, sparse

BARE = {"ordering": "product", "senses": "none", "n_jobs": 1, "verbose": 0}


@pytest.fixture(scope="module")
def data():
    return topics(n_labels=30, n_documents=900)


@pytest.fixture(scope="module")
def model(data):
    return NearestNeighbours(**BARE).fit(data.X, data.Y)


def assert_same_answers(one, other, X):
    for found, expected in zip(one.predict_top_k(X, 6), other.predict_top_k(X, 6), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_training_document_is_its_own_neighbour(data):
    alone = NearestNeighbours(n_neighbours=1, **BARE).fit(data.X, data.Y)
    votes = alone.decision_function(data.X)
    assert (votes.toarray() == data.Y.toarray()).mean() > 0.999
    np.testing.assert_array_equal(np.unique(votes.data), [1])


def test_votes_are_shares_of_neighbours_and_those_of_labels_sum_to_how_many_these_have():
    X = np.array([[1, 0], [1, 0], [1, 0], [0, 1]], dtype=np.float32)
    Y = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1]])
    votes = NearestNeighbours(n_neighbours=3, **BARE).fit(X, Y).decision_function(X).toarray()
    np.testing.assert_allclose(votes[0], [1, 1 / 3, 0], atol=1e-6)
    np.testing.assert_allclose(votes[3, 2], 1, atol=1e-6)


def test_nearer_documents_have_more_to_say():
    X = np.array([[1, 0.1], [0.1, 1]], dtype=np.float32)
    trained = NearestNeighbours(n_neighbours=2, **BARE).fit(X, np.eye(2))
    assert trained.predict_top_k(np.array([[0.9, 0.3]], dtype=np.float32), 2)[0].tolist() == [
        [0, 1]
    ]


def test_most_first_labels_are_right(data, model):
    assert model.score(data.X_test, data.Y_test) > 0.9


def test_documents_with_like_labels_are_brought_nearer_than_words_alone_bring_them():
    # Half of the words are chance and louder than those that go with labels.
    rng = np.random.default_rng(0)
    has = np.arange(600) % 6
    X = rng.normal(size=(600, 40)).astype(np.float32)
    X[np.arange(600), has] += 2.5
    trained = NearestNeighbours(n_neighbours=5, **BARE).fit(X[:400], np.eye(6)[has[:400]])
    plain = np.argsort(-(X[400:] @ (X[:400] / np.linalg.norm(X[:400], axis=1)[:, None]).T))[:, :5]
    of_plain = [np.bincount(has[row], minlength=6).argmax() for row in plain]
    assert trained.score(X[400:], np.eye(6)[has[400:]]) > np.mean(of_plain == has[400:]) + 0.1


def test_in_partitions_most_neighbours_are_still_found(data):
    parts = NearestNeighbours(partition_size=150, **BARE).fit(data.X, data.Y)
    n_documents = [part.labels.n_rows for part in parts.matcher_.partitions]
    assert len(n_documents) > 3
    assert sum(n_documents) == 900
    assert parts.score(data.X_test, data.Y_test) > 0.85


@pytest.mark.slow
def test_partitions_and_graphs_are_saved(tmp_path, monkeypatch, data):
    monkeypatch.setattr(index_module, "FEW", 20)
    trained = NearestNeighbours(partition_size=300, verbose=0).fit(data.X, data.Y)
    assert len(trained.matcher_.partitions) > 1
    assert any(part.index.graph is not None for part in trained.matcher_.partitions)
    trained.save(tmp_path / "model")
    assert_same_answers(polyseme.load(tmp_path / "model"), trained, data.X_test)


def test_neither_threads_nor_another_training_change_the_model(monkeypatch, data):
    monkeypatch.setattr(index_module, "FEW", 20)
    how = {**BARE, "partition_size": 300}
    one, two = (
        NearestNeighbours(**{**how, "n_jobs": n}).fit(data.X, data.Y).contents().arrays
        for n in (1, 3)
    )
    assert one.keys() == two.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, two[name])


def test_documents_without_labels_do_not_vote(data):
    Y = data.Y.toarray()
    Y[::2] = 0
    trained = NearestNeighbours(**BARE).fit(data.X, Y)
    assert sum(part.labels.n_rows for part in trained.matcher_.partitions) == 450
    assert (trained.predict_top_k(data.X_test, 1)[0] >= 0).all()


def test_dense_features_are_taken(data):
    rng = np.random.default_rng(0)
    to_dense = rng.normal(size=(data.X.shape[1], 48)).astype(np.float32)
    trained = NearestNeighbours(**BARE).fit(data.X @ to_dense, data.Y)
    assert trained.layout_ == (0, 48)
    assert trained.score(data.X_test @ to_dense, data.Y_test) > 0.8


def test_votes_become_probabilities_by_the_learned_order(data, model):
    learned = NearestNeighbours(verbose=0, senses="none").fit(data.X, data.Y)
    assert learned.ordering_ is not None
    assert tagger_for(learned).has_probabilities
    assert not tagger_for(model).has_probabilities


def test_an_empty_document_gets_an_answer(model, data):
    labels, scores = model.predict_top_k(sp.csr_array((1, data.X.shape[1])), 3)
    assert np.isfinite(scores).all()
    assert labels.max() < 30


def test_a_ranker_that_takes_the_matcher_at_its_word_gives_slots_the_score_of_their_cluster():
    clusters = clusters_of([0, 2], [], [1], n_labels=3)
    matched = sparse(np.array([[0.5, 0.25, 0], [0, 0, 1], [0, 0, 0]]))
    scores = TakenAtItsWord().score(None, matched, clusters, Run())
    expected = [[0.5, 0.5, 0], [0, 0, 1], [0, 0, 0]]
    np.testing.assert_array_equal(scores.to_scipy().toarray(), expected)


# What it cannot do, and what is wrong


def test_there_are_no_copies_to_ask_for(data):
    with pytest.raises(TypeError, match="copies"):
        NearestNeighbours(copies=2)


def test_an_update_is_refused(data, model):
    with pytest.raises(ValueError, match="fit it again on the old and the new ones"):
        polyseme.update.updated(model, data.X, data.Y, data.X, data.Y)


def test_a_hierarchy_is_refused(data):
    with pytest.raises(ValueError, match="leave out the hierarchy"):
        NearestNeighbours().fit(data.X, data.Y, hierarchy=LabelHierarchy.from_nested([[0], [1]]))


def test_bad_documents_and_parameters_are_refused(model, data):
    X = data.X.copy()
    X.data[0] = np.nan
    with pytest.raises(ValueError, match=r"NaN|finite"):
        NearestNeighbours(**BARE).fit(X, data.Y)
    with pytest.raises(ValueError, match="features"):
        model.predict_top_k(data.X_test[:, :-1])
    for name in ("n_neighbours", "n_dimensions", "partition_size", "n_partitions_searched"):
        with pytest.raises(ValueError, match=f"{name} .*must be a whole number"):
            NearestNeighbours(**{name: 0}).fit(data.X, data.Y)


def test_without_the_extra_it_is_said_how_to_get_it(monkeypatch, data):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ValueError, match="install polyseme with the extra 'neighbours'"):
        NearestNeighbours(**BARE).fit(data.X, data.Y)


def test_a_damaged_model_is_refused(tmp_path, model):
    contents = model.contents()
    contents.arrays["matcher.0.columns"] = contents.arrays["matcher.0.columns"].copy()
    contents.arrays["matcher.0.columns"][0] = 30
    polyseme.files.model_folder.save_model(tmp_path / "model", contents)
    with pytest.raises(ValueError, match=r"damaged: its array 'matcher\.0\.columns'"):
        polyseme.load(tmp_path / "model")


# Where it is used


@pytest.mark.slow
def test_what_it_takes_can_be_estimated(data):
    found = estimate_training(NearestNeighbours(**BARE), data.X, data.Y)
    assert found.total_seconds.about > 0


@pytest.mark.slow
@pytest.mark.parametrize("method", ["nearest-neighbours", "nearest-labels"])
def test_the_command_line_knows_it(method, tmp_path, data):
    from polyseme.cli import main

    assert method_named(method).kind == method
    for name in ("X", "Y"):
        sp.save_npz(tmp_path / f"{name}.trn.npz", sp.csr_matrix(getattr(data, name)))
        sp.save_npz(tmp_path / f"{name}.tst.npz", sp.csr_matrix(getattr(data, f"{name}_test")))
    place, model = str(tmp_path), str(tmp_path / "model")
    for words in (
        ["train", place, "--method", method, "-o", model, "--json", "--threads", "1"],
        ["info", model, "--json"],
        ["predict", model, place, "-k", "3"],
        ["evaluate", model, place, "--json"],
    ):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["accuracy"]["P@1"] > 80


def test_texts_are_tagged_by_it():
    texts = ["the bat flies at night", "he swung the bat", "a ball and a bat", "owls at night"]
    labels = [["animal"], ["sport"], ["sport"], ["animal"]]
    neighbours = NearestNeighbours(n_neighbours=2, verbose=0)
    model = polyseme.TextModel(classifier=neighbours, verbose=0).fit(texts, labels)
    assert model.suggest(["owls fly at night"], limit=1)[0][0].name == "animal"
