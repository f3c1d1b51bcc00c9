"""What goes to other packages and comes back: plain matrices, and lists of labels with scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.inputs.sparse_rows import SparsePattern, SparseRows

__all__ = ["padded", "plain_matrix"]


def plain_matrix(rows: SparseRows | SparsePattern) -> sp.csr_matrix:
    """Return a matrix of float32, not an array of SciPy, with indices of 32 bits if they suffice.

    Returns
    -------
    csr_matrix, shape (n_rows, n_columns)
    """
    view = rows.to_scipy()
    if rows.n_stored > np.iinfo(np.int32).max:
        return sp.csr_matrix(view)
    starts = rows.starts.astype(np.int32)
    return sp.csr_matrix((view.data, rows.columns, starts), shape=rows.shape)


def padded(
    found: Sequence[Sequence[tuple[int, float]]], k: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Return the first k labels and scores of each document, padded with -1 and 0.

    Parameters
    ----------
    found : sequence of sequences of pairs
        Label and score, best first, a sequence for each document.
    k : int

    Returns
    -------
    labels : ndarray of int32, shape (n_documents, k)
    scores : ndarray of float32, shape (n_documents, k)
    """
    labels = np.full((len(found), k), -1, dtype=np.int32)
    scores = np.zeros((len(found), k), dtype=np.float32)
    for i, pairs in enumerate(found):
        for place, (label, score) in enumerate(pairs[:k]):
            labels[i, place], scores[i, place] = label, score
    return labels, scores
