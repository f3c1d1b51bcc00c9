"""What is known of a document and a label when the slots of the reached clusters are scored.

Backbones that fuse find the same natively (``native/label_ordering.hpp``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.ordering.name_words import NameWords
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.merging import merge_slots

__all__ = [
    "CANDIDATE_SHARE",
    "FACTS",
    "MOST_CANDIDATES",
    "Candidates",
    "candidates_of",
    "log_counts",
    "log_lengths",
]

FACTS = {
    "path": "logarithm of the score of the best slot's cluster",
    "slot": "how far the slot with the best score of its own is short of certain",
    "count": "logarithm of one more than the label's training documents",
    "reached": "number of the label's slots that were reached",
    "tempered": "logarithm of the sum of slots, with the root of their clusters' scores",
    "product": "logarithm of the sum of slots times clusters",
    "length": "logarithm of one more than the document's words",
    "name": "how much of the label's name stands in the document",
}
PLACE_OF = {name: place for place, name in enumerate(FACTS)}
# Candidates are put in order: so many, by their product, and of these no label whose product is
# less than such a share of the best.
MOST_CANDIDATES = 16
CANDIDATE_SHARE = np.float32(1 / 400)
LEAST_SCORE = 1e-30

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Candidates:
    """The labels of documents with the best products, and what is known of each.

    Attributes
    ----------
    labels : ndarray of int32, shape (n_documents, n)
        Best product first, padded with -1.
    facts : ndarray of float32, shape (n_documents, n, n_facts)
        In the order of `FACTS`; anything where there is no label.
    n_candidates : ndarray of int64, shape (n_documents,)
        How many of the labels, the first, are put in order.
    """

    labels: npt.NDArray[np.int32]
    facts: Floats
    n_candidates: npt.NDArray[np.int64]

    @property
    def is_candidate(self) -> npt.NDArray[np.bool_]:
        """Which labels are put in order: bool, shape (n_documents, n)."""
        found: npt.NDArray[np.bool_] = (
            np.arange(self.labels.shape[1]) < self.n_candidates[:, np.newaxis]
        )
        return found

    @classmethod
    def stack(cls, parts: Sequence[Candidates]) -> Candidates:
        """Return those of all parts, which have as many labels per document."""
        return cls(
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.facts for part in parts]),
            np.concatenate([part.n_candidates for part in parts]),
        )


def log_counts(label_counts: npt.NDArray[np.int64]) -> Floats:
    """Return the fact 'count' of each label."""
    return np.log1p(label_counts).astype(np.float32)


def log_lengths(documents: Documents) -> Floats:
    """Return the fact 'length' of each document; of a dense block it says nothing."""
    if documents.sparse is None:
        return np.zeros(documents.n_rows, dtype=np.float32)
    return np.log1p(np.diff(documents.sparse.starts)).astype(np.float32)


def candidates_of(
    matched: SparseRows,
    slot_scores: SparseRows,
    clusters: LabelClusters,
    counts: Floats,
    documents: Documents,
    merge: str,
    n: int,
    words: NameWords | None = None,
) -> Candidates:
    """Return the n best labels of each document with their facts.

    Parameters
    ----------
    matched : SparseRows, shape (n_documents, n_clusters)
    slot_scores : SparseRows, shape (n_documents, n_slots)
        Of the matched clusters, their scores multiplied in.
    counts : ndarray of float32, shape (n_labels,)
    documents : Documents
        What all of this is about.
    merge : str
        How the scores of a label's slots become the product that candidates are chosen by.
    words : NameWords, optional
        Without these nothing is known of names.
    """
    rows = np.repeat(np.arange(slot_scores.n_rows), np.diff(slot_scores.starts))
    scores = slot_scores.values.astype(np.float64)
    cluster = np.repeat(np.arange(clusters.n_clusters), clusters.sizes)[slot_scores.columns]
    path = _values_at(matched, rows, cluster)
    # In single precision, as natively: the root of a logarithm near 0 shows every rounding.
    own = np.zeros_like(slot_scores.values)
    np.divide(slot_scores.values, path, out=own, where=path > 0)
    own = np.minimum(own, 1)

    merged = merge_slots(slot_scores, clusters, merge)
    n_pairs = len(merged.columns)
    pair_rows = np.repeat(np.arange(merged.n_rows), np.diff(merged.starts))
    key = pair_rows * np.int64(clusters.n_labels) + merged.columns
    labels = clusters.labels[slot_scores.columns]
    pair = np.searchsorted(key, rows * np.int64(clusters.n_labels) + labels)
    best = np.lexsort((slot_scores.columns, -scores, pair))
    best = best[np.unique(pair[best], return_index=True)[1]]
    most = np.zeros(n_pairs)
    np.maximum.at(most, pair, own)
    columns = {
        "path": _log(path[best]),
        "slot": np.cbrt(-_log(most)),
        "count": counts[merged.columns],
        "reached": np.bincount(pair, minlength=n_pairs),
        "tempered": _log(np.bincount(pair, np.sqrt(path) * own, n_pairs)),
        "product": _log(np.bincount(pair, scores, n_pairs)),
        "length": log_lengths(documents)[pair_rows],
    }
    order = np.lexsort((merged.columns, -merged.values, pair_rows))
    place = np.arange(n_pairs) - merged.starts[pair_rows]  # rows stay together in the order
    best_product = merged.values[order[merged.starts[pair_rows]]]
    near = (merged.values[order] >= CANDIDATE_SHARE * best_product) | (place == 0)
    n_near = np.bincount(pair_rows[near], minlength=merged.n_rows)
    kept, place = order[place < n], place[place < n]
    found = np.full((merged.n_rows, n), -1, dtype=np.int32)
    facts = np.zeros((merged.n_rows, n, len(FACTS)), dtype=np.float32)
    found[pair_rows[kept], place] = merged.columns[kept]
    for name, column in columns.items():
        facts[pair_rows[kept], place, PLACE_OF[name]] = column[kept]
    if words is not None:
        found_words = words.found(documents, pair_rows[kept], merged.columns[kept])
        facts[pair_rows[kept], place, PLACE_OF["name"]] = found_words
    return Candidates(found, facts, np.minimum(n_near, min(n, MOST_CANDIDATES)))


def _values_at(
    matched: SparseRows, rows: npt.NDArray[np.int64], columns: npt.NDArray[np.int64]
) -> Floats:
    """Return the values of a matrix, whose columns need not ascend, at entries that it has."""
    of_entry = np.repeat(np.arange(matched.n_rows), np.diff(matched.starts))
    keys = of_entry * np.int64(matched.n_columns) + matched.columns
    order = np.argsort(keys)
    place = np.searchsorted(keys, rows * np.int64(matched.n_columns) + columns, sorter=order)
    return matched.values[order[place]]


def _log(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = np.log(np.fmax(values, LEAST_SCORE))
    return found
