"""From scores of slots to scores of labels."""

from __future__ import annotations

import numpy as np

from polyseme.inputs.sparse_rows import SparseRows
from polyseme.partition.label_clusters import LabelClusters

__all__ = ["MERGES", "merge_slots"]

MERGES = ("mean", "sum", "max")


def merge_slots(slot_scores: SparseRows, clusters: LabelClusters, merge: str) -> SparseRows:
    """Merge the visited slots of each label; what is stored was visited, whatever its sign.

    Parameters
    ----------
    slot_scores : SparseRows, shape (n_documents, n_slots)
    merge : str
        'mean' (the paper's way), 'sum' or 'max' over the slots that were visited.

    Returns
    -------
    SparseRows, shape (n_documents, n_labels)
    """
    rows = np.repeat(np.arange(slot_scores.n_rows), np.diff(slot_scores.starts))
    labels = clusters.labels[slot_scores.columns]
    pairs = rows * np.int64(clusters.n_labels) + labels
    distinct, where = np.unique(pairs, return_inverse=True)
    if merge == "max":
        values = np.full(len(distinct), -np.inf, dtype=np.float64)
        np.maximum.at(values, where, slot_scores.values)
    else:
        values = np.zeros(len(distinct), dtype=np.float64)
        np.add.at(values, where, slot_scores.values)
        if merge == "mean":
            values = values / np.bincount(where, minlength=len(distinct))
    starts = np.searchsorted(distinct, np.arange(slot_scores.n_rows + 1) * clusters.n_labels)
    columns = (distinct % clusters.n_labels).astype(np.int32)
    return SparseRows(
        starts.astype(np.int64), columns, values.astype(np.float32), clusters.n_labels
    )
