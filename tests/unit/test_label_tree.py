import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.machine.run import Run
from polyseme.partition.label_tree import LabelTree
from polyseme.partition.trees import balanced
from tests.examples import examples
from tests.oracles.label_features import label_features
from tests.oracles.label_tree import partition
from tests.small_problems import documents, pattern


def unit_rows(rng, n_labels, n_features, density=0.5):
    features = rng.standard_normal((n_labels, n_features)) * (
        rng.random((n_labels, n_features)) < density
    )
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    return np.divide(features, lengths, out=features, where=lengths > 0).astype(np.float32)


def build(features, seed=0, n_threads=1, **how):
    """Build a tree of labels that have one document each, with these features."""
    one_each = pattern(np.eye(len(features)))
    return balanced.build(documents(features), one_each, run=Run(seed, n_threads), **how)


def fan_outs(tree):
    """Return the children of a node, by level, of a tree in which this is one number."""
    found = [set(np.diff(starts).tolist()) for starts in tree.levels]
    assert all(len(sizes) == 1 for sizes in found)
    return tuple(sizes.pop() for sizes in found)


def leaves(clusters):
    return [
        clusters.labels[begin:end].tolist()
        for begin, end in zip(clusters.starts, clusters.starts[1:], strict=False)
    ]


@pytest.mark.parametrize("n_labels", [1, 2, 7, 100, 101, 128, 1000, 5001])
@pytest.mark.parametrize(
    ("branching", "max_leaf_size"), [(2, 1), (32, 100), (5, 7), (7, 3), (16, 3)]
)
def test_the_shape_keeps_fan_outs_and_leaf_sizes_within_their_bounds(
    n_labels, branching, max_leaf_size
):
    tree = LabelTree.shape_for(n_labels, branching, max_leaf_size)
    assert all(2 <= fan_out <= branching for fan_out in fan_outs(tree))
    assert tree.n_clusters * max_leaf_size >= n_labels
    assert tree.n_clusters == 1 or tree.n_clusters * max_leaf_size < 2 * n_labels


@examples(40)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_labels=st.integers(1, 70),
    n_features=st.integers(1, 20),
    branching=st.integers(2, 9),
    max_leaf_size=st.integers(1, 9),
    density=st.sampled_from([0.0, 0.2, 1.0]),
    n_threads=st.sampled_from([1, 2, 5]),
)
def test_every_label_is_in_one_leaf_and_leaves_are_equally_large(
    seed, n_labels, n_features, branching, max_leaf_size, density, n_threads
):
    features = unit_rows(np.random.default_rng(seed), n_labels, n_features, density)
    tree, clusters = build(
        features,
        branching=branching,
        max_leaf_size=max_leaf_size,
        seed=seed,
        n_threads=n_threads,
    )
    assert sorted(clusters.labels) == list(range(n_labels))
    assert clusters.n_clusters == tree.n_clusters
    assert clusters.sizes.max() <= max_leaf_size
    assert clusters.sizes.max() - clusters.sizes.min() <= 1
    for leaf in leaves(clusters):
        assert leaf == sorted(leaf)


@examples(60, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(20, 60), st.integers(12, 18), st.integers(2, 60)),
    density=st.sampled_from([0.2, 0.6]),
    max_leaf_size=st.integers(1, 9),
    max_features=st.sampled_from([12, 256]),
    max_documents=st.sampled_from([7, 64]),
    sample_size=st.sampled_from([7, 20, 1024]),
    max_iter=st.integers(1, 10),
    n_threads=st.sampled_from([1, 2, 5]),
)
def test_the_tree_is_that_of_plain_two_means_on_dense_label_features(
    seed,
    shape,
    density,
    max_leaf_size,
    max_features,
    max_documents,
    sample_size,
    max_iter,
    n_threads,
):
    rng = np.random.default_rng(seed)
    n_documents, n_features, n_labels = shape
    X = rng.standard_normal((n_documents, n_features)).astype(np.float32)
    # Any two labels share a few features, and hardly any have the same documents: rounding alone
    # never decides.
    Y = rng.random((n_documents, n_labels)) < density
    limits = {"max_features": max_features, "max_documents": max_documents}
    how = {"sample_size": sample_size, "max_iter": max_iter}
    tree, clusters = balanced.build(
        documents(X),
        pattern(Y),
        branching=4,
        max_leaf_size=max_leaf_size,
        run=Run(seed, n_threads),
        **limits,
        **how,
    )
    features = label_features(X, Y, **limits)
    expected = partition(features, fan_outs(tree), seed=seed, **how)
    assert leaves(clusters) == [leaf.tolist() for leaf in expected]


