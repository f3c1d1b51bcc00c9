"""ELIAS' choice of edges: every cluster keeps its strongest labels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polyseme.partition.co_occurrence import CoOccurrence
from polyseme.partition.label_clusters import LabelClusters

__all__ = ["add_strongest"]


def add_strongest(
    counted: CoOccurrence, first: LabelClusters, n_slots: int, max_cluster_size: int
) -> LabelClusters:
    """Fill clusters up with the labels that have most documents there.

    All clusters get the same size, as far as they have candidates, unless they were larger
    before: the largest one that needs no more than `n_slots` in all.

    Parameters
    ----------
    counted : CoOccurrence
    first : LabelClusters
        Slots that are there in any case.
    n_slots : int
        Most slots in the end, those that are there included.
    max_cluster_size : int
        No cluster is filled beyond it.
    """
    counts, scores = counted.counts, counted.scores.data
    label = np.repeat(np.arange(counted.n_labels), np.diff(counts.indptr))
    cluster = counts.indices.astype(np.int64)
    has_slot = first.labels.astype(np.int64) * counted.n_clusters + first.cluster_of_slot
    is_free = ~np.isin(label * counted.n_clusters + cluster, has_slot)
    label, cluster = label[is_free], cluster[is_free]
    order = np.lexsort((label, -scores[is_free], -counts.data[is_free], cluster))
    label, cluster = label[order], cluster[order]
    n_free = np.bincount(cluster, minlength=counted.n_clusters)
    rank = np.arange(len(cluster)) - (np.cumsum(n_free) - n_free)[cluster]
    size = _common_size(first.sizes, n_free, n_slots, max_cluster_size)
    is_chosen = first.sizes[cluster] + rank < size
    slots = np.concatenate(
        [
            np.stack([first.cluster_of_slot.astype(np.int64), first.labels]),
            np.stack([cluster, label])[:, is_chosen],
        ],
        axis=1,
    )
    by_cluster = np.lexsort((slots[1], slots[0]))
    sizes = np.bincount(slots[0], minlength=counted.n_clusters)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return LabelClusters(counted.n_labels, starts, slots[1][by_cluster].astype(np.int32))


def _common_size(
    sizes: npt.NDArray[np.int64], n_free: npt.NDArray[np.int64], n_slots: int, most: int
) -> int:
    """Return the largest size to fill clusters up to, such that there are enough slots."""
    low, high = 0, most
    while low < high:
        size = (low + high + 1) // 2
        if np.maximum(sizes, np.minimum(size, sizes + n_free)).sum() <= n_slots:
            low = size
        else:
            high = size - 1
    return low
