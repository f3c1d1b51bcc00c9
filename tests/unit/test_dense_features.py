"""A dense block beside sparse rows: the same model as with the same numbers as sparse entries."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

import polyseme
from polyseme import XRLinear
from polyseme.backbones.linear.weights import LinearTraining, LinearWeights
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.run import Run
from tests.examples import examples
from tests.oracles import slot_solver as oracle
from tests.oracles.beam_search import dense_weights
from tests.random_matrices import random_sparse
from tests.small_problems import clusters_of, pattern, random_problem

EXACT = {"tolerance": 1e-5, "max_iter": 2000, "min_weight": 0.0}
LOSSES = ["squared-hinge", "logistic"]


def split(X, n_dense):
    """Return the same features with the last columns as a block."""
    X = np.asarray(X, dtype=np.float32)
    return Documents(dense=X).in_layout(X.shape[1] - n_dense, n_dense)


def train(documents, Y, clusters, *, rows=None, own=None, n_threads=1, only=None, **how):
    rows = np.ones((documents.n_rows, clusters.n_clusters)) if rows is None else rows
    return LinearWeights.train(
        documents,
        pattern(rows),
        clusters.starts,
        clusters.labels,
        pattern(Y),
        LinearTraining(**how),
        Run(0, n_threads),
        own_documents=None if own is None else pattern(own),
        only=only,
    )[0]


def all_in_one(Y):
    return clusters_of(range(Y.shape[1]), n_labels=Y.shape[1])


@examples(30)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_documents=st.integers(1, 23),
    n_sparse=st.integers(0, 4),
    n_dense=st.integers(1, 11),
    loss=st.sampled_from(LOSSES),
    bias=st.sampled_from([0.0, 1.0]),
)
@example(seed=9892, n_documents=18, n_sparse=0, n_dense=4, loss="logistic", bias=0.0)
def test_weights_agree_with_plain_dual_coordinate_descent(
    seed, n_documents, n_sparse, n_dense, loss, bias
):
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng, n_documents, n_sparse + n_dense, 3, signed=True)
    found, margins = dense_weights(
        train(split(X, n_dense), Y, all_in_one(Y), loss=loss, bias=bias, **EXACT)
    )
    with_bias = oracle.with_bias(X.astype(np.float64), bias)
    for slot in range(3):
        targets = np.where(Y[:, slot], 1.0, -1.0)
        best = oracle.dual_coordinate_descent(with_bias, targets, 1.0, loss)
        both = np.append(found[slot], margins[slot] / bias) if bias else found[slot]
        np.testing.assert_allclose(both, best, atol=2e-2 * max(1, np.abs(best).max()))


@pytest.mark.parametrize("n_slots", [1, 8, 9, 16, 21])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_block_gives_the_weights_of_the_same_numbers_as_sparse_entries(loss, n_slots):
    X, Y = random_problem(np.random.default_rng(n_slots), 90, 25, n_slots, signed=True)
    as_entries, _ = dense_weights(train(split(X, 0), Y, all_in_one(Y), loss=loss, **EXACT))
    for n_dense in (1, 13, 25):
        as_block, _ = dense_weights(train(split(X, n_dense), Y, all_in_one(Y), loss=loss, **EXACT))
        np.testing.assert_allclose(as_block, as_entries, atol=5e-3)


def test_a_thousand_dense_columns_beside_few_documents():
    X, Y = random_problem(np.random.default_rng(1), 30, 1001, 5, signed=True)
    as_entries, _ = dense_weights(train(split(X, 0), Y, all_in_one(Y), **EXACT))
    as_block, _ = dense_weights(train(split(X, 1000), Y, all_in_one(Y), **EXACT))
    np.testing.assert_allclose(as_block, as_entries, atol=2e-3)


def test_own_documents_and_rows_of_clusters_count_for_a_block_too():
    rng = np.random.default_rng(2)
    X, Y = random_problem(rng, 80, 12, 9, signed=True)
    clusters = clusters_of(range(5), range(3, 9), n_labels=9)
    rows, own = rng.random((80, 2)) < 0.7, rng.random((80, 2)) < 0.5
    both = [
        dense_weights(train(split(X, n), Y, clusters, rows=rows, own=own, **EXACT))[0]
        for n in (0, 7)
    ]
    np.testing.assert_allclose(both[0], both[1], atol=5e-3)


def level_of(weights):
    return {**weights.to_arrays(), "bias": weights.bias}


@pytest.mark.parametrize("weight_bits", [8, 32])
@pytest.mark.parametrize("max_entries_whole", [100, 1 << 20])
def test_threads_and_parts_give_the_same_bytes(weight_bits, max_entries_whole):
    rng = np.random.default_rng(3)
    X, Y = random_problem(rng, 150, 20, 40, signed=True)
    clusters = clusters_of(range(18), range(10, 33), range(33, 40), n_labels=40)
    how = {
        "rows": rng.random((150, 3)) < 0.6,
        "weight_bits": weight_bits,
        "max_entries_whole": max_entries_whole,
    }
    documents = split(X, 9)
    whole = train(documents, Y, clusters, **how)
    threaded = train(documents, Y, clusters, n_threads=3, **how)
    is_in_part = np.array([False, True, True])
    parts = [train(documents, Y, clusters, only=only, **how) for only in (~is_in_part, is_in_part)]
    joined = LinearWeights.join(parts, is_in_part.astype(int))
    for other in (threaded, joined):
        for name, array in level_of(whole).items():
            np.testing.assert_array_equal(array, level_of(other)[name], err_msg=name)


@pytest.mark.parametrize("weight_bits", [8, 32])
def test_every_view_of_the_weights_has_dense_features_behind_the_sparse_ones(weight_bits):
    X, Y = random_problem(np.random.default_rng(4), 60, 11, 19, signed=True)
    clusters = clusters_of(range(10), range(10, 19), n_labels=19)
    weights = train(split(X, 5), Y, clusters, weight_bits=weight_bits)
    one_by_one, _ = dense_weights(weights)
    np.testing.assert_allclose(weights.to_rows().to_scipy().toarray(), one_by_one.T, rtol=1e-6)
    assert (np.abs(one_by_one[:, 6:]) > 0).mean() > 0.9
    some = np.array([10, 2, 7], dtype=np.int32)
    features, values, _ = weights.weights_of(12, some)
    np.testing.assert_allclose(values, one_by_one[12, features], rtol=1e-6)
    assert weights.n_weights >= 5 * 19


def test_huge_dense_documents_give_finite_weights():
    X = np.ones((9, 3), dtype=np.float32)
    X[4] = 1e30
    Y = np.arange(9)[:, None] % 2
    weights, bias = dense_weights(train(split(X, 3), Y, all_in_one(Y)))
    assert np.isfinite(weights).all()
    assert np.isfinite(bias).all()


# Through the estimator


def problem(n_documents=400, n_labels=30, seed=0):
    """Labels that show in sparse words and in a dense direction."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_labels, size=n_documents)
    words = random_sparse((n_documents, 60), 0.1, rng).tolil()
    for i, label in enumerate(labels):
        words[i, label] = 1.0
    directions = rng.standard_normal((n_labels, 24))
    dense = directions[labels] + 0.5 * rng.standard_normal((n_documents, 24))
    dense /= np.linalg.norm(dense, axis=1, keepdims=True)
    Y = sp.csr_array(
        (np.ones(n_documents), (np.arange(n_documents), labels)), (n_documents, n_labels)
    )
    return sp.csr_array(words).astype(np.float32), dense.astype(np.float32), Y