def test_labels_of_one_topic_end_up_in_one_leaf():
    # Four topics of eight labels with words of their own and a few shared ones; in mixed order.
    rng = np.random.default_rng(3)
    topic = rng.permutation(np.repeat(np.arange(4), 8))
    features = np.zeros((32, 24))
    for label in range(32):
        features[label, topic[label] * 5 + rng.permutation(5)[:4]] = 1
        features[label, 20 + rng.integers(4)] = 0.3
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    _, clusters = build(features, branching=4, max_leaf_size=8)
    assert sorted(leaves(clusters)) == sorted(
        np.flatnonzero(topic == t).tolist() for t in range(4)
    )


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [2, 5])
@pytest.mark.parametrize("density", [0.02, 0.5])
def test_the_tree_does_not_depend_on_the_number_of_threads(n_threads, density):
    features = unit_rows(np.random.default_rng(1), 3000, 40, density)
    how = {"branching": 8, "max_leaf_size": 20, "seed": 5}
    _, one = build(features, **how)
    _, many = build(features, **how, n_threads=n_threads)
    np.testing.assert_array_equal(one.starts, many.starts)
    np.testing.assert_array_equal(one.labels, many.labels)


def test_another_seed_gives_another_tree():
    features = unit_rows(np.random.default_rng(1), 200, 10)
    _, one = build(features, max_leaf_size=5, seed=1)
    _, other = build(features, max_leaf_size=5, seed=2)
    assert leaves(one) != leaves(other)


def test_one_label_is_a_tree_of_one_leaf():
    tree, clusters = build([[1.0]], branching=2, max_leaf_size=1)
    assert tree.levels == ()
    assert tree.n_clusters == 1
    assert leaves(clusters) == [[0]]


@pytest.mark.parametrize("features", [np.zeros((50, 3)), np.full((50, 4), 0.5)])
def test_labels_that_cannot_be_told_apart_are_still_shared_out_evenly(features):
    tree, clusters = build(features, branching=4, max_leaf_size=4)
    assert tree.n_clusters == 16
    assert set(clusters.sizes) == {3, 4}


def test_labels_without_documents_find_a_leaf_beside_the_others():
    features = np.repeat(np.eye(2), 3, axis=0)
    features[[2, 5]] = 0
    _, clusters = build(features, branching=2, max_leaf_size=3)
    first, second = leaves(clusters)
    assert {0, 1} <= set(first) or {0, 1} <= set(second)
    assert {3, 4} <= set(first) or {3, 4} <= set(second)
    assert sorted(first + second) == list(range(6))


def test_children_of_a_node_lie_side_by_side():
    tree = LabelTree.uniform(2, 4, 3)
    assert [tree.n_nodes(level) for level in range(4)] == [1, 2, 8, 24]
    assert tree.levels[0].tolist() == [0, 2]
    assert tree.levels[1].tolist() == [0, 4, 8]
    assert tree.levels[2].tolist() == list(range(0, 25, 3))


# Trees of any shape


def random_tree(rng, n_levels):
    """Return a tree whose nodes have one to four children."""
    levels, n_nodes = [], 1
    for _ in range(n_levels):
        levels.append(np.concatenate([[0], np.cumsum(rng.integers(1, 5, size=n_nodes))]))
        n_nodes = int(levels[-1][-1])
    return LabelTree(tuple(levels))


def parent_of(tree, level, node):
    """Return the node above a node of a level, by looking at all."""
    (parent,) = (
        above
        for above in range(tree.n_nodes(level - 1))
        if tree.levels[level - 1][above] <= node < tree.levels[level - 1][above + 1]
    )
    return parent


