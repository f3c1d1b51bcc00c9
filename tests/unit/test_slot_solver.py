import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from tests.examples import examples
from tests.oracles import slot_solver as oracle
from tests.oracles.beam_search import dense_weights
from tests.small_problems import clusters_of, random_problem, train_slots

EXACT = {"tolerance": 1e-5, "max_iter": 2000, "min_weight": 0.0}
LOSSES = ["squared-hinge", "logistic"]


def solve(X, Y, *, bias=1.0, clusters=None, **how):
    """Return the weights of each slot, the bias feature's last, as the oracle has them."""
    if clusters is None:
        clusters = clusters_of(range(Y.shape[1]), n_labels=Y.shape[1])
    trained = train_slots(X, Y, clusters, bias=bias, **EXACT | how)
    weights, bias_margins = dense_weights(trained)
    return np.column_stack([weights, bias_margins / bias]) if bias else weights


def signs(column):
    return np.where(column, 1.0, -1.0)


def assert_optimal(found, X, targets, cost, loss, best):
    reached = oracle.primal_objective(X, targets, found, cost, loss)
    optimum = oracle.primal_objective(X, targets, best, cost, loss)
    assert reached == pytest.approx(optimum, rel=1e-3)


@pytest.mark.parametrize("n_slots", [1, 2, 3, 8, 9, 16, 17, 18, 33])
def test_squared_hinge_reaches_the_optimum_of_liblinear_for_any_number_of_slots(n_slots):
    X, Y = random_problem(np.random.default_rng(n_slots), n_labels=n_slots)
    with_bias = oracle.with_bias(X, 1.0)
    for slot, found in enumerate(solve(X, Y)):
        peer = LinearSVC(
            loss="squared_hinge", dual=True, fit_intercept=False, tol=1e-6, max_iter=100_000
        )
        best = peer.fit(with_bias, Y[:, slot]).coef_[0]
        assert_optimal(found, with_bias, signs(Y[:, slot]), 1.0, "squared-hinge", best)


@pytest.mark.parametrize("n_slots", [1, 2, 9, 17, 33])
def test_logistic_reaches_the_optimum_of_liblinear_for_any_number_of_slots(n_slots):
    X, Y = random_problem(np.random.default_rng(n_slots), n_labels=n_slots)
    with_bias = oracle.with_bias(X, 1.0)
    for slot, found in enumerate(solve(X, Y, loss="logistic")):
        peer = LogisticRegression(
            solver="liblinear", dual=True, fit_intercept=False, tol=1e-6, max_iter=100_000
        )
        best = peer.fit(with_bias, Y[:, slot]).coef_[0]
        assert_optimal(found, with_bias, signs(Y[:, slot]), 1.0, "logistic", best)


@examples(30)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_documents=st.integers(1, 20),
    n_labels=st.integers(1, 2),
    loss=st.sampled_from(LOSSES),
    cost=st.sampled_from([0.05, 1.0, 8.0]),
    bias=st.sampled_from([0.0, 1.0, 2.5]),
    signed=st.booleans(),
)
def test_weights_agree_with_plain_dual_coordinate_descent(
    seed, n_documents, n_labels, loss, cost, bias, signed
):
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng, n_documents, 6, n_labels, signed=signed)
    if signed:
        X *= rng.choice([0.2, 1.0, 3.0], size=(n_documents, 1))
    with_bias = oracle.with_bias(X.astype(np.float64), bias)
    for slot, found in enumerate(solve(X, Y, loss=loss, cost=cost, bias=bias)):
        targets = signs(Y[:, slot])
        best = oracle.dual_coordinate_descent(with_bias, targets, cost, loss)
        assert_optimal(found, with_bias, targets, cost, loss, best)
        np.testing.assert_allclose(found, best, atol=2e-2 * max(1, np.abs(best).max()))


@pytest.mark.parametrize("cost", [0.1, 1.0, 10.0])
def test_one_document_has_the_solution_found_by_hand(cost):
    # The minimum of w^2 / 2 + cost * (1 - w)^2.
    assert solve(np.ones((1, 1)), np.ones((1, 1)), cost=cost, bias=0.0) == pytest.approx(
        2 * cost / (1 + 2 * cost), rel=1e-3
    )


