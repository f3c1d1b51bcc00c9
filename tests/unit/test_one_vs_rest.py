"""Every label against all documents: one cluster, or a few that every document gets to."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logit
from sklearn.base import clone
from sklearn.svm import LinearSVC

import polyseme
from polyseme import OneVsRest, XRLinear
from polyseme.backbones.linear.every_cluster import EveryCluster
from polyseme.backbones.linear.weights import LinearTraining
from polyseme.backbones.tasks import MatchingTask
from polyseme.cost.estimate import estimate_training
from polyseme.estimators import one_vs_rest
from polyseme.inputs.features import check_features
from polyseme.machine.run import Run
from polyseme.partition.label_tree import LabelTree
from polyseme.training.update import updated
from tests.oracles.slot_solver import dual_coordinate_descent, with_bias
from tests.small_data import topics
from tests.small_problems import pattern

BARE = {"ordering": "product", "senses": "none", "verbose": 0}
EXACT = {**BARE, "tol": 1e-4, "max_iter": 5000, "min_weight": 0.0, "weight_bits": 32}


@pytest.fixture(scope="module")
def data():
    return topics(n_labels=40, n_documents=400)


@pytest.fixture(scope="module")
def model(data):
    return OneVsRest(**BARE).fit(data.X, data.Y)


@pytest.fixture(scope="module")
def exact(data):
    return OneVsRest(**EXACT).fit(data.X, data.Y)


@pytest.fixture
def small_clusters(monkeypatch):
    """Let a cluster have few slots, as if there were very many labels."""
    monkeypatch.setattr(one_vs_rest, "MOST_SLOTS", 7)


def margins(model, X):
    return logit(model.decision_function(X).toarray().astype(np.float64))


def assert_same_answers(one, other, X):
    for found, expected in zip(one.predict_top_k(X, 9), other.predict_top_k(X, 9), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_it_finds_the_labels(model, data):
    assert model.score(data.X_test, data.Y_test) > 0.9


def test_where_all_documents_have_labels_it_is_the_partition_with_one_cluster(data, model):
    plain = XRLinear(
        **BARE,
        copies=1,
        rounds=0,
        max_leaf_size=40,
        activation="sigmoid",
        tol=0.01,
        max_iter=50,
        min_weight=0.01,
    )
    plain.fit(data.X, data.Y)
    arrays, expected = model.ranker_.to_arrays(), plain.ranker_.to_arrays()
    for name in expected:
        np.testing.assert_array_equal(arrays[name], expected[name])
    assert_same_answers(model, plain, data.X_test)


def test_documents_without_labels_count_as_well(data):
    unlabelled = sp.csr_array(data.Y.toarray() * (np.arange(400) % 3 > 0)[:, None])
    with_all = OneVsRest(**EXACT).fit(data.X, unlabelled)
    some = np.flatnonzero(np.diff(unlabelled.indptr))
    without = OneVsRest(**EXACT).fit(data.X[some], unlabelled[some])
    apart = margins(with_all, data.X_test) - margins(without, data.X_test)
    assert np.abs(apart).max() > 0.1


@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
def test_margins_are_those_of_the_twin(loss):
    data = topics(n_labels=3, n_documents=24)
    X, Y = data.X.toarray().astype(np.float64), data.Y.toarray()
    model = OneVsRest(**EXACT, loss=loss, C=2.0).fit(data.X, data.Y)
    expected = [
        with_bias(X, 1.0) @ dual_coordinate_descent(with_bias(X, 1.0), target, 2.0, loss)
        for target in (2 * Y - 1).T
    ]
    np.testing.assert_allclose(margins(model, data.X), np.transpose(expected), atol=2e-3)


def test_margins_are_those_of_liblinear(data):
    model = OneVsRest(**EXACT, C=0.7).fit(data.X, data.Y)
    found, dense = margins(model, data.X_test), data.Y.toarray()
    for label in range(0, 40, 8):
        peer = LinearSVC(C=0.7, tol=1e-5, max_iter=20000, dual=True, random_state=0)
        peer.fit(sp.csr_matrix(data.X), dense[:, label])
        expected = peer.decision_function(sp.csr_matrix(data.X_test))
        np.testing.assert_allclose(found[:, label], expected, atol=2e-3)


def test_more_labels_than_a_cluster_has_slots_are_in_several(data, exact, small_clusters):
    several = OneVsRest(**EXACT).fit(data.X, data.Y)
    assert several.tree_.n_levels == 1
    assert several.clusters_.sizes.max() <= 7
    assert several.clusters_.sizes.min() >= 1
    matched = several.match(data.X_test)
    assert matched.n_stored == data.X_test.shape[0] * several.tree_.n_clusters
    assert (matched.values == 1).all()
    found, expected = margins(several, data.X_test), margins(exact, data.X_test)
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_several_clusters_bear_dense_features(data, exact, small_clusters):
    both = data.X[:, :40], data.X.toarray()[:, 40:]
    model = OneVsRest(**EXACT).fit(both, data.Y)
    found = margins(model, (data.X_test[:, :40], data.X_test.toarray()[:, 40:]))
    np.testing.assert_allclose(found, margins(exact, data.X_test), atol=2e-3)


def test_a_model_of_several_clusters_is_saved_and_updated(data, small_clusters, tmp_path):
    model = OneVsRest(**BARE).fit(data.X[:300], data.Y[:300])
    model.save(tmp_path / "model")
    assert_same_answers(polyseme.load(tmp_path / "model"), model, data.X_test)
    # The new documents have labels of few clusters, and are against all others.
    new = np.flatnonzero(data.Y.toarray()[300:, :5].any(axis=1)) + 300
    grown, update = updated(model, data.X[:300], data.Y[:300], data.X[new], data.Y[new])
    assert update.n_changed_clusters == update.n_clusters > 1
    rows = np.concatenate([np.arange(300), new])
    assert_same_answers(grown, OneVsRest(**BARE).fit(data.X[rows], data.Y[rows]), data.X_test)


def test_the_matcher_takes_every_document_to_every_cluster(data):
    tree, documents = LabelTree.uniform(3, 2), check_features(data.X[:20])
    task = MatchingTask(pattern(np.eye(6)[np.arange(20) % 6]), tree)
    matched = EveryCluster().fit(documents, task, Run()).match(documents, 6, Run())
    np.testing.assert_array_equal(matched.to_scipy().toarray(), np.ones((20, 6)))


@pytest.mark.parametrize("settings", [{}, {"ordering": "product"}])
def test_the_number_of_threads_does_not_matter(data, settings, monkeypatch):
    monkeypatch.setattr(
        one_vs_rest, "LinearTraining", partial(LinearTraining, max_entries_whole=10)
    )
    one, two = (
        OneVsRest(**{**BARE, "ordering": "learned", **settings}, n_jobs=n_jobs).fit(data.X, data.Y)
        for n_jobs in (1, 3)
    )
    arrays, expected = one.contents().arrays, two.contents().arrays
    assert arrays.keys() == expected.keys()
    for name in arrays:
        np.testing.assert_array_equal(arrays[name], expected[name])


@pytest.mark.parametrize("ordering", ["learned", "product"])
def test_the_best_labels_are_the_best_of_the_decision_function(data, ordering):
    model = OneVsRest(**{**BARE, "ordering": ordering}).fit(data.X, data.Y)
    labels, scores = model.predict_top_k(data.X_test, 5)
    everything = model.decision_function(data.X_test).toarray()
    assert (everything > 0).all()
    np.testing.assert_array_equal(scores, -np.sort(-everything, axis=1)[:, :5])
    np.testing.assert_array_equal(scores, np.take_along_axis(everything, labels, axis=1))


def test_labels_with_a_positive_margin_are_predicted_in_blocks(model, data, monkeypatch):
    monkeypatch.setattr("polyseme.estimators.predicting.ROWS_AT_ONCE", 7)
    found = model.predict(data.X_test)
    assert found.dtype == np.int8
    np.testing.assert_array_equal(found.toarray(), margins(model, data.X_test) >= 0)


def test_a_label_without_documents_comes_last(data):
    Y = sp.csr_array(sp.hstack([data.Y, sp.csr_array((400, 1), dtype=np.int8)]))
    model = OneVsRest(**BARE).fit(data.X, Y)
    scores = model.decision_function(data.X_test).toarray()
    assert (scores[:, 40] < scores[:, :40].max(axis=1)).all()
    assert (scores[:, 40] < 0.5).all()


def test_documents_of_rare_labels_can_count_for_more(data, exact):
    rarest = int(data.Y.sum(axis=0).argmin())
    favouring = OneVsRest(**EXACT, favour_rare=1.0).fit(data.X, data.Y)
    own = data.X[data.Y.toarray()[:, rarest] > 0]
    assert (margins(favouring, own)[:, rarest] > margins(exact, own)[:, rarest]).all()


def test_it_is_cloned_with_its_parameters_only():
    model = clone(OneVsRest(C=3.0, favour_rare=0.5))
    assert (model.C, model.favour_rare) == (3.0, 0.5)
    assert "copies" not in model.get_params()
    assert set(model.get_params()) == set(OneVsRest._constraints)


def test_what_is_no_parameter_of_it_is_refused():
    with pytest.raises(TypeError, match="copies"):
        OneVsRest(copies=2)
    with pytest.raises(ValueError, match="Invalid parameter 'copies'"):
        OneVsRest().set_params(copies=2)
    with pytest.raises(ValueError, match=r"^C must be a number above 0"):
        OneVsRest(C=0).fit(np.eye(2), [["a"], ["b"]])


def test_an_update_gives_what_a_training_with_all_documents_gives(data):
    model = OneVsRest(**BARE).fit(data.X[:300], data.Y[:300, :38])
    old = data.X[:300], data.Y[:300, :38]
    grown, _ = updated(model, *old, data.X[300:], data.Y[300:])
    Y = data.Y.toarray()
    Y[:300, 38:] = 0
    assert_same_answers(grown, OneVsRest(**BARE).fit(data.X, sp.csr_array(Y)), data.X_test)


@pytest.mark.slow
def test_its_cost_is_estimated(data):
    assert estimate_training(OneVsRest(verbose=0), data.X, data.Y).n_labels == 40


@pytest.fixture(scope="module")
def sparse(data):
    return OneVsRest(**BARE, penalty="l1", C=4.0).fit(data.X, data.Y)


def test_with_magnitudes_it_finds_the_labels_by_fewer_weights(sparse, model, data):
    assert sparse.score(data.X_test, data.Y_test) > 0.9
    assert sparse.ranker_.n_weights() < 0.3 * model.ranker_.n_weights()


def test_with_magnitudes_margins_are_those_of_liblinear(data):
    model = OneVsRest(**EXACT, penalty="l1", C=0.7).fit(data.X, data.Y)
    found, dense = margins(model, data.X_test), data.Y.toarray()
    for label in range(0, 40, 13):
        peer = LinearSVC(penalty="l1", C=0.7, tol=1e-5, max_iter=20000, dual=False)
        peer.fit(sp.csr_matrix(data.X), dense[:, label])
        expected = peer.decision_function(sp.csr_matrix(data.X_test))
        np.testing.assert_allclose(found[:, label], expected, atol=2e-2)


def test_with_magnitudes_documents_of_rare_labels_can_count_for_more(data, sparse):
    rarest = int(data.Y.sum(axis=0).argmin())
    favouring = OneVsRest(**BARE, penalty="l1", C=4.0, favour_rare=1.0).fit(data.X, data.Y)
    own = data.X[data.Y.toarray()[:, rarest] > 0]
    assert margins(favouring, own)[:, rarest].mean() > margins(sparse, own)[:, rarest].mean()


def test_with_magnitudes_a_model_is_ordered_explained_saved_and_updated(data, tmp_path):
    model = OneVsRest(penalty="l1", C=4.0, verbose=0).fit(data.X[:300], data.Y[:300])
    assert model.ordering_ is not None
    best = int(model.predict_top_k(data.X_test[[0]], 1)[0][0, 0])
    explained = polyseme.explain.explain(model, data.X_test[[0]], labels=[best])
    assert explained.labels[0].label == best
    model.save(tmp_path / "model")
    loaded = polyseme.load(tmp_path / "model")
    assert loaded.penalty == "l1"
    assert_same_answers(loaded, model, data.X_test)
    grown, _ = updated(model, data.X[:300], data.Y[:300], data.X[300:], data.Y[300:])
    fresh = OneVsRest(**BARE, penalty="l1", C=4.0).fit(data.X, data.Y)
    arrays, expected = grown.ranker_.to_arrays(), fresh.ranker_.to_arrays()
    for name in expected:
        np.testing.assert_array_equal(arrays[name], expected[name])


def test_magnitudes_are_for_squared_hinge_only(data):
    with pytest.raises(ValueError, match=r"^penalty='l1' is solved for loss='squared-hinge' only"):
        OneVsRest(penalty="l1", loss="logistic").fit(data.X, data.Y)
    with pytest.raises(ValueError, match=r"^penalty must be one of 'l2', 'l1'"):
        OneVsRest(penalty="elastic").fit(data.X, data.Y)
