"""Label features from documents (PIFA): what a label's documents have in common."""

from __future__ import annotations

from collections.abc import Callable

from polyseme import _native
from polyseme.sparse_rows import SparsePattern, SparseRows

__all__ = ["label_features"]


def label_features(
    X: SparseRows,
    Y: SparsePattern,
    *,
    n_threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> SparseRows:
    """Return the normalised sum of the features of each label's documents.

    The rows of ``Y^T X``, each of unit length (the paper's positive instance feature
    aggregation). A label without documents gets an empty row.

    Parameters
    ----------
    X : SparseRows, shape (n_documents, n_features)
    Y : SparsePattern, shape (n_documents, n_labels)

    Returns
    -------
    SparseRows, shape (n_labels, n_features)
    """
    documents_of = Y.transpose()
    arrays = _native.label_features(
        X.starts,
        X.columns,
        X.values,
        X.n_columns,
        documents_of.starts,
        documents_of.columns,
        n_threads,
        progress,
    )
    return SparseRows(*arrays, X.n_columns)
