"""The space in which senses are told apart: documents, fully whitened.

Its directions all count alike, however much of the documents they explain: the strongest ones of a
corpus are those of language and kind of text, which say nothing about senses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from polyseme import _native
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.run import Run

__all__ = ["whitened", "with_unit_rows"]

N_DIMENSIONS = 128
N_MORE = 8  # directions that are looked for besides, so that those kept are found well
N_SAMPLED = 10_000  # documents that the space is learned from
N_ITERATIONS = 3
N_TOGETHER = 10_000  # rows that are worked on at a time
LEAST_SHARE = 1e-6  # of a direction's squared singular value in the largest one
SHORTEST, LARGEST = 1e-37, 1e15  # documents, and numbers in them, that products can bear

Floats = npt.NDArray[np.float32]


def whitened(documents: Documents, run: Run) -> Floats:
    """Return documents in the whitened space, at unit length.

    The directions of the space are the leading singular vectors of a sample of documents, each
    divided by its singular value.

    Returns
    -------
    ndarray of float32, shape (n_documents, n_dimensions)
        C-contiguous; rows of zeros for documents that have nothing of the space.
    """
    documents = _bounded(documents)
    rng = np.random.default_rng([run.seed, N_SAMPLED])
    rows = np.sort(rng.permutation(documents.n_rows)[:N_SAMPLED])
    sample = documents.take(rows)
    by_feature = _transposed(sample)
    # Long documents must not count for more.
    to_unit = 1 / np.maximum(_lengths(sample), SHORTEST)[:, None]
    n_wanted = min(N_DIMENSIONS + N_MORE, *sample.shape)
    found = rng.standard_normal((len(rows), n_wanted))
    with threadpool_limits(limits=1):  # sums must not depend on the number of threads
        for _ in range(N_ITERATIONS):  # subspace iteration among documents: they are fewest
            found = _orthonormal(found)
            if found.shape[1] == 0:  # documents without anything
                return np.zeros((documents.n_rows, 1), dtype=np.float32)
            of_features = _product(by_feature, found * to_unit, run)
            found, before = _product(sample, of_features, run) * to_unit, found
        squares, vectors = np.linalg.eigh(before.T @ found.astype(np.float64))
        kept = np.argsort(-squares)[:N_DIMENSIONS]
        kept = kept[squares[kept] > LEAST_SHARE * squares.max(initial=0)]
        to_space = (vectors[:, kept] / squares[kept]).astype(np.float32)
        return with_unit_rows(_product(documents, of_features, run) @ to_space)


def _bounded(documents: Documents) -> Documents:
    """Return the same documents, at unit length where some have numbers that are too large."""
    sparse, dense = documents.sparse, documents.dense
    numbers = [
        part for part in (None if sparse is None else sparse.values, dense) if part is not None
    ]
    if all(max(part.max(initial=0), -part.min(initial=0)) <= LARGEST for part in numbers):
        return documents
    lengths = _lengths(documents)
    if sparse is not None:
        values = sparse.values / np.repeat(lengths, np.diff(sparse.starts))
        sparse = replace(sparse, values=values.astype(np.float32))
    if dense is not None:
        dense = np.ascontiguousarray(dense / lengths[:, None], dtype=np.float32)
    return Documents(sparse, dense)


def _lengths(documents: Documents) -> npt.NDArray[np.float64]:
    """Return the length of each document; 1 for empty ones."""
    squares = np.zeros(documents.n_rows)
    if documents.sparse is not None:
        squares += documents.sparse.row_sums(documents.sparse.values.astype(np.float64) ** 2)
    if documents.dense is not None:
        squares += np.einsum("ij,ij->i", documents.dense, documents.dense, dtype=np.float64)
    return np.sqrt(np.where(squares > 0, squares, 1))


def _orthonormal(columns: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return orthonormal columns that span the same, fewer if some depend on others."""
    wide = columns.astype(np.float64)
    squares, vectors = np.linalg.eigh(wide.T @ wide)
    kept = squares > 1e-12 * squares.max(initial=0)
    found: npt.NDArray[np.float64] = wide @ (vectors[:, kept] / np.sqrt(squares[kept]))
    return found


def with_unit_rows(rows: npt.NDArray[Any]) -> Floats:
    """Return rows of unit length; those of zeros stay."""
    found = np.empty(rows.shape, dtype=np.float32)
    for first in range(0, len(rows), N_TOGETHER):  # doubles of all rows would take much memory
        block = rows[first : first + N_TOGETHER]
        lengths = np.linalg.norm(block.astype(np.float64), axis=-1, keepdims=True)
        scaled = block / np.where((lengths > 0) & np.isfinite(lengths), lengths, np.inf)
        found[first : first + N_TOGETHER] = np.nan_to_num(scaled)
    return found


def _product(documents: Documents, matrix: npt.NDArray[Any], run: Run) -> Floats:
    matrix = np.ascontiguousarray(matrix, dtype=np.float32)
    return _native.multiply_rows(documents, matrix, run.n_threads)


def _transposed(documents: Documents) -> Documents:
    """Return features x documents; dense columns are rows of a block, which come last."""
    parts = []
    if documents.sparse is not None:
        parts.append(SparseRows.from_scipy(documents.sparse.to_scipy().T))
    if documents.dense is not None:
        parts.append(SparseRows.from_dense(documents.dense.T))
    return Documents(SparseRows.stack(parts))
