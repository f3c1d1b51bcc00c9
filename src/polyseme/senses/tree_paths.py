"""Ways through a label tree, of whatever shape: asked of the starts of each level's children."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polyseme.partition.label_tree import LabelTree

__all__ = ["cluster_starts", "parent_of", "path_to"]


def parent_of(tree: LabelTree, level: int, node: int) -> int:
    """Return the node one level up that a node hangs from; level 1 is just below the root."""
    return int(np.searchsorted(tree.child_starts(level - 1), node, side="right")) - 1


def path_to(tree: LabelTree, cluster: int) -> list[int]:
    """Return the nodes from just below the root to a cluster, which is the last."""
    path = [cluster]
    for level in range(tree.n_levels, 1, -1):
        path.append(parent_of(tree, level, path[-1]))
    return path[::-1]


def cluster_starts(tree: LabelTree, level: int) -> npt.NDArray[np.int64]:
    """Return where the clusters below each node of a level start, shape (n_nodes + 1,)."""
    starts = np.arange(tree.n_nodes(level) + 1, dtype=np.int64)
    for lower in range(level, tree.n_levels):
        starts = tree.child_starts(lower)[starts]
    return starts
