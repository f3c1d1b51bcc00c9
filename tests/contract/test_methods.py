"""What every method must do; a new one is one more line in the table."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeClassifier

import polyseme
from polyseme import PLT, Bonsai, NearestLabels, NearestNeighbours, OneVsRest, Parabel, XRLinear
from polyseme.adapters import ExpandedLabels, MatchedBy
from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.files import kinds
from polyseme.tagger import tagger_for
from tests import toy_backbone
from tests.contract import of_words, reading_words
from tests.small_data import two_senses

# What small data need, as far as a method knows it: several clusters.
SMALL = {
    "max_leaf_size": 4,
    "beam_size": 4,
    "senses": "induce",
    "n_jobs": 1,
    "random_state": 3,
    "verbose": 0,
}


@dataclass(frozen=True)
class Method:
    """An estimator with parameters, and for what it cannot do (see `able_to`), its own words."""

    estimator: type
    parameters: Mapping[str, Any] = field(default_factory=dict)
    cannot: Mapping[str, str] = field(default_factory=dict)

    def make(self, **others: Any) -> Any:
        how = {**SMALL, **self.parameters, **others}
        known = inspect.signature(self.estimator).parameters
        return self.estimator(**{name: how[name] for name in how if name in known})


BARE = {"ordering": "product", "senses": "none"}
NO_SLOTS = "ExpandedLabels has no slots of its own"
METHODS = {
    "xr-linear": Method(XRLinear),
    "xr-linear, plain": Method(XRLinear, {"copies": 1, "rounds": 0, "ordering": "product"}),
    "xr-linear, a forest": Method(XRLinear, {"copies": 2, "n_trees": 2}),
    "parabel": Method(Parabel),
    "parabel with copies": Method(Parabel, {"copies": 2}),
    "bonsai": Method(Bonsai),
    "bonsai with copies": Method(Bonsai, {"copies": 2}),
    "plt": Method(PLT),
    "plt, a forest": Method(PLT, {"copies": 2, "n_trees": 2}),
    "plt, beam": Method(PLT, {"search": "beam"}),
    "one-vs-rest": Method(OneVsRest),
    "nearest labels": Method(NearestLabels, {"max_leaf_size": 1, "beam_size": 8}),
    "nearest labels with copies": Method(NearestLabels, {"copies": 2}),
    "nearest neighbours": Method(
        NearestNeighbours,
        {"beam_size": 12},
        cannot={"update": "a NearestNeighbours cannot be updated: .* fit it again"},
    ),
    "matched by": Method(
        MatchedBy,
        {"classifier": RidgeClassifier(fit_intercept=False, solver="cholesky")},
        cannot={"save": "a MatchedBy cannot be saved: model files hold no code"},
    ),
    "expanded labels": Method(
        ExpandedLabels,
        {"model": XRLinear(**{**SMALL, **BARE})},
        cannot={
            "save": "an ExpandedLabels cannot be saved: .* save model_",
            "senses": NO_SLOTS,
            "explain": NO_SLOTS,
            "update": NO_SLOTS,
        },
    ),
    "centroids": Method(toy_backbone.module().CentroidClassifier),
    "centroids, a forest": Method(
        toy_backbone.module().CentroidClassifier, {"copies": 2, "n_trees": 2}
    ),
}

# What needs the extra 'transformer', under the name of its kind; see of_words.py.
NEURAL = {
    "x-transformer": Method(of_words.XTransformerOfWords, {"copies": 2}),
    "attention-xml": Method(
        reading_words.AttentionXMLOfColumns,
        {**reading_words.OF_METHODS, "copies": 2},
        cannot={"update": "AttentionXML.* cannot be updated: .* fit it again"},
    ),
    "xml-cnn": Method(
        reading_words.XMLCNNOfColumns,
        {**reading_words.OF_METHODS, "n_filters": 8},
        cannot={"update": "XMLCNN.* cannot be updated: .* fit it again"},
    ),
}
if find_spec("tokenizers") is not None and find_spec("torch") is not None:
    METHODS |= NEURAL

N_TOPICS, N_AMBIGUOUS = 8, 2
DATA = two_senses(N_TOPICS, n_ambiguous=N_AMBIGUOUS, n_documents=500, place_weight=1)
N_LABELS = DATA.Y.shape[1]


def in_clusters(method):
    return issubclass(method.estimator, PartitionedClassifier)


def over(methods):
    return pytest.mark.parametrize("name", methods)


every_method = over(METHODS)
every_method_in_clusters = over([name for name in METHODS if in_clusters(METHODS[name])])
every_method_with_copies = over(
    [
        name
        for name, method in METHODS.items()
        if {"copies", "rounds"} <= inspect.signature(method.estimator).parameters.keys()
    ]
)


@cache
def trained(name):
    """Return the method as the table has it, trained; nobody may change it."""
    return METHODS[name].make().fit(DATA.X, DATA.Y)


@contextmanager
def able_to(what, name):
    """Let a method do something, or demand the sentence that says why it cannot."""
    sentence = METHODS[name].cannot.get(what)
    with nullcontext() if sentence is None else pytest.raises(ValueError, match=sentence):
        yield


def answers(model, X=DATA.X_test, k=4):
    return model.predict_top_k(X, k)


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.fixture(scope="module", autouse=True)
def toy_is_installed(tmp_path_factory):
    with (
        toy_backbone.installed(tmp_path_factory.mktemp("package")),
        pytest.MonkeyPatch.context() as patch,
    ):
        for kind, method in NEURAL.items():
            place = f"{method.estimator.__module__}:{method.estimator.__name__}"
            patch.setitem(kinds.METHODS, kind, place)
        yield


def test_every_method_that_has_a_name_is_in_the_table():
    table = {**METHODS, **NEURAL}.values()
    known = {getattr(method.estimator, "kind", None) for method in table}
    assert set(kinds.METHODS) <= known


@every_method
def test_most_labels_are_found(name):
    labels, _ = answers(trained(name))
    truth = DATA.Y_test.toarray()
    assert truth[np.arange(len(labels)), labels[:, 0]].mean() > 0.6


# What is stored


@every_method
def test_labels_come_once_best_first_with_scores_above_0(name):
    model = trained(name)
    labels, scores = answers(model, k=N_LABELS + 3)
    assert (labels.dtype, scores.dtype) == (np.int32, np.float32)
    assert labels.shape == scores.shape == (DATA.X_test.shape[0], N_LABELS + 3)
    assert labels.max() < N_LABELS
    is_found = labels >= 0
    assert np.isfinite(scores).all()
    assert (scores[is_found] > 0).all()
    assert (scores[~is_found] == 0).all()
    assert (np.diff(scores) <= 0).all()
    assert all(len(set(row[row >= 0])) == (row >= 0).sum() for row in labels)


@every_method_in_clusters
def test_the_beam_keeps_at_most_its_size_with_scores_above_0(name):
    model = trained(name)
    matched = model.match(DATA.X_test)
    assert matched.shape == (DATA.X_test.shape[0], model.tree_.n_clusters)
    assert np.diff(matched.starts).max() <= model.beam_of_all_trees
    assert np.diff(matched.starts).min() >= 1
    assert (matched.values > 0).all()


@every_method_in_clusters
def test_what_is_stored_is_what_was_visited(name):
    model = trained(name)
    visits = model.match(DATA.X_test).to_scipy()
    visits.data[:] = 1
    slots, scores = model.slot_scores(DATA.X_test), model.decision_function(DATA.X_test)
    visited = visits.toarray()[:, model.clusters_.cluster_of_slot] > 0
    np.testing.assert_array_equal(slots.columns, np.nonzero(visited)[1])
    np.testing.assert_array_equal(slots.starts[1:], visited.sum(axis=1).cumsum())
    reached = visits @ model.clusters_.to_matrix().T > 0
    np.testing.assert_array_equal(scores.indices, np.nonzero(reached.toarray())[1])
    assert (slots.values > 0).all()
    assert (scores.data > 0).all()


# One copy


@every_method_with_copies
def test_without_re_assignment_one_copy_is_the_plain_method(name):
    """Copies are only given by rounds, and a label with one slot a tree has that one's score."""
    one, several = (
        METHODS[name].make(**BARE, copies=copies, rounds=0).fit(DATA.X, DATA.Y)
        for copies in (1, 3)
    )
    assert_same(answers(one), answers(several))
    assert one.assignments_ == []
    for own in one.tree_.clusters_of_trees:
        assert (one.clusters_.take(own).copies == 1).all()
    of_labels = one.slot_scores(DATA.X_test).to_scipy() @ np.eye(N_LABELS)[one.clusters_.labels]
    np.testing.assert_allclose(one.decision_function(DATA.X_test).toarray(), of_labels, rtol=1e-5)


