"""Classifiers with few weights: squared hinge loss, regularised by the sum of magnitudes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from polyseme.backbones.linear.weights import LinearTraining, LinearWeights
from polyseme.inputs.documents import Documents
from polyseme.machine.run import Run
from tests.oracles import sparse_solver as oracle
from tests.oracles.beam_search import dense_weights
from tests.oracles.slot_solver import with_bias
from tests.small_problems import clusters_of, pattern, random_problem, train_slots

EXACT = {"penalty": "l1", "tolerance": 1e-4, "max_iter": 3000, "min_weight": 0.0}


def solve(X, Y, *, bias=1.0, clusters=None, **how):
    """Return the weights of each slot, the bias feature's last, as the oracle has them."""
    if clusters is None:
        clusters = clusters_of(range(Y.shape[1]), n_labels=Y.shape[1])
    weights, bias_margins = dense_weights(train_slots(X, Y, clusters, bias=bias, **EXACT | how))
    return np.column_stack([weights, bias_margins / bias]) if bias else weights


def train(documents, Y, how=None, n_threads=1, **more):
    """Train all labels in two clusters that share some, on all documents."""
    clusters = clusters_of(range(5), range(3, Y.shape[1]), n_labels=Y.shape[1])
    rows = pattern(np.ones((documents.n_rows, 2)))
    parts = documents, rows, clusters.starts, clusters.labels, pattern(Y)
    return LinearWeights.train(
        *parts, LinearTraining(**EXACT | (how or {})), Run(0, n_threads), **more
    )


def signs(column):
    return np.where(column, 1.0, -1.0)


def assert_optimal(found, X, targets, cost, counts=1.0):
    best = oracle.proximal_gradient(X, targets, cost, counts)
    reached = oracle.objective(X, targets, found, cost, counts)
    assert reached == pytest.approx(oracle.objective(X, targets, best, cost, counts), rel=1e-4)


def assert_same(one, other):
    for name, array in one.to_arrays().items():
        np.testing.assert_array_equal(other.to_arrays()[name], array)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_documents=st.integers(1, 25),
    cost=st.sampled_from([0.1, 1.0, 10.0]),
    bias=st.sampled_from([0.0, 1.0, 2.5]),
    signed=st.booleans(),
)
def test_the_optimum_of_the_twin_is_reached(seed, n_documents, cost, bias, signed):
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng, n_documents, 7, 2, signed=signed)
    if signed:
        X *= rng.choice([0.2, 1.0, 3.0], size=(n_documents, 1)).astype(np.float32)
    with_constant = with_bias(X.astype(np.float64), bias)
    for slot, found in enumerate(solve(X, Y, cost=cost, bias=bias)):
        assert_optimal(found, with_constant, signs(Y[:, slot]), cost)


@pytest.mark.parametrize("cost", [0.3, 1.0])
def test_the_optimum_of_liblinear_is_reached_with_as_few_weights(cost):
    X, Y = random_problem(np.random.default_rng(1), 300, 80, 6)
    with_constant = with_bias(X.astype(np.float64), 1.0)
    for slot, found in enumerate(solve(X, Y, cost=cost)):
        peer = LinearSVC(
            penalty="l1", dual=False, C=cost, fit_intercept=False, tol=1e-6, max_iter=100_000
        )
        best = peer.fit(with_constant, Y[:, slot]).coef_[0]
        targets = signs(Y[:, slot])
        assert oracle.objective(with_constant, targets, found, cost) == pytest.approx(
            oracle.objective(with_constant, targets, best, cost), rel=1e-5
        )
        assert (found != 0).sum() == pytest.approx((best != 0).sum(), abs=2)
        assert oracle.largest_violation(with_constant, targets, best, cost) < 0.01


def test_a_looser_tolerance_is_kept():
    X, Y = random_problem(np.random.default_rng(2), 200, 60, 5)
    with_constant = with_bias(X.astype(np.float64), 1.0)
    for slot, found in enumerate(solve(X, Y, tolerance=0.1)):
        # The constant is not held to it: its slope changes with every document.
        gradient = oracle.loss_gradient(with_constant, signs(Y[:, slot]), found, 1.0)[:-1]
        weights = found[:-1]
        wrong = np.where(weights == 0, np.abs(gradient) - 1, np.abs(gradient + np.sign(weights)))
        assert wrong.max() < 0.15


@pytest.mark.parametrize("cost", [0.4, 1.0, 10.0])
def test_one_document_has_the_solution_found_by_hand(cost):
    # The minimum of |w| + cost * (1 - w)^2.
    expected = max(0.0, 1 - 0.5 / cost)
    found = solve(np.ones((1, 1)), np.ones((1, 1)), cost=cost, bias=0.0)
    assert found == pytest.approx(expected, abs=1e-4)


def test_most_weights_of_a_rare_label_are_zero():
    X, Y = random_problem(np.random.default_rng(3), 400, 100, 4)
    Y = Y & (np.cumsum(Y, axis=0) <= 3)
    sparse = np.array(solve(X, Y))
    dense = np.array(solve(X, Y, penalty="l2"))
    assert (sparse != 0).sum() < 0.2 * (dense != 0).sum()


@pytest.mark.parametrize("positive", [False, True])
def test_a_label_of_all_documents_or_of_none_has_a_bias_and_no_weights(positive):
    X, _ = random_problem(np.random.default_rng(0), n_documents=20)
    (found,) = solve(X, np.full((20, 1), positive))
    assert (found[:-1] == 0).all()
    assert found[-1] == pytest.approx((1 if positive else -1) * (1 - 0.5 / 20), abs=1e-3)


