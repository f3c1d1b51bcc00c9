"""Which of a label's senses a document means."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.senses.layer import SHOWN_FROM, SenseLayer

__all__ = ["N_OTHER_LABELS", "name_senses", "weights_of_scores"]

N_OTHER_LABELS = 20  # predicted ones that are looked at

Integers = npt.NDArray[np.int64]


def name_senses(
    layer: SenseLayer,
    documents: SparseRows,
    other_labels: SparseRows,
    document: npt.NDArray[Any],
    label: npt.NDArray[Any],
    *,
    at_least: float = SHOWN_FROM,
    n_threads: int = 1,
) -> Integers:
    """Find the sense of each pair of a document and a label.

    A sense is near to a document by its words, and by the labels that go with it: the cosines of
    both are added.

    Parameters
    ----------
    layer : SenseLayer
    documents : SparseRows, shape (n_documents, n_features)
        What the ranker sees of them.
    other_labels : SparseRows, shape (n_documents, n_labels)
        Labels that documents have, each with a one, or that a model gives them, with
        `weights_of_scores`.
    document, label : ndarray of int, shape (n_pairs,)
    at_least : float
        Labels that are less likely ambiguous have no senses.

    Returns
    -------
    ndarray of int64, shape (n_pairs,)
        The number of the sense in the layer; -1 where the label has none.
    """
    found = np.full(len(label), -1, dtype=np.int64)
    if layer.n_judged == 0 or len(label) == 0:
        return found
    pairs = np.flatnonzero(layer.has_senses(label, at_least))
    if len(pairs) == 0:
        return found
    place = np.searchsorted(layer.labels, label[pairs])
    first, last = layer.starts[place], layer.starts[place + 1]
    pair = np.repeat(pairs, last - first)
    begin = np.cumsum(last - first) - (last - first)
    sense = np.repeat(first - begin, last - first) + np.arange(len(pair))

    own, at = np.unique(sense, return_inverse=True)
    row = document[pair].astype(np.int64)
    near = _products(documents, layer.words.take(own), row, at, n_threads)
    near /= _lengths(documents)[row]
    near_by_labels = _products(other_labels, layer.beside.take(own), row, at, n_threads)
    near += near_by_labels / np.repeat(
        _lengths_without(other_labels, document[pairs], label[pairs]), last - first
    )
    best = np.maximum.reduceat(near, begin)
    is_best = near == np.repeat(best, last - first)
    first_best = np.flatnonzero(is_best)
    _, unique = np.unique(pair[first_best], return_index=True)
    found[pairs] = sense[first_best[unique]]
    return found


def weights_of_scores(scores: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Return what a model's labels count for: less apart than their scores are."""
    found: npt.NDArray[np.float32] = np.sqrt(np.maximum(scores, 0)).astype(np.float32)
    return found


def _products(
    rows: SparseRows, of_senses: SparseRows, row: Integers, sense: Integers, n_threads: int
) -> npt.NDArray[np.float64]:
    return _native.multiply_pairs(rows, of_senses, row, sense, n_threads)


def _lengths(rows: SparseRows) -> npt.NDArray[np.float64]:
    """Return the length of each row; 1 for empty ones."""
    return _roots(rows.row_sums(rows.values.astype(np.float64) ** 2))


def _lengths_without(
    rows: SparseRows, row: npt.NDArray[Any], column: npt.NDArray[Any]
) -> npt.NDArray[np.float64]:
    """Return the lengths of rows, a column of each left out; 1 where nothing is left."""
    taken = rows.take(row)
    squares = taken.values.astype(np.float64) ** 2
    squares[taken.columns == np.repeat(column, np.diff(taken.starts))] = 0
    return _roots(taken.row_sums(squares))


def _roots(squares: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.sqrt(np.where(squares > 0, squares, 1))
