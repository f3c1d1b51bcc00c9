"""Sparse matrices drawn by chance; SciPy's own function has other arguments in each version."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["random_sparse"]


def random_sparse(
    shape: tuple[int, int], density: float, rng: np.random.Generator, dtype: Any = np.float64
) -> sp.csr_array:
    """Return about a share of `density` numbers between 0 and 1 at places drawn by chance."""
    n_drawn = round(density * shape[0] * shape[1])
    places = rng.integers(shape[0], size=n_drawn), rng.integers(shape[1], size=n_drawn)
    found = sp.coo_array((rng.random(n_drawn), places), shape=shape).tocsr()
    found.data = np.minimum(found.data, 1).astype(dtype)
    return found
