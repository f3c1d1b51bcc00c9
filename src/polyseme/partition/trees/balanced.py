"""The balanced tree: labels, as sums of their documents, are halved again and again."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import MAX_DOCUMENTS, MAX_FEATURES, LabelTree, fan_outs_for

__all__ = ["build", "build_for_seen", "expected_shape", "expected_shape_for_seen"]


def build(
    documents: Documents,
    Y: SparsePattern,
    branching: int = 32,
    max_leaf_size: int = 100,
    run: Run | None = None,
    *,
    max_features: int = MAX_FEATURES,
    max_documents: int = MAX_DOCUMENTS,
    sample_size: int = 1024,
    max_iter: int = 10,
    n_counted: int | None = None,
) -> tuple[LabelTree, LabelClusters]:
    """Split the labels by recursive balanced 2-means on their features.

    A label's features are the normalised sum of the features of its documents: a row of
    ``Y^T X`` (the paper's positive instance feature aggregation). The limits below cost no
    measurable accuracy and save most of the work.

    Parameters
    ----------
    documents : Documents
    Y : SparsePattern, shape (n_documents, n_labels)
    branching, max_leaf_size : int
        See `LabelTree.shape_for`.
    run : Run, optional
        Each split has a random stream of its own; progress counts labels.
    max_features : int
        Only a label's largest features count.
    max_documents : int
        Only so many of a label's documents count, evenly spread over all.
    sample_size : int
        Where more labels are to be split, an even sample of so many finds the two centroids,
        which two rounds with all labels then improve.
    max_iter : int
        Most iterations of a split.
    n_counted : int, optional
        How many labels `max_leaf_size` is for; all by default. A cluster may have a few more where
        they are less than all.

    Returns
    -------
    tree : LabelTree
    clusters : LabelClusters
        The leaves: every label in exactly one cluster.
    """
    n_counted = Y.n_columns if n_counted is None else n_counted
    fan_outs = fan_outs_for(n_counted, branching, max_leaf_size)
    run = run or Run()
    starts, labels = _native.partition_labels(
        documents,
        Y.transpose(),
        fan_outs=list(fan_outs),
        max_features=max_features,
        max_documents=max_documents,
        sample_size=sample_size,
        max_iter=max_iter,
        seed=run.seed,
        n_threads=run.n_threads,
        progress=run.progress,
    )
    return LabelTree.uniform(*fan_outs), LabelClusters(Y.n_columns, starts, labels)


def expected_shape(
    label_counts: npt.NDArray[np.int64], branching: int, max_leaf_size: int
) -> LabelTree:
    """Return the very shape that the tree will have."""
    return LabelTree.shape_for(len(label_counts), branching, max_leaf_size)


def build_for_seen(
    documents: Documents, Y: SparsePattern, branching: int, max_leaf_size: int, run: Run
) -> tuple[LabelTree, LabelClusters]:
    """Build the same tree with room for labels that have documents; others come on top.

    Parabel and what follows it leave the others out. Fewer, larger leaves find more right labels.
    """
    n_seen = len(np.unique(Y.columns))
    return build(documents, Y, branching, max_leaf_size, run, n_counted=n_seen)


def expected_shape_for_seen(
    label_counts: npt.NDArray[np.int64], branching: int, max_leaf_size: int
) -> LabelTree:
    """Return the very shape that the tree for seen labels will have."""
    return LabelTree.shape_for(int(np.count_nonzero(label_counts)), branching, max_leaf_size)
