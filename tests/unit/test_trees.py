"""Trees of every shape: what each way to build one promises, and the kernel against its twin."""

import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme import _native
from polyseme.machine.run import Run
from polyseme.partition.label_tree import LabelTree, most_levels
from polyseme.partition.trees import huffman, k_means, shuffled
from polyseme.partition.trees.registry import TREES
from tests.examples import examples
from tests.oracles.k_means_tree import nested_groups
from tests.oracles.label_features import label_features
from tests.small_problems import clusters_of, documents, pattern, random_problem, sparse


def leaves(clusters):
    return [leaf.tolist() for leaf in np.split(clusters.labels, clusters.starts[1:-1])]


def without_single_children(nested):
    if not nested or not isinstance(nested[0], list):
        return nested
    below = [without_single_children(group) for group in nested]
    return below[0] if len(below) == 1 else below


def labelled(counts):
    """Return documents without features, and labels of which each has so many documents."""
    Y = np.arange(max(*counts, 1))[:, None] < np.asarray(counts)
    return documents(np.zeros((len(Y), 1))), pattern(Y)


@examples(60)
@given(
    name=st.sampled_from(sorted(TREES)),
    seed=st.integers(0, 2**32 - 1),
    n_labels=st.integers(1, 70),
    branching=st.integers(2, 20),
    max_leaf_size=st.integers(1, 9),
    n_threads=st.sampled_from([1, 3]),
)
def test_every_tree_has_each_label_in_one_leaf_and_no_more_children_than_it_may(
    name, seed, n_labels, branching, max_leaf_size, n_threads
):
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng, n_labels=n_labels, n_documents=40)
    build, expected_shape = TREES[name]
    tree, clusters = build(
        documents(X), pattern(Y), branching, max_leaf_size, Run(seed, n_threads)
    )
    assert sorted(clusters.labels) == list(range(n_labels))
    assert clusters.n_clusters == tree.n_clusters
    assert clusters.sizes.min() >= 1 or name in ("balanced", "parabel", "random")
    assert all(np.diff(starts).max() <= branching for starts in tree.levels)
    n_leaves = -(-n_labels // max_leaf_size)
    is_uneven = name in ("k-means", "bonsai")
    n_counted = int(Y.any(axis=0).sum()) if name == "parabel" else n_labels
    deepest = (k_means.shallow_levels if name == "bonsai" else most_levels)(n_leaves, branching)
    n_room = max_leaf_size + n_labels - n_counted
    assert clusters.sizes.max() <= n_room or (is_uneven and tree.n_levels == deepest)
    assert tree.n_levels <= deepest
    shape = expected_shape(Y.sum(axis=0), branching, max_leaf_size)
    assert shape == tree or is_uneven
    assert shape.n_clusters * max_leaf_size >= n_counted


# k-means


@examples(80, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(20, 60), st.integers(12, 18), st.integers(2, 60)),
    branching=st.integers(2, 24),
    max_leaf_size=st.integers(1, 9),
    max_levels=st.integers(0, 4),
    max_features=st.sampled_from([12, 256]),
    sample_size=st.sampled_from([7, 20, 1024]),
    max_iter=st.integers(1, 10),
    n_threads=st.sampled_from([1, 2, 5]),
)
def test_the_tree_is_that_of_plain_k_means_on_dense_label_features(
    seed,
    shape,
    branching,
    max_leaf_size,
    max_levels,
    max_features,
    sample_size,
    max_iter,
    n_threads,
):
    rng = np.random.default_rng(seed)
    n_documents, n_features, n_labels = shape
    # Any two labels differ and share features: rounding alone never decides.
    X = rng.standard_normal((n_documents, n_features)).astype(np.float32)
    Y = rng.random((n_documents, n_labels)) < 0.4
    limits = {"max_features": max_features, "max_documents": 64}
    how = {"max_levels": max_levels, "sample_size": sample_size, "max_iter": max_iter}
    tree, clusters = k_means.build(
        documents(X), pattern(Y), branching, max_leaf_size, Run(seed, n_threads), **limits, **how
    )
    features = label_features(X, Y, **limits)
    expected = nested_groups(features, branching, max_leaf_size, seed=seed, **how)
    assert tree.to_nested(clusters) == without_single_children(expected)


@pytest.mark.parametrize("n_threads", [2, 5])
def test_the_k_means_tree_does_not_depend_on_the_number_of_threads(n_threads):
    rng = np.random.default_rng(1)
    X = rng.random((2000, 60)) * (rng.random((2000, 60)) < 0.1)
    given = documents(X), pattern(np.eye(2000)), 40, 10
    one = k_means.build(*given, Run(5, 1), sample_size=300)
    many = k_means.build(*given, Run(5, n_threads), sample_size=300)
    assert one[0] == many[0]
    np.testing.assert_array_equal(one[1].labels, many[1].labels)
    np.testing.assert_array_equal(one[1].starts, many[1].starts)


