from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from polyseme.backbones.linear.matcher import LinearTreeMatcher
from polyseme.backbones.linear.weights import LinearTraining, LinearWeights
from polyseme.backbones.protocols import ModelShape
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.run import Run
from polyseme.partition.label_tree import LabelTree
from tests.examples import examples
from tests.oracles.beam_search import dense_weights
from tests.small_problems import (
    clusters_of,
    documents,
    pattern,
    random_features,
    random_problem,
    sparse,
    train_slots,
)

EXACT = {"tolerance": 1e-5, "max_iter": 2000, "min_weight": 0.0}


def stored(weights):
    """Return the stored weights of each slot as {feature: weight}."""
    slots = []
    for slot in range(weights.slot_starts[-1]):
        features, values, bias = weights.weights_of(slot)
        assert bias == weights.bias[slot]
        slots.append(dict(zip(features.tolist(), values.tolist(), strict=True)))
    return slots


def restored(arrays, like):
    """Build weights from arrays that come from a file."""
    clusters = clusters_of(*map(range, np.diff(like.slot_starts)), n_labels=like.n_features)
    tree = LabelTree.uniform(clusters.n_clusters)
    shape = ModelShape(like.n_features, 0, tree, clusters)
    return LinearWeights.restored(StoredModel(Path(), {}, arrays, {}), clusters.starts, shape)


def assert_same(one, other):
    assert stored(one) == stored(other)
    np.testing.assert_array_equal(one.bias, other.bias)


@pytest.fixture
def problem():
    return random_problem(np.random.default_rng(0), n_labels=5)


ALL_FIVE = clusters_of(range(5), n_labels=5)


def test_a_threshold_of_zero_keeps_every_weight_but_no_zeros(problem):
    X, Y = problem
    Y[:, 3] = False
    trained = train_slots(X, Y, ALL_FIVE, **EXACT)
    assert all(0 not in slot.values() for slot in stored(trained))
    assert trained.n_weights == sum(map(len, stored(trained))) > 5 * 10


def test_weights_below_the_threshold_are_dropped_and_the_others_left_alone(problem):
    X, Y = problem
    everything = stored(train_slots(X, Y, ALL_FIVE, **EXACT))
    trained = train_slots(X, Y, ALL_FIVE, **EXACT | {"min_weight": 0.5})
    expected = [
        {feature: weight for feature, weight in slot.items() if abs(weight) >= 0.5}
        for slot in everything
    ]
    assert stored(trained) == expected
    assert 0 < trained.n_weights < sum(map(len, everything))


def test_a_slot_keeps_its_largest_weights_when_their_number_is_bounded(problem):
    X, Y = problem
    everything = stored(train_slots(X, Y, ALL_FIVE, **EXACT))
    few = stored(train_slots(X, Y, ALL_FIVE, **EXACT, max_weights_per_label=4))
    for kept, weights in zip(few, everything, strict=True):
        largest = sorted(weights, key=lambda feature: -abs(weights[feature]))[:4]
        assert kept == {feature: weights[feature] for feature in largest}


def test_equal_weights_do_not_lead_to_more_of_them_than_the_bound():
    X = np.ones((4, 6), dtype=np.float32)
    X[2:] = 0
    Y = np.array([[1], [1], [0], [0]])
    trained = train_slots(X, Y, clusters_of([0], n_labels=1), max_weights_per_label=2)
    assert [len(slot) for slot in stored(trained)] == [2]


def test_without_a_bias_feature_the_bias_is_zero(problem):
    X, Y = problem
    assert (train_slots(X, Y, ALL_FIVE, bias=0.0).bias == 0).all()
    assert (train_slots(X, Y, ALL_FIVE, bias=1.0).bias != 0).any()


def test_each_cluster_learns_from_its_own_rows_alone(problem):
    X, Y = problem
    clusters = clusters_of([0, 2], [1, 2, 4], n_labels=5)  # label 2 is in both
    rows = np.random.default_rng(1).random((len(X), 2)) < 0.6
    weights, bias = dense_weights(train_slots(X, Y, clusters, rows, **EXACT))
    for cluster, slots in enumerate([slice(0, 2), slice(2, 5)]):
        own = rows[:, cluster]
        labels = clusters.labels[slots].tolist()
        alone = train_slots(X[own], Y[own], clusters_of(labels, n_labels=5), **EXACT)
        expected, expected_bias = dense_weights(alone)
        np.testing.assert_allclose(weights[slots], expected, atol=5e-3)
        np.testing.assert_allclose(bias[slots], expected_bias, atol=5e-3)


