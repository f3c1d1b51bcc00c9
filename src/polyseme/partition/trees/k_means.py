"""The k-means tree: wide and uneven; as shallow as Bonsai's, or as deep as it takes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import MAX_DOCUMENTS, MAX_FEATURES, LabelTree, most_levels

__all__ = ["build", "build_shallow", "expected_shape", "shallow_levels"]

SAMPLED_PER_CHILD = 64


def build(
    documents: Documents,
    Y: SparsePattern,
    branching: int = 100,
    max_leaf_size: int = 100,
    run: Run | None = None,
    *,
    max_features: int = MAX_FEATURES,
    max_documents: int = MAX_DOCUMENTS,
    sample_size: int | None = None,
    max_iter: int = 10,
    max_levels: int | None = None,
) -> tuple[LabelTree, LabelClusters]:
    """Split the labels by recursive spherical k-means on their features.

    A node with more than `max_leaf_size` labels gets `branching` children, or one for each label
    if it has fewer, whose sizes are as they fall; a child that nobody is nearest to is left out.
    Labels that nothing tells apart are shared out evenly.

    Parameters
    ----------
    documents : Documents
    Y : SparsePattern, shape (n_documents, n_labels)
    branching : int
        Most children of a node.
    max_leaf_size : int
        Nodes with more labels are split, unless they are as deep as can be.
    run : Run, optional
        Each split has a random stream of its own; progress counts labels.
    max_features, max_documents : int
        What counts of a label, see `polyseme.partition.trees.balanced.build`.
    sample_size : int, optional
        Where more labels are to be split, an even sample of so many finds the centroids, which two
        rounds with all labels then improve; by default 64 for each child.
    max_iter : int
        Most iterations of a split.
    max_levels : int, optional
        Most levels below the root, by default `most_levels`; a leaf there may be larger.

    Returns
    -------
    tree : LabelTree
    clusters : LabelClusters
        The leaves: every label in exactly one cluster.
    """
    run = run or Run()
    n_parts = -(-Y.n_columns // max_leaf_size)
    parents, leaf_of_label = _native.group_labels(
        documents,
        Y.transpose(),
        branching=branching,
        max_leaf_size=max_leaf_size,
        max_levels=most_levels(n_parts, branching) if max_levels is None else max_levels,
        max_features=max_features,
        max_documents=max_documents,
        sample_size=SAMPLED_PER_CHILD * branching if sample_size is None else sample_size,
        max_iter=max_iter,
        seed=run.seed,
        n_threads=run.n_threads,
        progress=run.progress,
    )
    tree, cluster_of_node = LabelTree.from_parents(parents)
    return tree, LabelClusters.from_partition(cluster_of_node[leaf_of_label], tree.n_clusters)


def build_shallow(
    documents: Documents,
    Y: SparsePattern,
    branching: int = 100,
    max_leaf_size: int = 100,
    run: Run | None = None,
) -> tuple[LabelTree, LabelClusters]:
    """Split the labels as Bonsai does: what few levels leave together stays together.

    Parameters and results are those of `build`, with `shallow_levels`. Clusters of labels that are
    like no others may be much larger than `max_leaf_size`.
    """
    n_levels = shallow_levels(-(-Y.n_columns // max_leaf_size), branching)
    return build(documents, Y, branching, max_leaf_size, run, max_levels=n_levels)


def shallow_levels(n_leaves: int, branching: int) -> int:
    """Return how deep a shallow tree may be: as deep as an even one, two levels at least."""
    n_levels = 2
    while branching**n_levels < n_leaves:
        n_levels += 1
    return n_levels


def expected_shape(
    label_counts: npt.NDArray[np.int64], branching: int, max_leaf_size: int
) -> LabelTree:
    """Return the shape that the tree would have if all children were equally large."""
    fan_outs = []
    n_left = float(len(label_counts))
    while n_left > max_leaf_size:
        fan_outs.append(min(branching, max(2, round(n_left))))
        n_left /= fan_outs[-1]
    return LabelTree.uniform(*fan_outs)
