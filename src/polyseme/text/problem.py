"""From texts with labels to matrices, in two passes, held-out documents last."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.files.origin import Fingerprint
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.progress import Progress
from polyseme.machine.quantities import counted
from polyseme.text.corpora.records import Record
from polyseme.text.features import TextFeatures, in_batches
from polyseme.text.given import checked_labels, require_list, require_text

__all__ = ["Pairs", "TextProblem", "as_new_documents", "held_out_last", "read_problem"]

TEXTS_AT_ONCE = 512


@dataclass(frozen=True, eq=False)
class TextProblem:
    """Features and labels of all documents that have labels.

    Attributes
    ----------
    X : SparseRows, shape (n_documents, n_features)
        Held-out documents are the last rows, so that the others are a view and not a copy.
    Y : SparsePattern, shape (n_documents, n_labels)
    labels : list of str
        The label of each column of Y, sorted.
    documents : ndarray of int64, shape (n_documents,)
        Which of the documents with labels each row is, in the order of the records.
    n_held_out : int
    n_without_labels : int
        Documents that were left out because they have no label.
    texts : list of str or None
        The text of each row, where the classifier reads them.
    fingerprint : str
        A hash of the texts and labels.
    """

    X: SparseRows
    Y: SparsePattern
    labels: list[str]
    documents: npt.NDArray[np.int64]
    n_held_out: int
    n_without_labels: int
    texts: list[str] | None = None
    fingerprint: str = ""

    @property
    def n_training(self) -> int:
        """Number of documents that are not held out."""
        return self.X.n_rows - self.n_held_out

    def rows(self, first: int, last: int) -> Documents:
        """Return documents ``first`` to ``last`` (excluded) as the classifier takes them."""
        return Documents(self.X, texts=self.texts).rows(first, last)

    def held_out_as_new(self) -> Documents:
        """Return the held-out documents as they would look had nobody counted their words."""
        first, last = self.n_training, self.X.n_rows
        features = as_new_documents(self.X.rows(first, last), self.X.rows(0, first))
        return Documents(features, texts=self.rows(first, last).texts)


def read_problem(
    records: Iterable[Record],
    features: TextFeatures,
    *,
    count_held_out: Callable[[int], int],
    seed: int,
    progress: Progress,
    keep_texts: bool = False,
) -> TextProblem:
    """Count words and labels in a first pass and compute features in a second one.

    Parameters
    ----------
    records : iterable of Record
        Can be walked through again, and then gives the same.
    features : TextFeatures
        Is fitted.
    count_held_out : callable
        From the number of documents to the number of those to hold out.
    keep_texts : bool
        Whether the texts are kept as well, all of them in memory, for whoever reads them.
    """
    if iter(records) is records:
        raise ValueError(
            "the texts can be walked through only once, but two passes are needed; give a list, "
            "or an object whose __iter__ starts again."
        )
    with progress.phase("Counting words and labels") as step:
        counts = features.counting()
        labels, fingerprint = _LabelLists(), Fingerprint()
        n_blank = 0
        for record in records:
            if record.labels:
                counts.add(record.text)
                n_blank += not record.text.strip()
                labels.add(record.labels)
                fingerprint.add(record.text, record.labels)
                if counts.n_documents % TEXTS_AT_ONCE == 0:
                    step(counts.n_documents)
            else:
                labels.n_empty += 1
        if counts.n_documents == 0:
            raise ValueError(_nothing_to_learn(labels.n_empty))
        if n_blank:
            warnings.warn(
                f"{counted(n_blank, 'document')} with labels had no text; is a column empty?",
                stacklevel=2,
            )
        features.learn(counts)
        del counts
        Y, names = labels.to_pattern()

    n_documents = Y.n_rows
    n_held_out = count_held_out(n_documents)
    order = held_out_last(n_documents, n_held_out, seed)
    is_held_out = np.zeros(n_documents, dtype=np.bool_)
    is_held_out[order[n_documents - n_held_out :]] = True
    with progress.phase("Computing features", total=n_documents) as step:
        training = RowBuffer(features.n_features_)
        held_out = RowBuffer(features.n_features_)
        n_done = 0
        kept: list[str] = []
        texts = (record.text for record in records if record.labels)
        for batch in in_batches(texts, TEXTS_AT_ONCE):
            rows = features.rows(batch).to_scipy()
            kept.extend(batch if keep_texts else ())
            apart = is_held_out[n_done : n_done + len(batch)]
            n_done += len(batch)
            if len(apart) == len(batch):
                training.append(rows[~apart] if apart.any() else rows)
                held_out.append(rows[apart])
            step(n_done)
        if n_done != n_documents:
            raise ValueError("the texts changed while they were read; try again.")
        training.append(held_out.rows().to_scipy())
        X = training.rows()
    in_order = [kept[i] for i in order.tolist()] if keep_texts else None
    return TextProblem(
        X, Y.take(order), names, order, n_held_out, labels.n_empty, in_order, str(fingerprint)
    )


def held_out_last(n_documents: int, n_held_out: int, seed: int) -> npt.NDArray[np.int64]:
    """Return all documents in the order of rows: those to learn from, then those held out."""
    order = np.random.default_rng(seed).permutation(n_documents)
    return np.concatenate([np.sort(order[n_held_out:]), np.sort(order[:n_held_out])])


def as_new_documents(held_out: SparseRows, training: SparseRows) -> SparseRows:
    """Return held-out documents as they would look had nobody counted their words.

    A word that no training document has is dropped, as it is from a new document, and rows are
    brought back to unit length.
    """
    seen = np.zeros(held_out.n_columns, dtype=np.bool_)
    seen[training.columns] = True
    kept = seen[held_out.columns]
    n_kept_before = np.zeros(len(kept) + 1, dtype=np.int64)
    np.cumsum(kept, out=n_kept_before[1:])
    starts, values = n_kept_before[held_out.starts], held_out.values[kept]
    row_of_entry = np.repeat(np.arange(held_out.n_rows), np.diff(starts))
    squares = np.bincount(row_of_entry, weights=values**2, minlength=held_out.n_rows)
    lengths = np.sqrt(np.maximum(squares, np.finfo(np.float32).tiny))
    values = (values / lengths[row_of_entry]).astype(np.float32)
    return SparseRows(starts, held_out.columns[kept], values, held_out.n_columns)


class Pairs:
    """Texts and labels side by side, as often as wanted."""

    def __init__(self, texts: Iterable[str], labels: Iterable[Iterable[str]]) -> None:
        for name, given in (("texts", texts), ("labels", labels)):
            require_list(given, name)
            if iter(given) is given:
                raise ValueError(
                    f"{name} can be walked through only once, but two passes are needed; give a "
                    "list, or an object whose __iter__ starts again."
                )
        self._texts, self._labels = texts, labels

    def __iter__(self) -> Iterator[Record]:
        missing = object()
        rows = iter(self._labels)
        n_texts = 0
        for text in self._texts:
            row = next(rows, missing)
            if row is missing:
                raise ValueError(f"there are more texts than lists of labels ({n_texts}).")
            require_text(text, f"text {n_texts}")
            yield Record(text, checked_labels(row, n_texts))
            n_texts += 1
        if next(rows, missing) is not missing:
            raise ValueError(f"there are more lists of labels than texts ({n_texts}).")


class RowBuffer:
    """Sparse rows that grow at the end, without a second copy of all of them."""

    def __init__(self, n_columns: int) -> None:
        self._n_columns = n_columns
        self._n_stored = 0
        self._columns = np.empty(1 << 16, dtype=np.int32)
        self._values = np.empty(1 << 16, dtype=np.float32)
        self._lengths = array("q")

    def append(self, rows: sp.csr_array) -> None:
        end = self._n_stored + rows.nnz
        if end > len(self._columns):
            self._resize(end + end // 2)  # the system moves pages, it does not copy them
        self._columns[self._n_stored : end] = rows.indices
        self._values[self._n_stored : end] = rows.data
        self._n_stored = end
        self._lengths.extend(np.diff(rows.indptr).tolist())

    def rows(self) -> SparseRows:
        """Return all rows; the buffer cannot be used after that."""
        self._resize(self._n_stored)
        starts = np.zeros(len(self._lengths) + 1, dtype=np.int64)
        np.cumsum(self._lengths, out=starts[1:])
        return SparseRows(starts, self._columns, self._values, self._n_columns)

    def _resize(self, n: int) -> None:
        self._columns.resize(n, refcheck=False)
        self._values.resize(n, refcheck=False)


class _LabelLists:
    """The labels of documents as numbers, given in the order in which labels appear."""

    def __init__(self) -> None:
        self.n_empty = 0
        self._number_of: dict[str, int] = {}
        self._numbers = array("i")
        self._lengths = array("q")

    def add(self, labels: Iterable[str]) -> None:
        n_before = len(self._numbers)
        for label in labels:
            self._numbers.append(self._number_of.setdefault(label, len(self._number_of)))
        self._lengths.append(len(self._numbers) - n_before)

    def to_pattern(self) -> tuple[SparsePattern, list[str]]:
        names = sorted(self._number_of)
        column_of: npt.NDArray[Any] = np.empty(len(names), dtype=np.int32)
        column_of[[self._number_of[name] for name in names]] = np.arange(len(names))
        starts = np.zeros(len(self._lengths) + 1, dtype=np.int64)
        np.cumsum(self._lengths, out=starts[1:])
        columns = column_of[np.asarray(self._numbers)]
        ones = np.ones(len(columns), dtype=np.bool_)
        matrix = sp.csr_array((ones, columns, starts), shape=(len(self._lengths), len(names)))
        return SparsePattern.from_scipy(matrix, "labels"), names


def _nothing_to_learn(n_without_labels: int) -> str:
    if n_without_labels == 0:
        return "there are no documents; at least one is needed."
    return (
        f"none of the {n_without_labels} documents has a label, so there is nothing to learn; "
        "check the column of labels."
    )
