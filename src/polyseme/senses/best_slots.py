"""The slot that a document goes to: of a label's slots the one that scores best."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.inputs.sparse_rows import SparseRows
from polyseme.partition.label_clusters import LabelClusters

__all__ = ["best_slots"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def best_slots(
    scores: SparseRows,
    clusters: LabelClusters,
    documents: npt.NDArray[Any],
    labels: npt.NDArray[Any],
    *,
    by_slot: bool = False,
) -> tuple[Integers, Floats]:
    """Return the slot that each document goes to for one of its labels.

    Parameters
    ----------
    scores : SparseRows, shape (n_documents, n_clusters), or (n_documents, n_slots)
        What a matcher gives, or, with `by_slot`, what a ranker gives.
    clusters : LabelClusters
    documents, labels : ndarray of int, shape (n_pairs,)
        Pairs of a document and a label.

    Returns
    -------
    slots : ndarray of int64, shape (n_pairs,)
        Of several that score alike the first; -1 where no slot was reached.
    scores : ndarray of float64, shape (n_pairs,)
        Minus infinity where no slot was reached.
    """
    # Each pair with each slot of its label, then looked up among the scores.
    slots_by_label = np.argsort(clusters.labels, kind="stable")
    first_of_label = np.cumsum(clusters.copies) - clusters.copies
    copies = clusters.copies[labels]
    first_of_pair = np.cumsum(copies) - copies
    pair = np.repeat(np.arange(len(labels)), copies)
    nth = np.arange(len(pair)) - first_of_pair[pair]
    slot = slots_by_label[first_of_label[labels][pair] + nth]
    score = _looked_up(
        scores, np.asarray(documents)[pair], slot if by_slot else clusters.cluster_of_slot[slot]
    )
    order = np.lexsort((slot, -score, pair))  # best first within each pair
    found = np.full(len(labels), -1, dtype=np.int64)
    found_score = np.full(len(labels), -np.inf)
    has_slots = copies > 0
    best = order[first_of_pair[has_slots]]
    found[has_slots] = np.where(np.isfinite(score[best]), slot[best], -1)
    found_score[has_slots] = score[best]
    return found, found_score


def _looked_up(scores: SparseRows, row: npt.NDArray[Any], column: npt.NDArray[Any]) -> Floats:
    """Return entries; minus infinity where nothing is stored, since scores may be negative."""
    n = np.int64(scores.n_columns)
    stored_rows = np.repeat(np.arange(scores.n_rows), np.diff(scores.starts))
    stored = stored_rows * n + scores.columns
    if len(stored) == 0:
        return np.full(len(row), -np.inf)
    wanted = row * n + column
    place = np.minimum(np.searchsorted(stored, wanted), len(stored) - 1)
    return np.where(stored[place] == wanted, scores.values[place], -np.inf)
