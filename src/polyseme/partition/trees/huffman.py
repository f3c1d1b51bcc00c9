"""The Huffman tree: the more documents labels have, the nearer to the root they are."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree, most_levels

__all__ = ["build", "expected_shape"]


def build(
    documents: Documents,
    Y: SparsePattern,
    branching: int = 32,
    max_leaf_size: int = 100,
    run: Run | None = None,
) -> tuple[LabelTree, LabelClusters]:
    """Build Huffman's tree above groups of labels that have about as many documents.

    With ``max_leaf_size=1`` it is that of the labels. It takes no more than `most_levels`: where
    it would, few documents count as some more until it does not.

    Parameters
    ----------
    documents : Documents
        What they are about does not matter here.
    Y : SparsePattern, shape (n_documents, n_labels)
    branching : int
        Children of a node; one node has fewer if there is no other way.
    max_leaf_size : int
        Most labels of a group.
    run : Run, optional
        There is no chance in it.

    Returns
    -------
    tree : LabelTree
    clusters : LabelClusters
        The groups: every label in exactly one.
    """
    label_counts = np.bincount(Y.columns, minlength=Y.n_columns)
    group_of_label, parents = _grouped(label_counts, branching, max_leaf_size)
    tree, cluster_of_node = LabelTree.from_parents(parents)
    return tree, LabelClusters.from_partition(cluster_of_node[group_of_label], tree.n_clusters)


def expected_shape(
    label_counts: npt.NDArray[np.int64], branching: int, max_leaf_size: int
) -> LabelTree:
    """Return the very shape that the tree will have."""
    return LabelTree.from_parents(_grouped(label_counts, branching, max_leaf_size)[1])[0]


def _grouped(
    label_counts: npt.NDArray[np.int64], branching: int, max_leaf_size: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the group of each label, and the parent of each node; groups are the first nodes."""
    n_labels = len(label_counts)
    n_groups = -(-n_labels // max_leaf_size)
    by_count = np.argsort(-label_counts, kind="stable")
    group_of_label = np.empty(n_labels, dtype=np.int64)
    group_of_label[by_count] = np.arange(n_labels) * n_groups // n_labels
    weights = np.bincount(group_of_label, label_counts).astype(np.int64)
    most, least = most_levels(n_groups, branching), 0
    while True:
        parents = _huffman(np.maximum(weights, least), branching)
        if _depth(parents) <= most or least > weights.max():
            return group_of_label, parents
        least = max(1, 2 * least)


def _huffman(weights: npt.NDArray[np.int64], branching: int) -> npt.NDArray[np.int64]:
    """Return the parent of each node: first the leaves, then what they are merged to, the root."""
    waiting = [(weight, leaf) for leaf, weight in enumerate(weights.tolist())]
    heapq.heapify(waiting)
    parents = [-1] * len(waiting)
    # The first merge takes as many as make all later ones full.
    n_merged = 2 + (len(waiting) - 2) % (branching - 1)
    while len(waiting) > 1:
        merged = [heapq.heappop(waiting) for _ in range(n_merged)]
        for _, node in merged:
            parents[node] = len(parents)
        heapq.heappush(waiting, (sum(weight for weight, _ in merged), len(parents)))
        parents.append(-1)
        n_merged = branching
    return np.array(parents, dtype=np.int64)


def _depth(parents: npt.NDArray[np.int64]) -> int:
    depths = [0] * len(parents)
    above = parents.tolist()
    for node in range(len(above) - 2, -1, -1):  # the root is the last, parents come after children
        depths[node] = depths[above[node]] + 1
    return max(depths)