def test_empty_clusters_and_clusters_without_rows_are_left_in_peace(problem):
    X, Y = problem
    clusters = clusters_of([], [0, 1], [], [2], [], n_labels=5)
    rows = np.ones((len(X), 5))
    rows[:, 3] = 0
    trained = train_slots(X, Y, clusters, rows)
    slots = stored(trained)
    assert len(slots) == 3
    assert slots[0]
    assert slots[1]
    assert slots[2] == {}
    assert trained.bias[2] == 0


def test_no_clusters_and_no_documents_are_fine():
    nothing = clusters_of(n_labels=2)
    assert train_slots(np.ones((3, 2)), np.ones((3, 2)), nothing).n_weights == 0
    trained = train_slots(np.ones((0, 2)), np.ones((0, 2)), clusters_of([0, 1], n_labels=2))
    assert stored(trained) == [{}, {}]


def test_a_positive_that_is_not_the_slots_own_does_not_count_for_it_at_all(problem):
    X, Y = problem
    own = (np.random.default_rng(2).random((len(X), 1)) < 0.5) & (Y[:, [0]] | Y[:, [1]])
    assert (own[:, 0] & Y[:, 0]).any()
    clusters = clusters_of([0, 1], n_labels=5)
    weights, bias = dense_weights(train_slots(X, Y, clusters, own=own, **EXACT))
    for label in range(2):
        counts = ~Y[:, label] | own[:, 0]
        alone = train_slots(X[counts], Y[counts], clusters_of([label], n_labels=5), **EXACT)
        expected, expected_bias = dense_weights(alone)
        np.testing.assert_allclose(weights[label], expected[0], atol=5e-3)
        np.testing.assert_allclose(bias[label], expected_bias[0], atol=5e-3)


def test_a_slot_without_any_own_positive_learns_from_all_of_them(problem):
    X, Y = problem
    clusters = clusters_of([0, 1], n_labels=5)
    own = Y[:, [1]] & ~Y[:, [0]]  # nothing of label 0
    with_own = stored(train_slots(X, Y, clusters, own=own, **EXACT))
    without = stored(train_slots(X, Y, clusters, **EXACT))
    assert with_own[0].keys() == without[0].keys()
    for feature, weight in without[0].items():
        assert with_own[0][feature] == pytest.approx(weight, abs=5e-3)
    assert with_own[1] != without[1]


@pytest.mark.parametrize("n_threads", [2, 5])
@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
def test_weights_do_not_depend_on_the_number_of_threads(loss, n_threads):
    rng = np.random.default_rng(3)
    X, Y = random_problem(rng, n_documents=150, n_labels=60)
    cluster_of = rng.random((60, 9)) < 0.2
    clusters = clusters_of(*(np.flatnonzero(column) for column in cluster_of.T), n_labels=60)
    rows = rng.random((150, 9)) < 0.5
    assert_same(
        train_slots(X, Y, clusters, rows, loss=loss),
        train_slots(X, Y, clusters, rows, loss=loss, n_threads=n_threads),
    )


def test_a_large_cluster_is_trained_like_small_ones():
    # More than a million entries: the slots of such a cluster are spread over the threads.
    rng = np.random.default_rng(4)
    X = random_features(rng, 1100, 1000, density=1.0)
    Y = rng.random((1100, 18)) < X[:, :18] * 10
    how = {"max_iter": 3, "min_weight": 0.2}
    clusters = clusters_of(range(18), n_labels=18)
    one = train_slots(X, Y, clusters, **how)
    assert_same(one, train_slots(X, Y, clusters, **how, n_threads=3))
    weights, _ = dense_weights(one)
    assert (weights.argmax(axis=1) == np.arange(18)).mean() > 0.9


def test_a_cluster_may_have_more_slots_than_a_byte_can_count():
    X = np.eye(300, dtype=np.float32)
    weights, bias = dense_weights(train_slots(X, X, clusters_of(range(300), n_labels=300)))
    assert (weights.argmax(axis=1) == np.arange(300)).all()
    assert (weights.max(axis=1) + bias > 0).all()


def test_weights_too_large_for_sixteen_bits_are_kept_exactly():
    X = np.array([[1e-6], [-1e-6]], dtype=np.float32)
    trained = train_slots(
        X, np.array([[1], [0]]), clusters_of([0], n_labels=1), bias=0.0, cost=1e14
    )
    assert stored(trained)[0][0] == pytest.approx(1e6, rel=1e-2)
    matcher = LinearTreeMatcher(activation="none", levels=[trained])
    found = matcher.match(documents([[1e-6], [2e-6]]), 1, Run()).values
    assert found == pytest.approx([1, 2], rel=1e-2)


