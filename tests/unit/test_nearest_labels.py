"""NearestLabels: a shortlist of near labels, ranked by classifiers that learned from it."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp

import polyseme
from polyseme import NearestLabels
from polyseme.backbones.nearest import index as index_module
from polyseme.cost.estimate import estimate_training
from polyseme.partition.training_rows import choose_training_rows
from tests.small_data import topics, two_senses

BARE = {"ordering": "product", "senses": "none", "n_jobs": 1, "verbose": 0}


@pytest.fixture(scope="module")
def data():
    return topics(n_labels=40, n_documents=800)


@pytest.fixture(scope="module")
def model(data):
    return NearestLabels(beam_size=6, **BARE).fit(data.X, data.Y)


def embedded(X):
    """Return documents as dense vectors, such as an encoder gives them."""
    return X @ np.random.default_rng(0).normal(size=(X.shape[1], 48)).astype(np.float32)


def test_the_shortlist_has_the_labels_whose_documents_are_most_like(data, model):
    matched = model.match(data.X_test)
    assert matched.shape == (160, 40)
    assert (np.diff(matched.starts) == 6).all()
    # With as many directions as features nothing is lost, and sums can be compared themselves.
    sums = (data.Y.T @ data.X).toarray()
    likeness = data.X_test @ (sums / np.linalg.norm(sums, axis=1, keepdims=True)).T
    expected = np.sort(np.argsort(-likeness, axis=1)[:, :6], axis=1)
    agreed = [np.isin(matched.row(i)[0], expected[i]).mean() for i in range(160)]
    assert np.mean(agreed) > 0.98


def test_most_first_labels_are_right(data, model):
    assert model.score(data.X_test, data.Y_test) > 0.9


def test_every_label_has_a_cluster_of_its_own(model):
    assert (model.clusters_.n_clusters, model.clusters_.n_slots) == (40, 40)
    np.testing.assert_array_equal(model.clusters_.labels, np.arange(40))


def test_a_classifier_learns_from_its_documents_and_from_those_that_have_it_in_their_shortlist(
    data, monkeypatch
):
    seen = []

    def watched(kind, targets, matched):
        seen.append((kind, targets, matched))
        return choose_training_rows(kind, targets, matched)

    monkeypatch.setattr("polyseme.training.disentangle.choose_training_rows", watched)
    trained = NearestLabels(beam_size=3, **BARE).fit(data.X, data.Y)
    [(kind, targets, matched)] = seen
    assert kind == "both"
    np.testing.assert_array_equal(targets.to_scipy().toarray(), data.Y.toarray())
    np.testing.assert_array_equal(matched.columns, trained.match(data.X).columns)


def test_dense_features_are_what_it_is_for(data):
    X, X_test = embedded(data.X), embedded(data.X_test)
    X.flags.writeable = X_test.flags.writeable = False
    trained = NearestLabels(beam_size=6, **BARE).fit(X, data.Y)
    assert trained.layout_ == (0, 48)
    assert trained.matcher_.space.directions.size == 0
    assert trained.score(X_test, data.Y_test) > 0.8


def test_sparse_and_dense_features_go_side_by_side(data):
    X, X_test = (data.X, embedded(data.X)), (data.X_test, embedded(data.X_test))
    trained = NearestLabels(beam_size=6, n_dimensions=16, **BARE).fit(X, data.Y)
    assert trained.matcher_.index.vectors.shape == (40, 16 + 48)
    assert trained.score(X_test, data.Y_test) > 0.8


def test_with_copies_a_label_is_reached_through_other_labels_too():
    data = two_senses(8, n_documents=800)
    plain, copies = (
        NearestLabels(beam_size=3, copies=n, **BARE).fit(data.X, data.Y) for n in (1, 2)
    )
    assert plain.clusters_.copies.max() == 1
    assert copies.clusters_.copies.max() == 2
    reached = [
        polyseme.metrics.reach(one.match(data.X_test).to_scipy(), one.clusters_, data.Y_test)
        for one in (plain, copies)
    ]
    assert reached[1] > reached[0]


def test_labels_can_share_vectors(data):
    grouped = NearestLabels(beam_size=3, max_leaf_size=5, **BARE).fit(data.X, data.Y)
    assert grouped.clusters_.sizes.max() <= 5
    assert grouped.tree_.n_levels == 1
    assert len(grouped.matcher_.index.vectors) == grouped.clusters_.n_clusters < 40
    assert grouped.score(data.X_test, data.Y_test) > 0.9


def test_many_labels_are_found_by_a_graph_that_is_saved(tmp_path, monkeypatch, data):
    monkeypatch.setattr(index_module, "FEW", 10)
    trained = NearestLabels(beam_size=6, **BARE).fit(data.X, data.Y)
    assert trained.matcher_.index.graph is not None
    trained.save(tmp_path / "model")
    again = polyseme.load(tmp_path / "model")
    for one, other in zip(
        again.predict_top_k(data.X_test), trained.predict_top_k(data.X_test), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert trained.score(data.X_test, data.Y_test) > 0.9


def test_another_seed_gives_another_projection_and_the_same_one_the_same(data):
    one, same, other = (
        NearestLabels(n_dimensions=8, random_state=seed, **BARE).fit(data.X, data.Y)
        for seed in (1, 1, 2)
    )
    directions = one.matcher_.space.directions
    np.testing.assert_array_equal(directions, same.matcher_.space.directions)
    assert (directions != other.matcher_.space.directions).any()


def test_a_document_and_a_label_are_enough():
    trained = NearestLabels(verbose=0).fit(np.eye(1, 3), [["only"]])
    assert trained.predict_top_k(np.eye(1, 3), 1)[0].tolist() == [[0]]


def test_an_empty_document_gets_an_answer(model, data):
    labels, scores = model.predict_top_k(sp.csr_array((1, data.X.shape[1])), 3)
    assert np.isfinite(scores).all()
    assert labels.max() < 40


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_dimensions": 0}, "n_dimensions .*must be a whole number"),
        ({"beam_size": 0}, "beam_size .*must be a whole number"),
        ({"copies": 0}, "copies .*must be a whole number"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, sentence, data):
    with pytest.raises(ValueError, match=sentence):
        NearestLabels(**parameters).fit(data.X, data.Y)


def test_bad_documents_are_refused(model, data):
    X = data.X.copy()
    X.data[0] = np.nan
    with pytest.raises(ValueError, match=r"NaN|finite"):
        NearestLabels(**BARE).fit(X, data.Y)
    with pytest.raises(ValueError, match="features"):
        model.predict_top_k(data.X_test[:, :-1])
    with pytest.raises(ValueError, match="X and Y have no rows"):
        NearestLabels(**BARE).fit(data.X[:0], data.Y[:0])


def test_without_the_extra_it_is_said_how_to_get_it(monkeypatch, data):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ValueError, match="install polyseme with the extra 'neighbours'"):
        NearestLabels(**BARE).fit(data.X, data.Y)


@pytest.mark.slow
def test_what_it_takes_can_be_estimated(data):
    found = estimate_training(NearestLabels(**BARE), data.X, data.Y)
    assert found.total_seconds.about > 0
