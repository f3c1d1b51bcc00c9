"""The one place where features are checked and brought into the inner form."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.inputs.sound_matrices import sound_matrix
from polyseme.inputs.sparse_rows import SparseRows

__all__ = ["check_features"]


def check_features(
    X: Any, *, n_features: int | None = None, name: str = "X", model_name: str = "polyseme"
) -> SparseRows:
    """Check a feature matrix and bring it into the form that the native core reads.

    Parameters
    ----------
    X : sparse matrix, array-like, or tuple of these, shape (n_documents, n_features)
        SciPy sparse of any format, or dense numbers. A tuple stands for parts side by side,
        such as ``(sparse, dense)``: their columns are concatenated.
    n_features : int, optional
        The number of features that is expected.
    name : str
        What messages call the matrix.
    model_name : str
        What messages call the model that expects ``n_features``; one word.

    Returns
    -------
    SparseRows, shape (n_documents, n_features)
        Finite, sorted, without duplicates and stored zeros. Shares the arrays of a ``csr``
        matrix that already is so, and never writes into the caller's.
    """
    if isinstance(X, SparseRows):
        rows = X
    elif isinstance(X, tuple):
        rows = _side_by_side(X, name)
    elif sp.issparse(X):
        _require_two_dimensions(X.ndim, name)
        _require_numbers(getattr(X, "dtype", np.dtype(object)), name)
        rows = SparseRows.from_scipy(X, name)
        _require_finite(rows, X, name)
    else:
        array = _dense_numbers(X, name)
        rows = SparseRows.from_dense(array)
        _require_finite(rows, array, name)

    if rows.n_columns == 0:
        raise ValueError(
            f"{name} has 0 feature(s) (shape={rows.shape}) while a minimum of 1 is required."
        )
    if n_features is not None and rows.n_columns != n_features:
        raise ValueError(
            f"{name} has {rows.n_columns} features, but {model_name} is expecting {n_features} "
            "features as input, as many as it was trained with."
        )
    return rows


def _side_by_side(parts: tuple[Any, ...], name: str) -> SparseRows:
    if not parts:
        raise ValueError(f"{name} is an empty tuple; give at least one matrix.")
    checked = [check_features(part, name=f"{name}[{i}]") for i, part in enumerate(parts)]
    counts = [part.n_rows for part in checked]
    if len(set(counts)) > 1:
        raise ValueError(
            f"The parts of {name} have {', '.join(map(str, counts))} rows; parts side by side "
            "need the same documents."
        )
    stacked = sp.hstack([part.to_scipy() for part in checked], format="csr")
    return SparseRows.from_scipy(stacked, name)


def _dense_numbers(X: Any, name: str) -> npt.NDArray[Any]:
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths; give a matrix.") from None
    if array.dtype == object and array.ndim == 2:
        try:
            array = array.astype(np.float64)
        except ValueError as error:
            raise ValueError(f"{name} must hold numbers only: {error}.") from None
    _require_numbers(array.dtype, name)
    _require_two_dimensions(array.ndim, name)
    return array


def _require_numbers(dtype: np.dtype[Any], name: str) -> None:
    if dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has dtype {dtype}.")
    if dtype.kind not in "biuf":
        raise ValueError(
            f"{name} must hold numbers, but has dtype {dtype}; turn texts into features first."
        )


def _require_two_dimensions(n_dimensions: int, name: str) -> None:
    if n_dimensions == 1:
        raise ValueError(
            f"{name} has one dimension. Reshape your data: a single document is "
            f"{name}.reshape(1, -1)."
        )
    if n_dimensions != 2:
        raise ValueError(
            f"{name} has {n_dimensions} dimensions; it must have two, documents x features."
        )


def _require_finite(rows: SparseRows, original: Any, name: str) -> None:
    finite = np.isfinite(rows.values)
    if np.count_nonzero(finite) == len(finite):  # half the time of finite.all() on one row
        return
    entry = int(np.argmin(finite))
    row = int(np.searchsorted(rows.starts, entry, side="right")) - 1
    # The caller's own numbers tell an infinity from a number that float32 cannot hold.
    theirs = sound_matrix(original, name).tocsr().data if sp.issparse(original) else original
    if np.isfinite(theirs).all():
        raise ValueError(
            f"{name} has a number in row {row} that is too large for float32; rescale the "
            "features."
        )
    found = "NaN" if np.isnan(rows.values[entry]) else "infinity"
    raise ValueError(
        f"{name} contains {found} in row {row} (counted from 0); replace it with a number or drop "
        "the row."
    )