def test_topics_become_clusters_of_their_own_sizes():
    rng = np.random.default_rng(0)
    topic = np.repeat(np.arange(3), [20, 6, 2])
    features = np.kron(np.eye(3), np.ones(4))[topic] + 0.05 * rng.random((28, 12))
    found = {
        tuple(sorted(clusters.sizes))
        for seed in range(20)
        for _, clusters in [
            k_means.build(documents(features), pattern(np.eye(28)), 3, 20, Run(seed))
        ]
    }
    assert (2, 6, 20) in found


@pytest.mark.parametrize("features", [np.zeros((50, 3)), np.full((50, 4), 0.5)])
def test_labels_that_cannot_be_told_apart_are_shared_out_evenly(features):
    tree, clusters = k_means.build(documents(features), pattern(np.eye(50)), 100, 4)
    assert tree.n_levels == 1
    assert set(clusters.sizes) == {3, 4}


def test_what_is_as_deep_as_can_be_stays_a_larger_leaf():
    X = documents(np.random.default_rng(0).random((40, 5)))
    tree, clusters = k_means.build(X, pattern(np.eye(40)), 2, 1, max_levels=2)
    assert tree.n_levels == 2
    assert clusters.sizes.max() > 1


@pytest.mark.parametrize(
    ("n_leaves", "branching", "n_levels"),
    [(1, 100, 2), (43, 100, 2), (263, 100, 2), (10_000, 100, 2), (10_001, 100, 3), (263, 2, 9)],
)
def test_bonsai_is_two_levels_deep_or_as_deep_as_an_even_tree(n_leaves, branching, n_levels):
    assert k_means.shallow_levels(n_leaves, branching) == n_levels


def test_bonsai_is_the_k_means_tree_without_what_is_below_its_second_level():
    rng = np.random.default_rng(2)
    topic = np.repeat(np.arange(4), [40, 4, 4, 2])
    X = np.kron(np.eye(4), np.ones(3))[topic] + 0.3 * rng.random((50, 12))
    given = documents(X), pattern(np.eye(50)), 7, 3, Run(4)
    deep, small = k_means.build(*given)
    shallow, large = k_means.build_shallow(*given)
    assert deep.n_levels > shallow.n_levels == 2
    assert large.sizes.max() > 3 >= small.sizes.max()
    joined = {}
    for node, leaf in zip(deep.nodes_above(2), leaves(small), strict=True):
        joined.setdefault(node, []).extend(leaf)
    assert [sorted(labels) for labels in joined.values()] == leaves(large)


def test_a_parabel_tree_has_room_for_labels_with_documents_and_takes_the_others_in():
    X, Y = labelled([2] * 8 + [0])
    of_all, _ = TREES["balanced"].build(X, Y, 2, 4, Run())
    of_seen, clusters = TREES["parabel"].build(X, Y, 2, 4, Run())
    assert (of_all.n_clusters, of_seen.n_clusters) == (4, 2)
    assert sorted(clusters.labels) == list(range(9))
    assert TREES["parabel"].expected_shape(np.array([2] * 8 + [0]), 2, 4).n_clusters == 2


def test_another_seed_gives_other_groups():
    X = documents(np.random.default_rng(0).random((80, 5)))
    for build in (k_means.build, shuffled.build):
        one, other = (build(X, pattern(np.eye(80)), 8, 8, Run(seed))[1] for seed in (1, 2))
        assert leaves(one) != leaves(other)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label_rows": pattern(np.ones((4, 2)))}, "label_rows and X differ in documents"),
        ({"max_features": 0}, "a label needs a feature and a document at least"),
        ({"branching": 1}, "branching must be from 2"),
        ({"branching": 2**40}, "branching must be from 2"),
        ({"max_leaf_size": 0}, "max_leaf_size must be at least 1"),
        ({"max_levels": -1}, "max_leaf_size must be at least 1, max_levels 0"),
        ({"sample_size": 1}, "sample_size must be at least 2"),
        ({"max_iter": 0}, "sample_size must be at least 2, max_iter 1"),
    ],
)
def test_groups_that_cannot_be_made_are_refused(changes, message):
    options = {
        "label_rows": pattern(np.ones((4, 3))),
        "branching": 2,
        "max_leaf_size": 1,
        "max_levels": 3,
        "max_features": 2,
        "max_documents": 2,
        "sample_size": 2,
        "max_iter": 2,
        "seed": 0,
        "n_threads": 1,
        "progress": None,
    }
    _native.group_labels(sparse(np.ones((3, 2))), **options)
    with pytest.raises(ValueError, match=message):
        _native.group_labels(sparse(np.ones((3, 2))), **options | changes)


