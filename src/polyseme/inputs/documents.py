"""Documents in as many forms as there are: sparse features, dense features, texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.inputs.sparse_rows import SparseRows

__all__ = ["Documents"]


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents in as many forms as there are, at least one; each form has all of them.

    Features are numbered through: first the sparse columns, then the dense ones.

    Attributes
    ----------
    sparse : SparseRows, shape (n_documents, n_sparse), optional
    dense : ndarray of float32, shape (n_documents, n_dense), optional
        C-contiguous; kept as a block, never turned into sparse entries.
    texts : sequence of str, length n_documents, optional
    """

    sparse: SparseRows | None = None
    dense: npt.NDArray[np.float32] | None = None
    texts: Sequence[str] | None = None

    def __post_init__(self) -> None:
        counts = self._counts()
        if not counts:
            raise ValueError("Documents need at least one form: sparse, dense or texts.")
        if len(set(counts.values())) > 1:
            shown = ", ".join(f"{count} in {form}" for form, count in counts.items())
            raise ValueError(f"Every form must have all documents, but there are {shown}.")
        dense = self.dense
        if dense is not None and (
            dense.ndim != 2 or dense.dtype != np.float32 or not dense.flags.c_contiguous
        ):
            raise ValueError("Dense features must be a C-contiguous float32 array of two axes.")

    def _counts(self) -> dict[str, int]:
        """Return the number of documents in each form that there is."""
        counts = {}
        if self.sparse is not None:
            counts["sparse"] = self.sparse.n_rows
        if self.dense is not None:
            counts["dense"] = len(self.dense)
        if self.texts is not None:
            counts["texts"] = len(self.texts)
        return counts

    @property
    def n_rows(self) -> int:
        """Number of documents."""
        return next(iter(self._counts().values()))

    @property
    def n_sparse(self) -> int:
        """Number of sparse columns."""
        return 0 if self.sparse is None else self.sparse.n_columns

    @property
    def n_dense(self) -> int:
        """Number of dense columns."""
        return 0 if self.dense is None else int(self.dense.shape[1])

    @property
    def layout(self) -> tuple[int, int]:
        """Number of sparse and of dense columns."""
        return self.n_sparse, self.n_dense

    @property
    def n_features(self) -> int:
        """Number of columns, sparse and dense."""
        return self.n_sparse + self.n_dense

    @property
    def shape(self) -> tuple[int, int]:
        """Number of documents and of features."""
        return self.n_rows, self.n_features

    def rows(self, first: int, last: int) -> Documents:
        """Return documents ``first`` to ``last`` (excluded), as views where that is possible."""
        if not 0 <= first <= last <= self.n_rows:
            raise IndexError(f"rows {first} to {last} are not within {self.n_rows} rows")
        return Documents(
            None if self.sparse is None else self.sparse.rows(first, last),
            None if self.dense is None else self.dense[first:last],
            None if self.texts is None else self.texts[first:last],
        )

    def blocks(self, n_rows: int) -> Iterator[Documents]:
        """Go through the documents, so many at a time; of no documents there is one block."""
        for first in range(0, max(1, self.n_rows), n_rows):
            yield self.rows(first, min(first + n_rows, self.n_rows))

    def take(self, row_ids: npt.ArrayLike) -> Documents:
        """Return the given documents, in the given order."""
        ids = np.asarray(row_ids)
        return Documents(
            None if self.sparse is None else self.sparse.take(ids),
            None if self.dense is None else self.dense[ids],
            None if self.texts is None else [self.texts[i] for i in ids.tolist()],
        )

    @classmethod
    def stack(cls, parts: Sequence[Documents]) -> Documents:
        """Return the documents of all parts, which have the same forms, one after the other."""
        if len({(part.layout, *part._counts()) for part in parts}) != 1:
            raise ValueError("Documents can be stacked only if they have the same forms.")
        sparse = [part.sparse for part in parts if part.sparse is not None]
        dense = [part.dense for part in parts if part.dense is not None]
        texts = [part.texts for part in parts if part.texts is not None]
        return cls(
            SparseRows.stack(sparse) if sparse else None,
            np.concatenate(dense) if dense else None,
            [text for part in texts for text in part] if texts else None,
        )

    def in_layout(self, n_sparse: int, n_dense: int) -> Documents:
        """Return the same features with that many of the columns sparse and the others dense."""
        if n_sparse + n_dense != self.n_features:
            raise ValueError(f"{self.n_features} features are not {n_sparse} and {n_dense}.")
        if (n_sparse, n_dense) == self.layout:
            return self
        sparse, dense = self.sparse, self.dense
        if sparse is not None and n_sparse < sparse.n_columns:
            matrix = sparse.to_scipy()
            sparse = SparseRows.from_scipy(matrix[:, :n_sparse])
            dense = _side_by_side(matrix[:, n_sparse:].toarray(), dense)
        elif dense is not None:
            n_moved = n_sparse - self.n_sparse
            moved = SparseRows.from_dense(dense[:, :n_moved])
            sparse = moved if sparse is None else SparseRows.side_by_side([sparse, moved])
            dense = np.ascontiguousarray(dense[:, n_moved:])
        return Documents(
            sparse if n_sparse > 0 else None, dense if n_dense > 0 else None, self.texts
        )

    def all_sparse(self) -> SparseRows:
        """Return all features as sparse rows, shape (n_documents, n_features)."""
        sparse = self.in_layout(self.n_features, 0).sparse
        if sparse is None:
            raise ValueError("These documents have no features.")
        return sparse

    def to_scipy(self) -> sp.csr_array:
        """Return all features as a sparse matrix, shape (n_documents, n_features)."""
        return self.all_sparse().to_scipy()


def _side_by_side(
    left: npt.NDArray[np.float32], right: npt.NDArray[np.float32] | None
) -> npt.NDArray[np.float32]:
    return np.ascontiguousarray(left if right is None else np.hstack([left, right]))