@pytest.mark.parametrize("size", [1.0, 3.0, 10.0, 100.0])
def test_a_large_document_on_one_side_does_not_outweigh_a_small_one_on_the_other(size):
    # Only the small one is within its margin: the minimum of w^2 / 2 + (1 - w)^2, or with both.
    X, Y = np.array([[size], [-1.0]]), np.array([[1], [0]])
    expected = 2 / 3 if size > 1 else 4 / 5
    assert solve(X, Y, bias=0.0) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("positive", [False, True])
def test_a_slot_whose_documents_are_all_alike_pushes_the_bias_to_their_side(loss, positive):
    X, _ = random_problem(np.random.default_rng(0), n_documents=20)
    Y = np.full((20, 1), positive)
    (found,) = solve(X, Y, loss=loss)
    with_bias = oracle.with_bias(X.astype(np.float64), 1.0)
    targets = signs(Y[:, 0])
    best = oracle.dual_coordinate_descent(with_bias, targets, 1.0, loss)
    assert_optimal(found, with_bias, targets, 1.0, loss, best)
    assert (found[-1] > 0) == positive


@pytest.mark.parametrize("loss", LOSSES)
def test_empty_documents_teach_the_bias_alone(loss):
    X = np.zeros((4, 3), dtype=np.float32)
    Y = np.array([[1], [0], [0], [0]])
    (found,) = solve(X, Y, loss=loss)
    assert (found[:-1] == 0).all()
    assert found[-1] < 0
    assert (solve(X, Y, loss=loss, bias=0.0) == 0).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_neighbours_in_the_cluster_do_not_change_a_slot(loss):
    # Easy and hard slots together: those that are done early must not be disturbed.
    rng = np.random.default_rng(4)
    X, Y = random_problem(rng, n_labels=20, noise=0.3)
    Y[:, ::3] = False
    together = solve(X, Y, loss=loss)
    for slot in [0, 1, 7, 8, 15, 16, 19]:
        (alone,) = solve(X, Y[:, [slot]], loss=loss)
        np.testing.assert_allclose(together[slot], alone, atol=5e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_documents_of_very_different_sizes_give_finite_weights(loss):
    X = np.array([[1e-3, 0.0], [1.0, 1.0], [1e3, 0.0], [1e4, 1e4]], dtype=np.float32)
    Y = np.array([[1, 0], [1, 1], [1, 0], [1, 1]])
    assert np.isfinite(solve(X, Y, loss=loss, cost=10.0)).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_contradicting_documents_give_finite_weights(loss):
    X = np.full((6, 1), 50.0, dtype=np.float32)
    X[5] = 1e4
    Y = np.array([[1], [1], [1], [1], [1], [0]])
    assert np.isfinite(solve(X, Y, loss=loss, cost=100.0)).all()


def test_long_documents_take_many_passes_but_reach_the_optimum():
    # Rounding keeps these from the tolerance; no row may be left behind for that.
    rng = np.random.default_rng(0)
    for _ in range(12):
        X = (5 * rng.standard_normal((17, 3))).astype(np.float32)
        Y = rng.random((17, 3)) < 0.4
        found = solve(X, Y, cost=10.0, bias=0.0, max_iter=20_000)
        for slot in range(3):
            peer = LinearSVC(C=10.0, dual=False, fit_intercept=False, tol=1e-8)
            best = peer.fit(X, Y[:, slot]).coef_[0]
            reached, optimum = (
                oracle.primal_objective(X, signs(Y[:, slot]), w, 10.0, "squared-hinge")
                for w in (found[slot], best)
            )
            assert reached < 1.02 * optimum


def test_a_looser_tolerance_and_fewer_passes_give_a_worse_solution():
    X, Y = random_problem(np.random.default_rng(5), n_labels=1, noise=0.3)
    with_bias, targets = oracle.with_bias(X, 1.0), signs(Y[:, 0])

    def objective(**how):
        (found,) = solve(X, Y, cost=10.0, **how)
        return oracle.primal_objective(with_bias, targets, found, 10.0, "squared-hinge")

    exact = objective()
    assert objective(max_iter=1) > exact * 1.001
    assert objective(tolerance=1.0) > exact * 1.00001


@pytest.mark.parametrize("loss", LOSSES)
def test_the_order_of_visits_changes_with_the_seed_but_not_the_solution(loss):
    X, Y = random_problem(np.random.default_rng(6))
    one, other = (solve(X, Y, loss=loss, seed=seed) for seed in (1, 2))
    np.testing.assert_allclose(one, other, atol=5e-3)
    one, other = (solve(X, Y, loss=loss, seed=seed, max_iter=1) for seed in (1, 2))
    assert np.abs(one - other).max() > 1e-3
