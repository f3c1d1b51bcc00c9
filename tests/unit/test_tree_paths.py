"""Ways through label trees, uniform and uneven."""

from types import SimpleNamespace

import numpy as np
import pytest
from polyseme.senses.tree_paths import cluster_starts, parent_of, path_to

from polyseme.partition.label_tree import LabelTree

# The root has two children with one and three clusters.
STARTS = [[0, 2], [0, 1, 4]]
UNEVEN = SimpleNamespace(
    n_levels=2,
    n_nodes=lambda level: [1, 2, 4][level],
    child_starts=lambda level: np.array(STARTS[level]),
)


def test_paths_in_an_uneven_tree_are_those_found_by_hand():
    assert [path_to(UNEVEN, cluster) for cluster in range(4)] == [[0, 0], [1, 1], [1, 2], [1, 3]]
    assert [parent_of(UNEVEN, 1, node) for node in (0, 1)] == [0, 0]


def test_the_clusters_below_the_nodes_of_an_uneven_tree_are_those_found_by_hand():
    assert cluster_starts(UNEVEN, 0).tolist() == [0, 4]
    assert cluster_starts(UNEVEN, 1).tolist() == [0, 1, 4]
    assert cluster_starts(UNEVEN, 2).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("fan_outs", [(), (4,), (2, 4), (2, 4, 8)])
def test_in_a_uniform_tree_they_follow_from_the_fan_outs(fan_outs):
    tree = LabelTree(fan_outs)
    for cluster in range(tree.n_clusters):
        path = path_to(tree, cluster)
        assert path[-1] == cluster
        for level in range(tree.n_levels - 1, 0, -1):
            assert path[level - 1] == path[level] // fan_outs[level]
    for level in range(tree.n_levels + 1):
        below = tree.n_clusters // tree.n_nodes(level)
        expected = np.arange(tree.n_nodes(level) + 1) * below
        np.testing.assert_array_equal(cluster_starts(tree, level), expected)