def test_with_one_column_a_label_expanded_labels_are_the_model_itself():
    model = METHODS["expanded labels"].make(copies=1).fit(DATA.X, DATA.Y)
    columns = model.label_of_column_
    assert sorted(columns) == list(range(N_LABELS))
    plain = clone(model.model).fit(DATA.X, DATA.Y.tocsc()[:, columns].tocsr())
    labels, scores = answers(plain)
    assert_same(answers(model), (np.where(labels < 0, -1, columns[labels]), scores))


# The same, always


@every_method
def test_the_number_of_threads_does_not_matter(name):
    model = trained(name)
    other = METHODS[name].make(n_jobs=3).fit(DATA.X, DATA.Y)
    assert_same(answers(other), answers(model))
    if "save" not in METHODS[name].cannot:
        arrays, expected = other.contents().arrays, model.contents().arrays
        assert arrays.keys() == expected.keys()
        for key in arrays:
            np.testing.assert_array_equal(arrays[key], expected[key])


@every_method
def test_documents_are_answered_alike_in_any_pieces(name, monkeypatch):
    model = trained(name)
    labels, scores = answers(model)
    for size in (1, 7):
        for start in range(0, 28, size):
            rows = slice(start, start + size)
            assert_same(answers(model, DATA.X_test[rows]), (labels[rows], scores[rows]))
    assert answers(model, DATA.X_test[:0])[0].shape == (0, 4)
    monkeypatch.setattr("polyseme.estimators.predicting.ROWS_AT_ONCE", 7)
    assert_same(answers(model), (labels, scores))