# Huffman


def least_path_length(counts, branching):
    """Return the weighted path length of the best tree, by Huffman's own argument."""
    weights = [*counts, *[0] * (-(len(counts) - 1) % (branching - 1))]
    heapq.heapify(weights)
    length = 0
    while len(weights) > 1:
        merged = sum(heapq.heappop(weights) for _ in range(branching))
        length += merged
        heapq.heappush(weights, merged)
    return length


def depth_of(nested, label, depth=0):
    """Return how far from the root a label's cluster is, where no node has a single child."""
    if not nested or not isinstance(nested[0], list):
        return depth if label in nested else None
    found = (depth_of(group, label, depth + 1) for group in nested)
    return next((depth for depth in found if depth is not None), None)


@examples(60)
@given(counts=st.lists(st.integers(1, 30), min_size=2, max_size=25), branching=st.integers(2, 6))
def test_with_one_label_a_leaf_paths_are_as_short_as_can_be(counts, branching):
    tree, clusters = huffman.build(*labelled(counts), branching, 1)
    nested = tree.to_nested(clusters)
    depths = [depth_of(nested, label) for label in range(len(counts))]
    if max(depths) < most_levels(len(counts), branching):  # where no limit was met
        length = sum(np.multiply(counts, depths))
        assert length == least_path_length(counts, branching)
    order = np.argsort(counts, kind="stable")
    sure = np.diff(np.array(counts)[order]) > 0
    assert (np.diff(np.array(depths)[order])[sure] <= 0).all()


def test_frequent_labels_are_nearer_to_the_root():
    tree, clusters = huffman.build(*labelled([40, 1, 1, 1, 1]), 2, 1)
    nested = tree.to_nested(clusters)
    assert [depth_of(nested, label) for label in range(5)] == [1, 3, 3, 3, 3]


def test_labels_of_like_frequency_share_a_leaf():
    _, clusters = huffman.build(*labelled([1, 9, 2, 8, 1, 9]), 2, 2)
    assert sorted(leaves(clusters)) == [[0, 4], [1, 5], [2, 3]]


def test_a_tree_of_very_uneven_labels_is_no_deeper_than_it_may_be():
    counts = [2**i for i in range(12)]
    tree, clusters = huffman.build(*labelled(counts), 2, 1)
    assert tree.n_levels <= most_levels(12, 2) == 9
    assert clusters.sizes.tolist() == [1] * 12


def test_labels_without_documents_have_a_place_too():
    tree, clusters = huffman.build(*labelled([0, 0, 3, 0]), 3, 1)
    assert sorted(clusters.labels) == [0, 1, 2, 3]
    assert tree.n_clusters == 4


# The form of trees


@examples(60)
@given(above=st.lists(st.integers(0, 10**6), max_size=30))
def test_a_tree_of_parents_has_their_leaves_in_order_on_its_last_level(above):
    parents = np.array([-1, *(number % (i + 1) for i, number in enumerate(above))])
    tree, cluster_of_node = LabelTree.from_parents(parents)
    is_leaf = ~np.isin(np.arange(len(parents)), parents)
    assert ((cluster_of_node >= 0) == is_leaf).all()
    assert sorted(cluster_of_node[is_leaf]) == list(range(tree.n_clusters))

    def nested(node):
        children = np.flatnonzero(parents == node)
        return [nested(child) for child in children] if len(children) else [int(node)]

    by_cluster = np.flatnonzero(is_leaf)[np.argsort(cluster_of_node[is_leaf])]
    clusters = clusters_of(*([leaf] for leaf in by_cluster), n_labels=len(parents))
    assert tree.to_nested(clusters) == without_single_children(nested(0))


def test_a_tree_can_be_carried_away():
    tree = LabelTree((np.array([0, 2]), np.array([0, 1, 3])))
    clusters = clusters_of([0, 3], [1], [2, 3], n_labels=4)
    assert tree.to_nested(clusters) == [[0, 3], [[1], [2, 3]]]
    assert tree.to_nested(clusters, "abcd") == [["a", "d"], [["b"], ["c", "d"]]]
    chain = tree.to_cluster_chain(clusters)
    assert [matrix.shape for matrix in chain] == [(2, 1), (3, 2), (4, 3)]
    assert chain[1].toarray().tolist() == [[1, 0], [0, 1], [0, 1]]
    assert chain[2].toarray().tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]]
    assert LabelTree().to_nested(clusters_of([0, 1], n_labels=2)) == [0, 1]
