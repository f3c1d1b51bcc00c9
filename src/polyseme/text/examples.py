"""Beginnings of training texts for each meaning of a label, so that a model can show them.

A label that is shown with senses has a meaning for each of them, every other label has one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.inputs.documents import Documents
from polyseme.inputs.excerpts import excerpt
from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.brief import briefly
from polyseme.partition.label_clusters import LabelClusters
from polyseme.senses.best_slots import best_slots
from polyseme.senses.layer import SHOWN_FROM

__all__ = ["Examples", "best_documents", "first_of_each", "meanings_of", "surest_pairs"]

DOCUMENTS_AT_ONCE = 8192
EXCERPT = 200

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Examples:
    """A few excerpts for each meaning.

    Attributes
    ----------
    meanings : ndarray of int64, shape (n_labels + 1,)
        The meanings of label ``l`` are ``meanings[l]`` to ``meanings[l + 1]``, one or more.
    starts : ndarray of int64, shape (n_meanings + 1,)
        The excerpts of meaning ``m`` are ``documents[starts[m]:starts[m + 1]]``, surest first.
    documents : ndarray of int64
        Positions in `texts`.
    texts : Names
    """

    meanings: Integers
    starts: Integers
    documents: Integers
    texts: Names

    __repr__ = briefly

    def of(self, label: int, place: int | None = None) -> list[str]:
        """Return the excerpts of a label, or of the one of its senses that is at a place.

        There are none of a sense that the label was not shown with.
        """
        first, end = int(self.meanings[label]), int(self.meanings[label + 1])
        if place is not None:
            if end - first < 2 or not 0 <= place < end - first:
                return []
            first, end = first + place, first + place + 1
        own = self.documents[self.starts[first] : self.starts[end]]
        return [str(self.texts[int(document)]) for document in own]

    @classmethod
    def collect(
        cls, meanings: Integers, starts: Integers, documents: Integers, texts: Iterable[str]
    ) -> Examples:
        """Walk through the texts once more for the excerpts of the chosen documents.

        Parameters
        ----------
        meanings, starts, documents : ndarray of int64
            As `best_documents` gives them, `documents` counted as `texts` are.
        """
        wanted, places = np.unique(documents, return_inverse=True)
        is_wanted = set(wanted.tolist())
        excerpts = [excerpt(text, EXCERPT) for i, text in enumerate(texts) if i in is_wanted]
        if len(excerpts) != len(wanted):
            raise ValueError("the texts changed while they were read; try again.")
        return cls(meanings, starts, places.astype(np.int64), Names.from_list(excerpts))

    @classmethod
    def of_slots(
        cls, starts: Integers, documents: Integers, texts: Names, clusters: LabelClusters
    ) -> Examples:
        """Return what was kept for each slot, as before format 3, as the labels' own."""
        label = np.repeat(clusters.labels, np.diff(starts))
        order = np.argsort(label, kind="stable")
        n_labels = clusters.n_labels
        return cls(np.arange(n_labels + 1), _starts(label, n_labels), documents[order], texts)

    def entries(self) -> tuple[Integers, Integers]:
        """Return the label of each of `documents`, and its place among the label's meanings."""
        meaning = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        label = np.searchsorted(self.meanings, meaning, side="right") - 1
        return label, meaning - self.meanings[label]


def meanings_of(classifier: PartitionedClassifier) -> Integers:
    """Return where the meanings of each label start, shape (n_labels + 1,)."""
    layer, n_labels = classifier.senses_, classifier.n_labels_
    starts = np.arange(n_labels + 1)
    if layer is not None:
        np.cumsum(layer.senses_by_label(n_labels), out=starts[1:])
    return starts


def best_documents(
    classifier: PartitionedClassifier, X: Documents, Y: SparsePattern, n_each: int
) -> tuple[Integers, Integers, Integers]:
    """Choose training documents for each meaning.

    Those of a sense are its most typical ones, those of a label with one meaning are the surest.

    Returns
    -------
    meanings : ndarray of int64, shape (n_labels + 1,)
    starts : ndarray of int64, shape (n_meanings + 1,)
    rows : ndarray of int64
        Rows of X, best first within a meaning.
    """
    meanings = meanings_of(classifier)
    is_only = np.diff(meanings) == 1
    rows, labels = surest_pairs(classifier, X, Y)
    kept = is_only[labels]
    rows, found = rows[kept], meanings[labels[kept]]
    layer = classifier.senses_
    if layer is not None:
        typical = layer.typical[
            np.repeat(layer.probabilities >= SHOWN_FROM, np.diff(layer.starts))
        ]
        of_senses = np.flatnonzero(~np.repeat(is_only, np.diff(meanings)))
        found = np.append(found, np.repeat(of_senses, typical.shape[1])[typical.ravel() >= 0])
        rows = np.append(rows, typical[typical >= 0])
    return meanings, *first_of_each(found, rows, int(meanings[-1]), n_each)


def surest_pairs(
    classifier: PartitionedClassifier, X: Documents, Y: SparsePattern
) -> tuple[Integers, Integers]:
    """Return all pairs of a row and one of its labels, by how sure the matcher is of them."""
    rows, scores = [], []
    for begin in range(0, X.n_rows, DOCUMENTS_AT_ONCE):
        end = min(begin + DOCUMENTS_AT_ONCE, X.n_rows)
        labels = Y.rows(begin, end)
        document = np.repeat(np.arange(end - begin), np.diff(labels.starts))
        matched = classifier.match(X.rows(begin, end))
        scores.append(best_slots(matched, classifier.clusters_, document, labels.columns)[1])
        rows.append(document + begin)
    order = np.argsort(-np.concatenate(scores), kind="stable")
    return np.concatenate(rows)[order], Y.columns[order].astype(np.int64)


def first_of_each(
    groups: Integers, items: Integers, n_groups: int, n_each: int
) -> tuple[Integers, Integers]:
    """Return where the items of each group start, and the first few of each group."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    kept = order[np.arange(len(ordered)) - np.searchsorted(ordered, ordered) < n_each]
    return _starts(groups[kept], n_groups), items[kept]


def _starts(groups: npt.NDArray[Any], n_groups: int) -> Integers:
    starts = np.zeros(n_groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(groups, minlength=n_groups), out=starts[1:])
    return starts