def frozen(matrix, value, index):
    """Return a copy with these types that nobody can write to."""
    matrix = matrix.astype(value)
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    return matrix


@every_method
@pytest.mark.parametrize(("value", "index"), [(np.float32, np.int64), (np.float64, np.int32)])
def test_read_only_matrices_of_any_numbers_give_the_same_model(name, value, index):
    X, Y = frozen(DATA.X, value, index), frozen(DATA.Y, value, index)
    assert_same(answers(METHODS[name].make().fit(X, Y)), answers(trained(name)))


@every_method
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("value", [np.float32, np.float64])
def test_read_only_documents_of_any_numbers_get_the_same_answer(name, value, index):
    model, X = trained(name), frozen(DATA.X_test, value, index)
    assert_same(answers(model, X), answers(model))
    assert_same(answers(model, frozen(X[[0]], value, index)), answers(model, DATA.X_test[[0]]))


@every_method
def test_dense_read_only_arrays_are_taken_as_well(name):
    X, Y = DATA.X.toarray(), DATA.Y.toarray()
    X.flags.writeable = Y.flags.writeable = False
    assert_same(answers(METHODS[name].make().fit(X, Y)), answers(trained(name)))


@every_method
def test_a_label_without_documents_is_never_the_best(name):
    Y = DATA.Y.tolil()
    Y[:, 3] = 0
    model = METHODS[name].make().fit(DATA.X, Y.tocsr())
    labels, _ = answers(model, k=2)
    assert labels.shape == (DATA.X_test.shape[0], 2)
    assert (labels[:, 0] != 3).all()


# As an estimator


@every_method
def test_a_clone_has_the_parameters_and_nothing_that_was_learned(name):
    model = trained(name)
    copy = clone(model)
    assert str(copy.get_params()) == str(model.get_params())
    assert not [key for key in vars(copy) if key.endswith("_")]
    assert_same(answers(copy.fit(DATA.X, DATA.Y)), answers(model))


