"""Beginnings of training texts for each slot, so that a model can show what its senses are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.inputs.excerpts import excerpt
from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.senses.best_slots import best_slots

__all__ = ["Examples", "best_documents"]

DOCUMENTS_AT_ONCE = 8192
EXCERPT = 200

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Examples:
    """A few excerpts for each slot.

    Attributes
    ----------
    starts : ndarray of int64, shape (n_slots + 1,)
        Those of slot ``s`` are ``documents[starts[s]:starts[s + 1]]``, surest first.
    documents : ndarray of int64
        Positions in `texts`.
    texts : Names
    """

    starts: Integers
    documents: Integers
    texts: Names

    def of(self, slot: int) -> list[str]:
        """Return the excerpts of a slot."""
        own = self.documents[self.starts[slot] : self.starts[slot + 1]]
        return [str(self.texts[int(document)]) for document in own]

    @classmethod
    def collect(cls, starts: Integers, documents: Integers, texts: Iterable[str]) -> Examples:
        """Walk through the texts once more for the excerpts of the chosen documents.

        Parameters
        ----------
        starts, documents : ndarray of int64
            As `best_documents` gives them, `documents` counted as `texts` are.
        """
        wanted, places = np.unique(documents, return_inverse=True)
        is_wanted = set(wanted.tolist())
        excerpts = [excerpt(text, EXCERPT) for i, text in enumerate(texts) if i in is_wanted]
        if len(excerpts) != len(wanted):
            raise ValueError("the texts changed while they were read; try again.")
        return cls(starts, places.astype(np.int64), Names.from_list(excerpts))

    def check(self, n_slots: int) -> None:
        """Refuse what does not fit a model of so many slots."""
        n_found, starts = len(self.documents), self.starts
        sound = (
            len(starts) == n_slots + 1
            and starts[0] == 0
            and starts[-1] == n_found
            and bool((np.diff(starts) >= 0).all())
            and (
                n_found == 0
                or bool(self.documents.min() >= 0 and self.documents.max() < len(self.texts))
            )
        )
        if not sound:
            raise ValueError("its examples do not fit its slots")


def best_documents(
    classifier: PartitionedClassifier, X: SparseRows, Y: SparsePattern, n_each: int
) -> tuple[Integers, Integers]:
    """Choose documents for each slot: the surest of those that go to it.

    Returns
    -------
    starts : ndarray of int64, shape (n_slots + 1,)
    rows : ndarray of int64
        Rows of X, surest first within a slot.
    """
    clusters = classifier.clusters_
    slots, rows, scores = [], [], []
    for begin in range(0, X.n_rows, DOCUMENTS_AT_ONCE):
        end = min(begin + DOCUMENTS_AT_ONCE, X.n_rows)
        matched = classifier.match(X.rows(begin, end))
        labels = Y.rows(begin, end)
        document = np.repeat(np.arange(end - begin), np.diff(labels.starts))
        slot, score = best_slots(matched, clusters, document, labels.columns)
        is_reached = slot >= 0
        slots.append(slot[is_reached])
        rows.append(document[is_reached] + begin)
        scores.append(score[is_reached])
    return _first_of_each(
        np.concatenate(slots),
        np.concatenate(rows),
        np.concatenate(scores),
        clusters.n_slots,
        n_each,
    )


def _first_of_each(
    slots: Integers,
    rows: Integers,
    scores: npt.NDArray[np.float64],
    n_slots: int,
    n_each: int,
) -> tuple[Integers, Integers]:
    order = np.lexsort((rows, -scores, slots))
    ordered = slots[order]
    rank = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    kept = order[rank < n_each]
    starts = np.zeros(n_slots + 1, dtype=np.int64)
    np.cumsum(np.bincount(slots[kept], minlength=n_slots), out=starts[1:])
    return starts, rows[kept].astype(np.int64)