def test_empty_documents_teach_the_bias_alone():
    Y = np.array([[1], [0], [0], [0]])
    (found,) = solve(np.zeros((4, 3), dtype=np.float32), Y, cost=2.0)
    assert (found[:-1] == 0).all()
    assert found[-1] < 0


def test_positives_that_count_for_more_are_solved_so():
    X, Y = random_problem(np.random.default_rng(5), 60, 12, 8)
    weights = np.linspace(1, 4, 8, dtype=np.float32)
    trained, _ = train(Documents(dense=X).in_layout(12, 0), Y, target_weights=weights)
    found, bias = dense_weights(trained)
    with_constant = with_bias(X.astype(np.float64), 1.0)
    for slot, label in enumerate([*range(5), *range(3, 8)]):
        assert_optimal(
            np.append(found[slot], bias[slot]),
            with_constant,
            signs(Y[:, label]),
            1.0,
            np.where(Y[:, label], weights[label], 1.0),
        )


@pytest.mark.parametrize("n_dense", [0, 5, 12])
def test_dense_columns_are_solved_like_sparse_ones(n_dense):
    X, Y = random_problem(np.random.default_rng(6), 60, 12, 8)
    found, bias = dense_weights(train(Documents(dense=X).in_layout(12 - n_dense, n_dense), Y)[0])
    with_constant = with_bias(X.astype(np.float64), 1.0)
    for slot, label in enumerate([*range(5), *range(3, 8)]):
        assert_optimal(np.append(found[slot], bias[slot]), with_constant, signs(Y[:, label]), 1.0)


@pytest.mark.parametrize("n_dense", [0, 5])
def test_the_draft_is_that_of_the_other_documents_and_the_rest_that_of_all(n_dense):
    rng = np.random.default_rng(7)
    X, Y = random_problem(rng, 90, 12, 8)
    documents, is_held_out = (
        Documents(dense=X).in_layout(12 - n_dense, n_dense),
        rng.random(90) < 0.3,
    )
    trained, draft = train(documents, Y, held_out=is_held_out, draft_how=LinearTraining(**EXACT))
    others = np.flatnonzero(~is_held_out)
    for found, expected in (
        (draft, train(documents.take(others), Y[others])[0]),
        (trained, train(documents, Y)[0]),
    ):
        for ours, theirs in zip(dense_weights(found), dense_weights(expected), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=2e-2)
    assert np.abs(dense_weights(draft)[0] - dense_weights(trained)[0]).max() > 0.05


def test_a_document_of_another_slot_of_the_label_does_not_count():
    X, Y = random_problem(np.random.default_rng(8), 50, 10, 1)
    Y[:] = False
    Y[:20] = True
    own = np.zeros((50, 1))
    own[:12] = 1
    counting = np.r_[0:12, 20:50]
    clusters = clusters_of([0], n_labels=1)
    found = dense_weights(train_slots(X, Y, clusters, own=own, **EXACT))
    expected = dense_weights(train_slots(X[counting], Y[counting], clusters, **EXACT))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-2)


@pytest.mark.parametrize("max_entries_whole", [10, 1 << 20])
def test_any_number_of_threads_gives_the_same_bytes(max_entries_whole):
    rng = np.random.default_rng(9)
    X, Y = random_problem(rng, 120, 40, 30)
    documents = Documents(dense=X).in_layout(33, 7)
    how = {"max_entries_whole": max_entries_whole, "tolerance": 0.01}
    drafting = {"held_out": rng.random(120) < 0.2, "draft_how": LinearTraining(**EXACT)}
    one, two = (train(documents, Y, how, n_threads, **drafting) for n_threads in (1, 3))
    assert_same(one[0], two[0])
    assert_same(one[1], two[1])


def test_a_cluster_is_trained_the_same_alone_and_among_others():
    X, Y = random_problem(np.random.default_rng(10), 80, 20, 12)
    documents = Documents(dense=X).in_layout(20, 0)
    whole = train(documents, Y)[0]
    second = np.array([False, True])
    assert_same(whole.with_clusters(train(documents, Y, only=second)[0], second), whole)


def test_small_weights_are_dropped_and_the_largest_kept():
    X, Y = random_problem(np.random.default_rng(11), 100, 30, 4)
    everything = np.array(solve(X, Y, cost=8.0))[:, :-1]
    large = np.array(solve(X, Y, cost=8.0, min_weight=0.5))[:, :-1]
    np.testing.assert_array_equal(large, np.where(np.abs(everything) >= 0.5, everything, 0))
    few = np.array(solve(X, Y, cost=8.0, max_weights_per_label=3))[:, :-1]
    assert ((few != 0).sum(axis=1) == 3).all()
    least_kept = np.where(few != 0, np.abs(few), np.inf).min(axis=1)
    most_dropped = np.where(few == 0, np.abs(everything), 0).max(axis=1)
    assert (least_kept >= most_dropped).all()


def test_features_that_numbers_can_hardly_hold_do_no_harm():
    X, Y = random_problem(np.random.default_rng(12), 30, 6, 2)
    for scale in (1e-30, 1e18, 1e30):
        assert np.isfinite(solve((X * scale).astype(np.float32), Y, max_iter=50)).all()


def test_another_loss_or_penalty_is_refused():
    X, Y = random_problem(np.random.default_rng(0))
    with pytest.raises(ValueError, match="penalty 'l1' needs loss 'squared-hinge'"):
        solve(X, Y, loss="logistic")
    with pytest.raises(ValueError, match="penalty must be 'l2' or 'l1', not 'elastic'"):
        solve(X, Y, penalty="elastic")