@every_method
def test_defaults_are_in_the_signature(name):
    plain = METHODS[name].estimator()
    signature = inspect.signature(type(plain)).parameters
    assert plain.get_params(deep=False) == {key: p.default for key, p in signature.items()}
    assert repr(plain) == f"{type(plain).__name__}()"


@every_method
def test_before_fit_it_is_said_that_there_was_none(name):
    model = METHODS[name].make()
    for ask in ("predict_top_k", "predict", "decision_function", "match"):
        if hasattr(model, ask):
            with pytest.raises(NotFittedError, match="instance is not fitted yet"):
                getattr(model, ask)(DATA.X_test)
    for what, ask in (
        ("save", lambda: model.save("nowhere")),
        ("senses", lambda: polyseme.senses.most_ambiguous(model)),
        ("explain", lambda: polyseme.explain.explain(model, DATA.X_test[[0]])),
        ("update", lambda: polyseme.update.updated(model, DATA.X, DATA.Y, DATA.X, DATA.Y)),
    ):
        sentence = METHODS[name].cannot.get(what, "instance is not fitted yet")
        with pytest.raises(ValueError, match=sentence):
            ask()


@every_method
def test_saved_and_loaded_it_answers_as_before(name, tmp_path):
    model = trained(name)
    with able_to("save", name):
        model.save(tmp_path / "model")
        again = polyseme.load(tmp_path / "model")
        assert type(again) is type(model)
        assert_same(answers(again), answers(model))
        assert_same(answers(again, DATA.X_test[[0]]), answers(model, DATA.X_test[[0]]))
    assert (tmp_path / "model").exists() == ("save" not in METHODS[name].cannot)


# Senses, explanations, updates


@every_method
def test_senses_of_ambiguous_labels_are_found_and_named(name):
    model = trained(name)
    with able_to("senses", name):
        found = polyseme.senses.ambiguous_labels(model)
        assert found
        for label in found:
            assert label.label < N_TOPICS * N_AMBIGUOUS  # the others have one meaning
            senses = polyseme.senses.senses_of(model, label.label)
            assert [sense.name for sense in senses] == label.senses
            assert len(senses) > 1
        own = DATA.X[DATA.Y.toarray()[:, found[0].label] > 0]
        named = [one.sense for row in tagger_for(model).suggest(own) for one in row]
        assert {sense.name for sense in named if sense is not None} >= set(found[0].senses)


@every_method
def test_labels_are_explained_by_the_slots_that_were_reached(name):
    model = trained(name)
    with able_to("explain", name):
        for i in range(5):
            best = int(answers(model, DATA.X_test[[i]])[0][0, 0])
            explained = polyseme.explain.explain(model, DATA.X_test[[i]], labels=[best]).labels[0]
            assert explained.label == best
            own = model.clusters_.slots_of(best)
            assert {slot.slot for slot in explained.slots} <= set(own.tolist())
            assert len(explained.slots) + len(explained.not_reached) == len(own)
            assert explained.slots


@every_method
def test_new_documents_and_a_new_label_are_learned_by_an_update(name):
    model, before = trained(name), answers(trained(name))
    first_plain = N_TOPICS * N_AMBIGUOUS
    of_a_topic = DATA.Y_test.toarray()[:, first_plain : first_plain + 6].any(axis=1)
    X_new = DATA.X_test[of_a_topic]
    n_new = X_new.shape[0]
    Y_new = np.eye(N_LABELS + 1, dtype=np.int8)[np.full(n_new, N_LABELS)]
    with able_to("update", name):
        grown, made = polyseme.update.updated(model, DATA.X, DATA.Y, X_new, Y_new)
        assert type(grown) is type(model)
        assert (made.n_documents, made.n_labels) == (n_new, 1)
        assert (grown.n_documents_, grown.n_labels_) == (500 + n_new, N_LABELS + 1)
        assert (answers(grown, X_new)[0] == N_LABELS).any(axis=1).mean() > 0.5
    assert_same(answers(model), before)
