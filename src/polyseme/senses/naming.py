"""Which of a label's senses a document means."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.inputs.sparse_rows import SparseRows
from polyseme.senses.layer import SHOWN_FROM, SenseLayer

__all__ = ["N_OTHER_LABELS", "name_senses"]

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
        Labels that documents have, or that a model gives them, with scores.
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
    place = np.minimum(np.searchsorted(layer.labels, label), layer.n_judged - 1)
    has = (layer.labels[place] == label) & (layer.probabilities[place] >= at_least)
    pairs = np.flatnonzero(has)
    if len(pairs) == 0:
        return found
    first, last = layer.starts[place[pairs]], layer.starts[place[pairs] + 1]
    pair = np.repeat(pairs, last - first)
    begin = np.cumsum(last - first) - (last - first)
    sense = np.repeat(first - begin, last - first) + np.arange(len(pair))

    near = _cosines(documents, layer.words, document[pair], sense)
    near += _cosines(other_labels, layer.beside, document[pair], sense, without=label[pair])
    best = np.maximum.reduceat(near, begin)
    is_best = near == np.repeat(best, last - first)
    first_best = np.flatnonzero(is_best)
    _, unique = np.unique(pair[first_best], return_index=True)
    found[pairs] = sense[first_best[unique]]
    return found


def _cosines(
    rows: SparseRows,
    of_senses: SparseRows,
    row: npt.NDArray[Any],
    sense: Integers,
    without: npt.NDArray[Any] | None = None,
) -> npt.NDArray[np.float64]:
    """Return the cosine of each row with its sense, which is of unit length; 0 for empty rows."""
    own = sp.csr_array(rows.take(row).to_scipy())
    if without is not None:
        own.data = own.data * (own.indices != np.repeat(without, np.diff(own.indptr)))
    lengths = np.sqrt(np.asarray(own.multiply(own).sum(axis=1)).ravel())
    products = np.asarray(own.multiply(of_senses.take(sense).to_scipy()).sum(axis=1)).ravel()
    return np.divide(products, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
