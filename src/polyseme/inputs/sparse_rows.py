"""The one sparse form inside polyseme: 64-bit row starts, 32-bit columns, float32 values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.inputs.sound_matrices import sound_matrix
from polyseme.machine.brief import briefly

__all__ = ["SparsePattern", "SparseRows"]

MAX_COLUMNS = int(np.iinfo(np.int32).max)


@dataclass(frozen=True, eq=False)
class SparsePattern:
    """Which columns are set in each row: a 0/1 matrix without its ones.

    Attributes
    ----------
    starts : ndarray of int64, shape (n_rows + 1,)
        The entries of row ``i`` are ``starts[i]`` to ``starts[i + 1]``.
    columns : ndarray of int32, shape (n_stored,)
        Ascending within a row, no duplicates.
    n_columns : int
    """

    starts: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]
    n_columns: int

    __repr__ = briefly

    @classmethod
    def from_scipy(cls, matrix: sp.spmatrix | sp.sparray, name: str = "matrix") -> SparsePattern:
        """Take the nonzero entries of a sparse matrix; unsorted and repeated ones are fine."""
        starts, columns, _ = _canonical_parts(matrix, np.dtype(bool), name)
        return cls(starts, columns, int(matrix.shape[1]))

    def to_scipy(self) -> sp.csr_array:
        """Return the pattern as a matrix of float32 ones that shares ``columns``."""
        return _scipy_view(self, np.ones(self.n_stored, dtype=np.float32))

    @property
    def n_rows(self) -> int:
        """Number of rows, empty ones included."""
        return len(self.starts) - 1

    @property
    def n_stored(self) -> int:
        """Number of entries."""
        return len(self.columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.n_rows, self.n_columns

    def ascends(self) -> bool:
        """Tell whether columns ascend within each row, as they must."""
        return _ascending_within_rows(self.starts, self.columns)

    def row(self, i: int) -> npt.NDArray[np.int32]:
        """Return the columns of one row, a view."""
        return self.columns[self.starts[i] : self.starts[i + 1]]

    def rows(self, first: int, last: int) -> SparsePattern:
        """Return rows ``first`` to ``last`` (excluded); the columns are a view."""
        starts, entries = _row_slice(self.starts, first, last)
        return SparsePattern(starts, self.columns[entries], self.n_columns)

    def take(self, row_ids: npt.ArrayLike) -> SparsePattern:
        """Return the given rows, in the given order."""
        starts, places = _places_of(self.starts, np.asarray(row_ids))
        return SparsePattern(starts, self.columns[places], self.n_columns)

    def only_columns(self, is_kept: npt.NDArray[np.bool_]) -> SparsePattern:
        """Return the pattern without the entries of other columns; its shape stays."""
        kept = is_kept[self.columns]
        n_kept_before = np.zeros(self.n_stored + 1, dtype=np.int64)
        np.cumsum(kept, out=n_kept_before[1:])
        return SparsePattern(n_kept_before[self.starts], self.columns[kept], self.n_columns)

    def take_columns(self, column_ids: npt.NDArray[np.integer[Any]]) -> SparsePattern:
        """Return the given columns, which must ascend, and no others."""
        number_of = np.full(self.n_columns, -1, dtype=np.int32)
        number_of[column_ids] = np.arange(len(column_ids), dtype=np.int32)
        kept = self.only_columns(number_of >= 0)
        return SparsePattern(kept.starts, number_of[kept.columns], len(column_ids))

    @classmethod
    def stack(cls, parts: Sequence[SparsePattern], n_columns: int) -> SparsePattern:
        """Return the rows of all parts, one part below the other, with that many columns."""
        lengths = np.concatenate([np.diff(part.starts) for part in parts])
        starts = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=starts[1:])
        return cls(starts, np.concatenate([part.columns for part in parts]), n_columns)

    def transpose(self) -> SparsePattern:
        """Return the pattern with rows and columns exchanged, in linear time."""
        _require_countable(self.n_rows, "rows to transpose")
        by_column = _scipy_view(self, np.ones(self.n_stored, dtype=bool)).tocsc()
        return SparsePattern(*_index_arrays(by_column), self.n_rows)


@dataclass(frozen=True, eq=False)
class SparseRows:
    """A sparse matrix, row by row, in the form that the native core reads.

    Attributes
    ----------
    starts : ndarray of int64, shape (n_rows + 1,)
        The entries of row ``i`` are ``starts[i]`` to ``starts[i + 1]``.
    columns : ndarray of int32, shape (n_stored,)
        Ascending within a row, no duplicates.
    values : ndarray of float32, shape (n_stored,)
        No zeros.
    n_columns : int
    """

    starts: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    n_columns: int

    __repr__ = briefly

    @classmethod
    def from_scipy(cls, matrix: sp.spmatrix | sp.sparray, name: str = "matrix") -> SparseRows:
        """Bring a sparse matrix of numbers into this form.

        Shares the arrays of a canonical matrix and never writes into any. Repeated entries are
        summed and stored zeros dropped. Values too large for float32 become infinite.
        """
        starts, columns, values = _canonical_parts(matrix, np.dtype(np.float32), name)
        return cls(starts, columns, values, int(matrix.shape[1]))

    @classmethod
    def from_dense(cls, array: npt.NDArray[Any]) -> SparseRows:
        """Keep the nonzero entries of a 2-D array of numbers."""
        with np.errstate(over="ignore", invalid="ignore"):
            dense = array.astype(np.float32, copy=False)
        n_rows, n_columns = dense.shape
        _require_countable(n_columns, "columns")
        kept = dense != 0
        starts = np.zeros(n_rows + 1, dtype=np.int64)
        np.cumsum(np.count_nonzero(kept, axis=1), out=starts[1:])
        columns = np.broadcast_to(np.arange(n_columns, dtype=np.int32), dense.shape)[kept]
        return cls(starts, columns, dense[kept], n_columns)

    @classmethod
    def best_of(cls, scores: npt.NDArray[np.floating[Any]], n: int) -> SparseRows:
        """Keep the n largest numbers of each row, the first of equal ones; zeros count too."""
        n_rows, n_columns = scores.shape
        n = min(n, n_columns)
        best = np.sort(np.argsort(-scores, axis=1, kind="stable")[:, :n], axis=1)
        values = np.take_along_axis(scores, best, axis=1).astype(np.float32)
        starts = np.arange(n_rows + 1, dtype=np.int64) * n
        return cls(starts, best.ravel().astype(np.int32), values.ravel(), n_columns)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name, to be stored; see `polyseme.files.stored_model`."""
        return {"starts": self.starts, "columns": self.columns, "values": self.values}

    def to_scipy(self) -> sp.csr_array:
        """Return the matrix as a ``csr_array`` that shares ``columns`` and ``values``."""
        return _scipy_view(self, self.values)

    @property
    def n_rows(self) -> int:
        """Number of rows, empty ones included."""
        return len(self.starts) - 1

    @property
    def n_stored(self) -> int:
        """Number of entries."""
        return len(self.columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.n_rows, self.n_columns

    def row(self, i: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Return the columns and the values of one row, as views."""
        entries = slice(self.starts[i], self.starts[i + 1])
        return self.columns[entries], self.values[entries]

    def rows(self, first: int, last: int) -> SparseRows:
        """Return rows ``first`` to ``last`` (excluded); columns and values are views."""
        starts, entries = _row_slice(self.starts, first, last)
        return SparseRows(starts, self.columns[entries], self.values[entries], self.n_columns)

    def row_sums(self, of_entries: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the sums by row of something that each entry has, shape (n_rows,)."""
        row = np.repeat(np.arange(self.n_rows), np.diff(self.starts))
        return np.bincount(row, of_entries, minlength=self.n_rows).astype(np.float64, copy=False)

    def pattern(self) -> SparsePattern:
        """Return where entries are stored, sharing the index arrays."""
        return SparsePattern(self.starts, self.columns, self.n_columns)

    @classmethod
    def stack(cls, parts: Sequence[SparseRows]) -> SparseRows:
        """Return the rows of all parts, one part below the other."""
        lengths = np.concatenate([np.diff(part.starts) for part in parts])
        starts = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=starts[1:])
        columns = np.concatenate([part.columns for part in parts])
        values = np.concatenate([part.values for part in parts])
        return cls(starts, columns, values, parts[0].n_columns)

    @classmethod
    def side_by_side(cls, parts: Sequence[SparseRows]) -> SparseRows:
        """Return the columns of all parts, which have the same rows, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        return cls.from_scipy(sp.hstack([part.to_scipy() for part in parts], format="csr"))

    def take(self, row_ids: npt.ArrayLike) -> SparseRows:
        """Return the given rows, in the given order."""
        starts, places = _places_of(self.starts, np.asarray(row_ids))
        return SparseRows(starts, self.columns[places], self.values[places], self.n_columns)


def _places_of(
    starts: npt.NDArray[np.int64], row_ids: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the starts of the rows once taken, and where their entries are now."""
    lengths = np.diff(starts)[row_ids]
    taken_starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    places = np.arange(taken_starts[-1])
    places += np.repeat(starts[row_ids] - taken_starts[:-1], lengths)
    return taken_starts, places


def _canonical_parts(
    matrix: Any, dtype: np.dtype[Any], name: str
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[Any]]:
    """Row starts, columns and values of a matrix: sorted, no duplicates, no stored zeros."""
    matrix = sound_matrix(matrix, name)
    n_rows, n_columns = matrix.shape
    _require_countable(n_columns, f"columns of {name}")
    if matrix.format != "csr":
        # Converted before duplicates are added up: small integer types would overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = matrix.astype(dtype, copy=False).tocsr()

    starts = matrix.indptr.astype(np.int64, copy=False)
    columns, values = matrix.indices.astype(np.int32, copy=False), matrix.data
    if values.dtype != dtype:
        with np.errstate(over="ignore", invalid="ignore"):
            values = values.astype(dtype)

    if not _ascending_within_rows(starts, columns):
        merged = sp.csr_array((values, columns, starts), shape=(n_rows, n_columns), copy=True)
        merged.sum_duplicates()
        starts, columns = _index_arrays(merged)
        values = merged.data
    if np.count_nonzero(values) < len(values):
        kept = values != 0
        n_kept_before = np.zeros(len(values) + 1, dtype=np.int64)
        np.cumsum(kept, out=n_kept_before[1:])
        starts, columns, values = n_kept_before[starts], columns[kept], values[kept]
    return starts, columns, values


def _ascending_within_rows(starts: npt.NDArray[np.int64], columns: npt.NDArray[np.int32]) -> bool:
    ascending = columns[1:] > columns[:-1]
    if np.count_nonzero(ascending) == len(ascending):  # one row: no time to lose
        return True
    first_of_row = starts[1:-1]
    first_of_row = first_of_row[(first_of_row > 0) & (first_of_row < len(columns))]
    ascending[first_of_row - 1] = True
    return bool(ascending.all())


def _row_slice(
    starts: npt.NDArray[np.int64], first: int, last: int
) -> tuple[npt.NDArray[np.int64], slice]:
    if not 0 <= first <= last < len(starts):
        raise IndexError(f"rows {first} to {last} are not within {len(starts) - 1} rows")
    return starts[first : last + 1] - starts[first], slice(starts[first], starts[last])


def _scipy_view(rows: SparsePattern | SparseRows, values: npt.NDArray[Any]) -> sp.csr_array:
    # SciPy wants both index arrays alike: it copies the short one and shares the long one.
    view = sp.csr_array((values, rows.columns, rows.starts), shape=rows.shape)
    view.has_canonical_format = True
    return view


def _index_arrays(matrix: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    return (
        matrix.indptr.astype(np.int64, copy=False),
        matrix.indices.astype(np.int32, copy=False),
    )


def _require_countable(count: int, what: str) -> None:
    if count > MAX_COLUMNS:
        raise ValueError(f"{count} {what} are too many; at most {MAX_COLUMNS} are supported.")
