"""How labels divide in a space of documents and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.run import Run
from polyseme.senses.space import whitened, with_unit_rows

__all__ = ["SenseSpace", "Splits", "groups_of"]

MAX_DOCUMENTS = 300  # of a label that are looked at to split it

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Splits:
    """How groups of labels divide into two, three, four and five parts.

    Attributes
    ----------
    looked_at : SparsePattern, shape (n_groups, n_documents)
        The documents of each group that were split.
    parts : ndarray of int8, shape (n_looked_at, 4)
        The part of each of these in the partition into two parts, three, and so on; -1 where
        there is none.
    alikeness : ndarray of float32, shape (n_groups, 4)
        Of the two most similar parts of each partition: the mean similarity of documents across
        them, as a share of that within them. Infinite where there is no partition.
    by_labels : ndarray of bool, shape (n_groups,)
        Whether the other labels of documents had a say; else there were too few.
    similarity : ndarray of float32, shape (n_groups, 7)
        Of the partition in two, mean similarities: of texts across, of other labels across, of
        texts within each part, of other labels within each part; and how even the parts are.
    """

    looked_at: SparsePattern
    parts: npt.NDArray[np.int8]
    alikeness: Floats
    by_labels: npt.NDArray[np.bool_]
    similarity: Floats

    def __len__(self) -> int:
        return len(self.alikeness)

    def take(self, kept: npt.NDArray[np.bool_]) -> Splits:
        """Return some of the groups."""
        return Splits(
            self.looked_at.take(np.flatnonzero(kept)),
            self.parts[np.repeat(kept, self.sizes)],
            self.alikeness[kept],
            self.by_labels[kept],
            self.similarity[kept],
        )

    @property
    def sizes(self) -> Integers:
        """How many documents of each group were looked at."""
        return np.diff(self.looked_at.starts)

    @property
    def coherence(self) -> Floats:
        """How similar documents are within the two parts; 0 without a partition."""
        _, _, *within, _ = self.similarity.T
        of_parts = [np.maximum(0, within[i] + within[i + 2]) / 2 for i in (0, 1)]
        return np.where(self.is_split, np.sqrt(of_parts[0] * of_parts[1]), 0)

    @property
    def is_split(self) -> npt.NDArray[np.bool_]:
        """Whether there is a partition at all."""
        return np.isfinite(self.alikeness[:, 0])


@dataclass(frozen=True, eq=False)
class SenseSpace:
    """Documents and labels in one whitened space.

    Attributes
    ----------
    documents : ndarray of float32, shape (n_documents, n_dimensions)
        At unit length.
    labels_of : SparsePattern, shape (n_documents, n_labels)
    run : Run
    """

    documents: Floats
    labels_of: SparsePattern
    run: Run

    @classmethod
    def gather(cls, documents: Documents, Y: SparsePattern, run: Run) -> SenseSpace:
        """Bring documents into the space."""
        return cls(whitened(documents, run), Y, run)

    @cached_property
    def documents_of(self) -> SparsePattern:
        """The documents of each label, shape (n_labels, n_documents)."""
        return self.labels_of.transpose()

    @cached_property
    def counts(self) -> Integers:
        """How many documents each label has."""
        return np.diff(self.documents_of.starts)

    @cached_property
    def rarity(self) -> Floats:
        """What a label says about a document: more if it is rare, shape (n_labels,)."""
        n_documents = max(1, self.labels_of.n_rows)
        found: Floats = np.log(n_documents / np.maximum(1, self.counts)).astype(np.float32)
        return found

    @cached_property
    def weighted_labels(self) -> SparseRows:
        """The labels of documents, rare ones counting more, shape (n_documents, n_labels)."""
        labels_of = self.labels_of
        values = np.maximum(self.rarity[labels_of.columns], 1e-6)
        return SparseRows(labels_of.starts, labels_of.columns, values, labels_of.n_columns)

    @cached_property
    def labels(self) -> Floats:
        """The mean direction of each label's documents, as long as it is rare."""
        documents_of = Documents(_with_ones(self.documents_of))
        sums = _native.multiply_rows(documents_of, self.documents, self.run.n_threads)
        return with_unit_rows(sums) * self.rarity[:, None]

    def split(self, groups: SparsePattern, documents_of: SparsePattern | None = None) -> Splits:
        """Split groups of labels, shape (n_groups, n_labels), each taken for one label.

        With `documents_of`, shape (n_labels, n_documents), labels have these documents instead of
        their own.
        """
        found = _native.split_groups(
            self.documents,
            self.labels,
            self.labels_of,
            self.documents_of if documents_of is None else documents_of,
            groups,
            max_documents=MAX_DOCUMENTS,
            seed=self.run.seed,
            n_threads=self.run.n_threads,
            progress=self.run.progress,
        )
        looked_at = SparsePattern(found["starts"], found["documents"], self.labels_of.n_rows)
        return Splits(
            looked_at,
            found["parts"],
            found["alikeness"],
            found["by_labels"].astype(bool),
            found["similarity"],
        )

    def assign(
        self, labels: npt.NDArray[np.int32], looked_at: SparsePattern, parts: npt.NDArray[np.int8]
    ) -> tuple[npt.NDArray[np.int8], Floats]:
        """Return the part of every document of some labels, and how near it is to its middle.

        Both in the order of the documents of each label, one label after the other.
        """
        return _native.assign_documents(
            self.documents,
            self.labels,
            self.labels_of,
            self.documents_of,
            labels,
            looked_at,
            parts,
            n_threads=self.run.n_threads,
        )


def groups_of(groups: Sequence[Sequence[int]], n_labels: int) -> SparsePattern:
    """Return groups of labels as rows."""
    starts = np.zeros(len(groups) + 1, dtype=np.int64)
    np.cumsum([len(group) for group in groups], out=starts[1:])
    columns = [label for group in groups for label in sorted(group)]
    return SparsePattern(starts, np.array(columns, dtype=np.int32), n_labels)


def _with_ones(pattern: SparsePattern) -> SparseRows:
    ones = np.ones(pattern.n_stored, dtype=np.float32)
    return SparseRows(pattern.starts, pattern.columns, ones, pattern.n_columns)
