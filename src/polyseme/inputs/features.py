"""The one place where features are checked and brought into the inner form."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.inputs.documents import Documents
from polyseme.inputs.sound_matrices import sound_matrix
from polyseme.inputs.sparse_rows import SparseRows

__all__ = ["check_features"]

MIN_DENSE_SHARE = 0.25  # a plain array with fewer nonzeros has been sparse before
ROWS_AT_ONCE = 4096


def check_features(
    X: Any,
    *,
    n_features: int | None = None,
    layout: tuple[int, int] | None = None,
    name: str = "X",
    model_name: str = "polyseme",
) -> Documents:
    """Check features and bring them into the form that the native core reads.

    Parameters
    ----------
    X : sparse matrix, array-like, or tuple of these, shape (n_documents, n_features)
        SciPy sparse of any format, or dense numbers. A tuple stands for parts side by side,
        such as ``(sparse, dense)``: their columns are concatenated, the sparse parts first.
        Dense parts are kept as a block; so is a plain array, unless it is mostly zeros.
    n_features : int, optional
        The number of features that is expected.
    layout : pair of int, optional
        The numbers of sparse and dense columns that a model was trained with. The features
        are brought into this layout, whichever way they are given.
    name : str
        What messages call the matrix.
    model_name : str
        What messages call the model that expects these features; one word.

    Returns
    -------
    Documents, shape (n_documents, n_features)
        Finite; sparse rows are sorted, without duplicates and stored zeros. Shares the arrays
        of a ``csr`` matrix or float32 block that already is so, and never writes into the
        caller's.
    """
    if isinstance(X, Documents):
        documents = X
    elif isinstance(X, SparseRows):
        documents = Documents(X)
    elif isinstance(X, list) and any(sp.issparse(part) for part in X):
        raise ValueError(f"{name} is a list of matrices; give parts side by side as a tuple.")
    elif isinstance(X, tuple):
        documents = _side_by_side(X, name)
    elif sp.issparse(X):
        documents = Documents(_sparse_part(X, name))
    else:
        block = _dense_part(_dense_numbers(X, name), name)
        # Without documents there is nothing to tell by.
        is_sparse = block.size == 0 or (
            layout is None and np.count_nonzero(block) < MIN_DENSE_SHARE * block.size
        )
        documents = (
            Documents(SparseRows.from_dense(block)) if is_sparse else Documents(None, block)
        )

    n_given = documents.n_features
    if n_given == 0 and documents.texts is None:
        raise ValueError(
            f"{name} has 0 feature(s) (shape={documents.shape}) while a minimum of 1 is required."
        )
    n_expected = n_features if layout is None else sum(layout)
    if n_expected is not None and n_given != n_expected:
        raise ValueError(
            f"{name} has {n_given} features, but {model_name} is expecting {n_expected} "
            "features as input, as many as it was trained with."
        )
    return documents if layout is None else documents.in_layout(*layout)


def _side_by_side(parts: tuple[Any, ...], name: str) -> Documents:
    if not parts:
        raise ValueError(f"{name} is an empty tuple; give at least one matrix.")
    sparse: list[SparseRows] = []
    dense: list[npt.NDArray[np.float32]] = []
    counts = []
    for i, part in enumerate(parts):
        part_name = f"{name}[{i}]"
        if isinstance(part, SparseRows) or sp.issparse(part):
            if dense:
                raise ValueError(
                    f"{part_name} is sparse and comes after a dense part; put the sparse parts "
                    "first, then the dense ones."
                )
            is_checked = isinstance(part, SparseRows)
            sparse.append(part if is_checked else _sparse_part(part, part_name))
            counts.append(sparse[-1].n_rows)
        else:
            dense.append(_dense_part(_dense_numbers(part, part_name), part_name))
            counts.append(len(dense[-1]))
    if len(set(counts)) > 1:
        raise ValueError(
            f"The parts of {name} have {', '.join(map(str, counts))} rows; parts side by side "
            "need the same documents."
        )
    block = dense[0] if len(dense) == 1 else np.hstack(dense) if dense else None
    return Documents(
        SparseRows.side_by_side(sparse) if sparse else None,
        None if block is None else np.ascontiguousarray(block),
    )


def _sparse_part(X: Any, name: str) -> SparseRows:
    _require_two_dimensions(X.ndim, name)
    _require_numbers(getattr(X, "dtype", np.dtype(object)), name)
    rows = SparseRows.from_scipy(X, name)
    finite = np.isfinite(rows.values)
    if np.count_nonzero(finite) < len(finite):  # half the time of finite.all() on one row
        entry = int(np.argmin(finite))
        row = int(np.searchsorted(rows.starts, entry, side="right")) - 1
        _refuse_number(rows.values[entry], row, sound_matrix(X, name).tocsr().data, name)
    return rows


def _dense_part(array: npt.NDArray[Any], name: str) -> npt.NDArray[np.float32]:
    with np.errstate(over="ignore", invalid="ignore"):
        block = np.ascontiguousarray(array, dtype=np.float32)
    for first in range(0, len(block), ROWS_AT_ONCE):  # a mask of all would be a quarter of it
        finite = np.isfinite(block[first : first + ROWS_AT_ONCE])
        if np.count_nonzero(finite) < finite.size:
            row, column = divmod(int(np.argmin(finite)), finite.shape[1])
            _refuse_number(block[first + row, column], first + row, array, name)
    return block


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


def _refuse_number(number: np.float32, row: int, theirs: npt.NDArray[Any], name: str) -> NoReturn:
    """Refuse a number that is not finite; `theirs` are the caller's own."""
    # These tell an infinity from a number that float32 cannot hold.
    if np.isfinite(theirs).all():
        raise ValueError(
            f"{name} has a number in row {row} that is too large for float32; rescale the "
            "features."
        )
    found = "NaN" if np.isnan(number) else "infinity"
    raise ValueError(
        f"{name} contains {found} in row {row} (counted from 0); replace it with a number or drop "
        "the row."
    )