@examples(40)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_levels=st.integers(0, 4),
    density=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)
def test_ancestors_are_the_nodes_above_any_of_a_documents_clusters(seed, n_levels, density):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_levels)
    targets = rng.random((9, tree.n_clusters)) < density
    for level in range(n_levels + 1):
        expected = np.zeros((9, tree.n_nodes(level)), dtype=bool)
        for document, cluster in np.argwhere(targets):
            node = int(cluster)
            for below in range(n_levels, level, -1):
                node = parent_of(tree, below, node)
            expected[document, node] = True
        found = tree.ancestors(pattern(targets), level)
        np.testing.assert_array_equal(found.to_scipy().toarray() > 0, expected)
        assert found.n_stored == expected.sum()


@examples(40)
@given(seed=st.integers(0, 2**32 - 1), n_levels=st.integers(0, 4))
def test_every_way_through_a_tree_tells_the_same(seed, n_levels):
    tree = random_tree(np.random.default_rng(seed), n_levels)
    assert tree.n_levels == n_levels
    n_nodes = [tree.n_nodes(level) for level in range(n_levels + 1)]
    assert (n_nodes[0], n_nodes[-1]) == (1, tree.n_clusters)
    assert tree.n_nodes_below_root == sum(n_nodes[1:])
    for level in range(1, n_levels + 1):
        parents = [parent_of(tree, level, node) for node in range(n_nodes[level])]
        assert tree.parents[level - 1].tolist() == parents
    for cluster in range(tree.n_clusters):
        path = tree.path_to(cluster)
        assert len(path) == n_levels
        for level, node in enumerate(path, start=1):
            assert tree.nodes_above(level)[cluster] == node
            first, last = tree.clusters_below(level)[[node, node + 1]]
            assert first <= cluster < last
    for level in range(n_levels + 1):
        starts = tree.clusters_below(level)
        assert (len(starts), starts[0], starts[-1]) == (n_nodes[level] + 1, 0, tree.n_clusters)


def test_trees_are_equal_if_all_their_levels_are():
    tree = LabelTree.uniform(2, 3)
    assert tree == LabelTree.uniform(2, 3)
    assert tree == LabelTree((np.array([0, 2]), np.array([0, 3, 6])))
    others = LabelTree((np.array([0, 2]), np.array([0, 2, 6]))), LabelTree.uniform(2), LabelTree()
    assert all(tree != other for other in others)
    assert tree != (2, 3)


@pytest.mark.parametrize(
    "levels",
    [
        [[0]],
        [[1, 2]],
        [[0, -1]],
        [[0, 0]],
        [[0, 2, 4]],
        [[0, 2], [0, 2]],
        [[0, 2], [0, 3, 2]],
        [[0, 2], [0, 0, 0]],
    ],
    ids=str,
)
def test_levels_that_do_not_fit_together_are_refused(levels):
    with pytest.raises(ValueError, match="does not say where the children of its"):
        LabelTree(tuple(np.array(starts) for starts in levels))


def test_levels_of_other_types_are_refused_by_their_type():
    for levels in ((np.array([0.0, 2.0]),), ([0, 2],), (np.array([0, 2], dtype=np.int32),)):
        with pytest.raises(ValueError, match="level 0 of the tree must be an array of int64"):
            LabelTree(levels)


def test_there_is_no_path_to_a_cluster_that_is_not_there():
    for cluster in (-1, 4):
        with pytest.raises(IndexError, match=f"no cluster {cluster}; the last is 3"):
            LabelTree.uniform(2, 2).path_to(cluster)


def test_ways_through_an_uneven_tree_are_those_found_by_hand():
    # The root has two children with one and three clusters.
    tree = LabelTree((np.array([0, 2]), np.array([0, 1, 4])))
    assert [tree.path_to(cluster) for cluster in range(4)] == [[0, 0], [1, 1], [1, 2], [1, 3]]
    assert [parents.tolist() for parents in tree.parents] == [[0, 0], [0, 1, 1, 1]]
    below = [tree.clusters_below(level).tolist() for level in range(3)]
    assert below == [[0, 4], [0, 1, 4], [0, 1, 2, 3, 4]]
