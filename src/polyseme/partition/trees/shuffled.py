"""The random tree: of the balanced one's shape, with labels anywhere. To compare with."""

from __future__ import annotations

import numpy as np

from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree

__all__ = ["build"]


def build(
    documents: Documents,
    Y: SparsePattern,
    branching: int = 32,
    max_leaf_size: int = 100,
    run: Run | None = None,
) -> tuple[LabelTree, LabelClusters]:
    """Share out the labels at random, evenly.

    Parameters
    ----------
    documents : Documents
        What they are about does not matter here.
    Y : SparsePattern, shape (n_documents, n_labels)
        Only the number of labels counts.
    branching, max_leaf_size : int
        See `LabelTree.shape_for`.
    run : Run, optional
        Its seed decides.

    Returns
    -------
    tree : LabelTree
    clusters : LabelClusters
        The leaves: every label in exactly one cluster.
    """
    tree = LabelTree.shape_for(Y.n_columns, branching, max_leaf_size)
    order = np.random.default_rng((run or Run()).seed).permutation(Y.n_columns)
    cluster_of_label = np.empty(Y.n_columns, dtype=np.int64)
    cluster_of_label[order] = np.arange(Y.n_columns) * tree.n_clusters // Y.n_columns
    return tree, LabelClusters.from_partition(cluster_of_label, tree.n_clusters)
