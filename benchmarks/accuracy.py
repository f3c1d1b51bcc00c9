"""One definition of precision for all systems."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix


def precision_at(
    top: np.ndarray[Any, Any], Y: csr_matrix, ks: tuple[int, ...] = (1, 3, 5)
) -> dict[str, float]:
    """P@k in percent; a place that was left empty counts as wrong.

    Parameters
    ----------
    top : ndarray of shape (n, k)
        Label ids, best first, -1 where there is none.
    Y : csr_matrix of shape (n, n_labels)
        The true labels.
    ks : tuple of int
        Where to cut.
    """
    n_labels = Y.shape[1]
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    true_pairs = rows * n_labels + Y.indices
    predicted_pairs = np.arange(len(top))[:, None] * n_labels + top
    hits = np.isin(predicted_pairs, true_pairs) & (top >= 0)
    return {f"P@{k}": 100 * float(hits[:, :k].sum()) / (len(top) * k) for k in ks}