SETTINGS = {"max_leaf_size": 8, "branching": 3, "verbose": 0}


@pytest.mark.parametrize("weight_bits", [8, 32])
def test_predictions_are_those_of_the_same_numbers_as_sparse_entries(weight_bits):
    words, dense, Y = problem()
    exact = {"tol": 1e-4, "max_iter": 300, "min_weight": 0.0, "weight_bits": weight_bits}
    model = XRLinear(**SETTINGS, **exact).fit((words, dense), Y)
    assert model.layout_ == (60, 24)
    as_entries = XRLinear(**SETTINGS, **exact).fit(sp.hstack([words, sp.csr_array(dense)]), Y)
    assert as_entries.layout_ == (84, 0)
    scores, peers = (
        model.decision_function((words, dense)).toarray(),
        as_entries.decision_function((words, dense)).toarray(),
    )
    # The trees may differ: sums are rounded otherwise.
    assert np.mean(np.argmax(scores, axis=1) == np.argmax(peers, axis=1)) > 0.98
    assert np.abs(scores - peers).mean() < 0.002


@pytest.mark.parametrize(("weight_bits", "atol"), [(8, 1e-4), (32, 1e-6)])
def test_scores_are_those_of_weights_times_features(weight_bits, atol):
    words, dense, Y = problem()
    model = XRLinear(**SETTINGS, weight_bits=weight_bits).fit((words, dense), Y)
    root = dataclasses.replace(model.matcher_, levels=model.matcher_.levels[:1])
    found = root.match(Documents(SparseRows.from_scipy(words), dense), 99, Run())
    (weights,) = root.levels
    margins = np.hstack([words.toarray(), dense]) @ weights.to_rows().to_scipy() + weights.bias
    expected = np.exp(-(np.maximum(0, 1 - margins) ** 3))
    np.testing.assert_allclose(found.to_scipy().toarray(), expected, atol=atol)


