"""Sparse matrices are looked at before SciPy's compiled code, which trusts them, reads them.

Whoever sets the arrays of a matrix by hand, or edits its file, can make them lead anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

__all__ = ["sound_matrix"]


def sound_matrix(matrix: Any, name: str) -> Any:
    """Return a sparse matrix with two dimensions that can be converted without harm.

    Parameters
    ----------
    matrix : sparse matrix or array of SciPy, shape (n_rows, n_columns)
    name : str
        What messages call it.

    Returns
    -------
    sparse matrix or array
        The same one; if it is of lists or a dictionary (lil, dok), or has entries beyond the last
        row, one with the same content.

    Raises
    ------
    ValueError
        If its arrays do not fit its shape, or are not even arrays.
    """
    try:
        n_rows, n_columns = map(index, matrix.shape)
        is_shape = n_rows >= 0 and n_columns >= 0
        sound = _CHECKS[matrix.format](matrix, n_rows, n_columns) if is_shape else None
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError):
        sound = None
    if sound is None:
        raise ValueError(
            f"{name} is a damaged sparse matrix: its index arrays do not fit its shape "
            f"{getattr(matrix, 'shape', '')}; build it again, for example from coordinates."
        )
    return sound


def _rows(matrix: Any, n_rows: int, n_columns: int) -> Any:
    n_stored = _count_stored(matrix, n_rows, n_columns)
    if n_stored is None or n_stored == len(matrix.indices) == len(matrix.data):
        return None if n_stored is None else matrix
    return _shortened(sp.csr_array, matrix, n_stored)


def _columns(matrix: Any, n_rows: int, n_columns: int) -> Any:
    n_stored = _count_stored(matrix, n_columns, n_rows)
    return None if n_stored is None else _shortened(sp.csc_array, matrix, n_stored)


def _blocks(matrix: Any, n_rows: int, n_columns: int) -> Any:
    if matrix.data.ndim != 3:
        return None
    _, height, width = matrix.data.shape
    if height < 1 or width < 1 or n_rows % height or n_columns % width:
        return None
    n_stored = _count_stored(matrix, n_rows // height, n_columns // width, n_dimensions=3)
    return None if n_stored is None else _shortened(sp.bsr_array, matrix, n_stored)


def _shortened(kind: Callable[..., Any], matrix: Any, n_stored: int) -> Any:
    parts = matrix.data[:n_stored], matrix.indices[:n_stored], matrix.indptr
    return kind(parts, shape=matrix.shape)


def _count_stored(matrix: Any, n_outer: int, n_inner: int, n_dimensions: int = 1) -> int | None:
    """Return how many entries (or blocks) a compressed matrix has, if that can be told."""
    starts, inner = matrix.indptr, matrix.indices
    if not (_are_whole(starts) and _are_whole(inner) and _is_array(matrix.data, n_dimensions)):
        return None
    if len(starts) != n_outer + 1 or starts[0] != 0:
        return None
    n_stored = int(starts[-1])
    sound = 0 <= n_stored <= min(len(inner), len(matrix.data)) and (
        n_outer < 2 or bool((starts[1:] >= starts[:-1]).all())
    )
    return n_stored if sound and _are_within(inner[:n_stored], n_inner) else None


def _coordinates(matrix: Any, n_rows: int, n_columns: int) -> Any:
    row, column = matrix.row, matrix.col
    sound = (
        len(getattr(matrix, "coords", (row, column))) == 2
        and _are_whole(row)
        and _are_whole(column)
        and _is_array(matrix.data, 1)
        and len(row) == len(column) == len(matrix.data)
        and _are_within(row, n_rows)
        and _are_within(column, n_columns)
    )
    return matrix if sound else None


def _diagonals(matrix: Any, n_rows: int, n_columns: int) -> Any:
    offsets = matrix.offsets
    sound = (
        _are_whole(offsets)
        and _is_array(matrix.data, 2)
        and len(offsets) == len(matrix.data) == len(np.unique(offsets))
        and all(-max(n_rows, 1) < offset < max(n_columns, 1) for offset in offsets.tolist())
    )
    return matrix if sound else None


def _lists(matrix: Any, n_rows: int, n_columns: int) -> Any:
    lengths = [len(row) for row in matrix.rows]
    if len(lengths) != n_rows or [len(row) for row in matrix.data] != lengths:
        return None
    columns = _whole_numbers(chain.from_iterable(matrix.rows))
    values = np.array(list(chain.from_iterable(matrix.data)), dtype=matrix.dtype)
    places = np.repeat(np.arange(n_rows), lengths), columns
    return _coordinates(_from_places(values, places, matrix), n_rows, n_columns)


def _dictionary(matrix: Any, n_rows: int, n_columns: int) -> Any:
    row, column = (_whole_numbers(key[i] for key in matrix.keys()) for i in (0, 1))  # noqa: SIM118
    values = np.array(list(matrix.values()), dtype=matrix.dtype)
    return _coordinates(_from_places(values, (row, column), matrix), n_rows, n_columns)


def _from_places(values: npt.NDArray[Any], places: Any, matrix: Any) -> sp.coo_array:
    return sp.coo_array((values, places), shape=matrix.shape)


def _whole_numbers(items: Iterable[Any]) -> npt.NDArray[np.int64]:
    return np.array([index(item) for item in items], dtype=np.int64)


def _are_whole(numbers: Any) -> bool:
    return _is_array(numbers, 1) and numbers.dtype.kind in "iu"


def _is_array(values: Any, n_dimensions: int) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == n_dimensions


def _are_within(numbers: npt.NDArray[Any], end: int) -> bool:
    if len(numbers) == 0:
        return True
    return bool(np.minimum.reduce(numbers) >= 0 and np.maximum.reduce(numbers) < end)


_CHECKS: dict[str, Callable[[Any, int, int], Any]] = {
    "csr": _rows,
    "csc": _columns,
    "bsr": _blocks,
    "coo": _coordinates,
    "dia": _diagonals,
    "lil": _lists,
    "dok": _dictionary,
}
