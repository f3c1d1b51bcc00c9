"""Documents as short vectors: those that are sparse are projected, dense features stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from polyseme import _native
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.run import Run

__all__ = ["DocumentSpace", "product", "unit_rows"]

N_SAMPLED = 10_000  # documents that the directions are learned from
N_MORE = 8  # directions that are looked for besides, so that those kept are found well
N_ITERATIONS = 3

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class DocumentSpace:
    """Where documents lie: sparse features along some directions, beside the dense ones.

    Attributes
    ----------
    directions : ndarray of float32, shape (n_sparse, n_directions)
        Orthonormal columns.
    n_dense : int
    """

    directions: Floats
    n_dense: int

    @classmethod
    def of(
        cls, documents: Documents, n_directions: int, run: Run, labels: SparsePattern | None = None
    ) -> DocumentSpace:
        """Learn directions of sparse features from a sample of documents.

        They are those along which documents differ most (leading singular vectors), or, with
        `labels`, the sums of the documents of labels do.
        """
        if documents.sparse is None:
            return cls(np.zeros((0, 0), dtype=np.float32), documents.n_dense)
        rng = np.random.default_rng([run.seed, N_SAMPLED])
        rows = np.sort(rng.permutation(documents.n_rows)[:N_SAMPLED])
        sample = _of_unit_length(documents.sparse.take(rows))
        by_feature = SparseRows.from_scipy(sample.to_scipy().T)
        has = None if labels is None else labels.take(rows).to_scipy()
        n_wanted = min(n_directions + N_MORE, *sample.shape)
        found: npt.NDArray[Any] = rng.standard_normal((len(rows), n_wanted))
        with threadpool_limits(limits=1):  # sums must not depend on the number of threads
            for _ in range(N_ITERATIONS):
                directions = _orthonormal(product(Documents(by_feature), found, run))
                along = product(Documents(sample), directions, run)
                strength = along if has is None else has.T @ along
                found = along if has is None else has @ strength
            wide = strength.astype(np.float64)
            squares, turned = np.linalg.eigh(wide.T @ wide)
            kept = np.argsort(-squares, kind="stable")[:n_directions]
            directions = directions @ turned[:, kept]
        return cls(np.ascontiguousarray(directions, dtype=np.float32), documents.n_dense)

    @property
    def n_dimensions(self) -> int:
        """Number of directions and of dense features."""
        return int(self.directions.shape[1]) + self.n_dense

    def place(self, documents: Documents, run: Run) -> Floats:
        """Return documents as vectors of unit length, shape (n_documents, n_dimensions).

        Both parts count alike; a document that has nothing of the space is a row of zeros.
        """
        parts = []
        if documents.sparse is not None:
            projected = product(Documents(_of_unit_length(documents.sparse)), self.directions, run)
            parts.append(unit_rows(projected))
        if documents.dense is not None:
            parts.append(unit_rows(documents.dense))
        return parts[0] if len(parts) == 1 else unit_rows(np.hstack(parts))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the directions."""
        return {"directions": self.directions}

    @classmethod
    def restored(cls, stored: StoredModel, n_sparse: int, n_dense: int) -> DocumentSpace:
        """Return a saved space after checking it."""
        directions = stored.array("directions", np.float32, (n_sparse, None))
        stored.finite("directions")
        return cls(directions, n_dense)


def product(documents: Documents, matrix: npt.NDArray[Any], run: Run) -> Floats:
    """Return documents times a matrix; each row is the same in whatever company."""
    matrix = np.ascontiguousarray(matrix, dtype=np.float32)
    return _native.multiply_rows(documents, matrix, run.n_threads)


def unit_rows(rows: npt.NDArray[Any]) -> Floats:
    """Return rows of unit length; those of zeros stay."""
    largest = np.abs(rows).max(axis=1, initial=0, keepdims=True)  # squares must not overflow
    scaled = rows / np.where(largest > 0, largest, 1).astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
    return np.ascontiguousarray(scaled / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def _of_unit_length(rows: SparseRows) -> SparseRows:
    largest = np.zeros(rows.n_rows)
    row = np.repeat(np.arange(rows.n_rows), np.diff(rows.starts))
    np.maximum.at(largest, row, np.abs(rows.values))
    values = rows.values / largest[row]
    lengths = np.sqrt(rows.row_sums(values**2))
    return SparseRows(
        rows.starts, rows.columns, (values / lengths[row]).astype(np.float32), rows.n_columns
    )


def _orthonormal(columns: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return orthonormal columns that span the same, fewer if some depend on others."""
    wide = columns.astype(np.float64)
    squares, vectors = np.linalg.eigh(wide.T @ wide)
    kept = squares > 1e-12 * squares.max(initial=0)
    found: npt.NDArray[np.float64] = wide @ (vectors[:, kept] / np.sqrt(squares[kept]))
    return found