def test_dense_features_alone_are_enough():
    _, dense, Y = problem()
    model = XRLinear(**SETTINGS).fit(dense, Y)
    assert model.layout_ == (0, 24)
    assert model.score(dense, Y) > 0.9
    labels, _ = model.predict_top_k(dense[:1], k=1)
    np.testing.assert_array_equal(labels, model.predict_top_k(dense, k=1)[0][:1])


@pytest.mark.parametrize("weight_bits", [8, 32])
def test_a_saved_model_with_a_block_predicts_the_same(tmp_path, weight_bits):
    words, dense, Y = problem()
    model = XRLinear(**SETTINGS, weight_bits=weight_bits).fit((words, dense), Y)
    model.save(tmp_path / "model")
    again = polyseme.load(tmp_path / "model")
    for ours, theirs in zip(
        model.predict_top_k((words, dense), k=3),
        again.predict_top_k((words, dense), k=3),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_stored_dense_weights_of_another_size_are_refused():
    X, Y = random_problem(np.random.default_rng(5), 40, 8, 5, signed=True)
    weights = train(split(X, 4), Y, all_in_one(Y), weight_bits=8)
    for n_bytes in (0, len(weights.dense) - 1, len(weights.dense) + 16):
        damaged = dataclasses.replace(
            weights, dense=np.resize(weights.dense, n_bytes), is_trusted=False
        )
        with pytest.raises(ValueError, match="dense weights do not fit the slots"):
            _ = damaged.level
    with pytest.raises(ValueError, match="dense"):
        _ = dataclasses.replace(weights, n_features=2**62).level


def test_stored_dense_weights_that_are_not_finite_are_refused():
    X, Y = random_problem(np.random.default_rng(5), 40, 8, 5, signed=True)
    weights = train(split(X, 4), Y, all_in_one(Y), weight_bits=32)
    dense = weights.dense.copy()
    dense[:4] = np.array([np.nan], dtype=np.float32).view(np.uint8)
    with pytest.raises(ValueError, match="a weight is not finite"):
        _ = dataclasses.replace(weights, dense=dense, is_trusted=False).level