def test_all_weights_are_those_of_the_slots(problem):
    X, Y = problem
    trained = train_slots(X, Y, clusters_of([0, 3], [1, 2, 4], n_labels=5))
    everything = trained.to_rows().to_scipy().toarray()
    np.testing.assert_array_equal(everything.T, dense_weights(trained)[0])


def test_weights_come_back_from_their_arrays(problem):
    X, Y = problem
    trained = train_slots(X, Y, ALL_FIVE)
    assert_same(trained, restored(trained.to_arrays(), trained))


def test_read_only_arrays_are_welcome(problem):
    X, Y = problem
    trained = train_slots(X, Y, ALL_FIVE)
    arrays = {name: array.copy() for name, array in trained.to_arrays().items()}
    for array in arrays.values():
        array.flags.writeable = False
    level = restored(arrays, trained).level
    assert (level.n_clusters, level.n_slots) == (1, 5)


@given(st.integers(0, 10**6), st.sampled_from([8, 32]))
@examples(25)
def test_retrained_clusters_are_new_and_all_others_stay_bit_for_bit(seed, weight_bits):
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng, n_documents=40, n_labels=9)
    n_clusters = int(rng.integers(1, 5))
    table = rng.random((n_clusters, 9)) < 0.5
    is_changed = rng.random(n_clusters) < 0.5
    how = EXACT | {"weight_bits": weight_bits}
    before = train_slots(X, Y, _clusters(table), **how)
    table[is_changed] = rng.random((is_changed.sum(), 9)) < 0.5  # only these may change
    clusters = _clusters(table)
    rows = np.ones((len(X), n_clusters))
    part = LinearWeights.train(
        documents(X),
        pattern(rows),
        clusters.starts,
        clusters.labels,
        pattern(Y),
        LinearTraining(**how),
        Run(),
        only=is_changed,
    )[0]
    after = before.with_clusters(part, is_changed)
    fresh = train_slots(X, Y, clusters, **how)
    kept = np.repeat(~is_changed, clusters.sizes)
    both = np.repeat(~is_changed, np.diff(before.slot_starts))
    weights, old, new = (dense_weights(one)[0] for one in (after, before, fresh))
    np.testing.assert_array_equal(weights[kept], old[both])
    np.testing.assert_array_equal(after.bias[kept], before.bias[both])
    np.testing.assert_allclose(weights[~kept], new[~kept], atol=0.02)
    assert_same(restored(after.to_arrays(), after), after)


def _clusters(table):
    return clusters_of(*map(np.flatnonzero, table), n_labels=table.shape[1])


@pytest.mark.parametrize("weight_bits", [8, 32])
@pytest.mark.parametrize("sizes", [(5,), (2, 0, 3), (1,) * 70 + (300,), (0, 0)])
def test_weights_from_elsewhere_are_packed_as_trained_ones_are(sizes, weight_bits):
    random = np.random.default_rng(0)
    n_slots = sum(sizes)
    X, Y = random_problem(random, n_labels=max(1, n_slots))
    first = np.cumsum([0, *sizes])
    clusters = clusters_of(
        *(range(a, b) for a, b in pairwise(first)),
        n_labels=max(1, n_slots),
    )
    trained = train_slots(X, Y, clusters, weight_bits=weight_bits, min_weight=0.0)
    packed = LinearWeights.from_rows(
        trained.to_rows(), trained.bias, trained.slot_starts, weight_bits
    )
    for name, array in trained.to_arrays().items():
        if name == "scales":  # the largest weight, and what it is divided by, round once more
            np.testing.assert_allclose(getattr(packed, name), array, rtol=1e-6)
        else:
            np.testing.assert_array_equal(getattr(packed, name), array)


def test_weights_from_elsewhere_that_do_not_fit_are_refused():
    weights = sparse(np.ones((3, 4)))
    bias = np.zeros(4, dtype=np.float32)
    with pytest.raises(ValueError, match="slot starts do not fit"):
        LinearWeights.from_rows(weights, bias, np.array([0, 3]))
    with pytest.raises(ValueError, match="differ in slots"):
        LinearWeights.from_rows(weights, bias[:3], np.array([0, 3]))
    wide = SparseRows.from_scipy(sp.csr_matrix((1, 70_000), dtype=np.float32))
    with pytest.raises(ValueError, match="more than 65536 slots"):
        LinearWeights.from_rows(wide, np.zeros(70_000, dtype=np.float32), np.array([0, 70_000]))
