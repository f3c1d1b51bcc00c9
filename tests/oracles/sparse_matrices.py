"""What a sparse matrix of any format holds, by plain loops over its own arrays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np


def dense_values(matrix: Any) -> np.ndarray:
    """Return the matrix, repeated entries added up; an IndexError where one leads outside."""
    dense = np.zeros(matrix.shape)
    for row, column, value in _entries(matrix):
        if not (0 <= row < dense.shape[0] and 0 <= column < dense.shape[1]):
            raise IndexError(f"({row}, {column}) is not in {dense.shape}")
        dense[row, column] += value
    return dense


def _entries(matrix: Any) -> Iterator[tuple[int, int, float]]:
    n_rows, n_columns = matrix.shape
    if matrix.format == "coo":
        yield from zip(matrix.row, matrix.col, matrix.data, strict=True)
    elif matrix.format in ("csr", "csc", "bsr"):
        height, width = matrix.data.shape[1:] if matrix.format == "bsr" else (1, 1)
        starts = [int(start) for start in matrix.indptr]
        if starts[0] != 0 or starts != sorted(starts):
            raise IndexError("starts go backwards")
        if len(starts) != (n_columns if matrix.format == "csc" else n_rows // height) + 1:
            raise IndexError("as many starts as rows, and one more")
        for outer, (start, end) in enumerate(pairwise(starts)):
            for place in range(start, end):
                inner = int(matrix.indices[place])
                block = np.reshape(matrix.data[place], (height, width))
                for i, j in np.ndindex(height, width):
                    at = (outer * height + i, inner * width + j)
                    yield (*(at[::-1] if matrix.format == "csc" else at), block[i, j])
    elif matrix.format == "dia":
        for offset, diagonal in zip(matrix.offsets, matrix.data, strict=True):
            for column, value in enumerate(diagonal[:n_columns]):
                if 0 <= column - int(offset) < n_rows:
                    yield column - int(offset), column, value
    elif matrix.format == "lil":
        for row, (columns, values) in enumerate(zip(matrix.rows, matrix.data, strict=True)):
            yield from ((row, *pair) for pair in zip(columns, values, strict=True))
    else:
        yield from ((*key, value) for key, value in matrix.items())
