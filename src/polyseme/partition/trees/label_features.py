"""What labels are alike by when they are grouped; trees of a forest may see different things."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.run import Run

__all__ = ["TREE_FEATURES", "seen_by_tree"]

View: TypeAlias = Callable[[Documents, SparsePattern, Run], Documents]


def seen_by_tree(
    name: str, number: int, documents: Documents, Y: SparsePattern, run: Run
) -> Documents:
    """Return the documents as one tree of a forest sees them; labels are sums of these.

    Parameters
    ----------
    name : str
        One of `TREE_FEATURES`.
    number : int
        Of the tree, from 0.
    documents : Documents
    Y : SparsePattern, shape (n_documents, n_labels)
    run : Run
        Its seed decides where there is chance.

    Returns
    -------
    Documents
        As many, with the same or other features.
    """
    views = TREE_FEATURES[name]
    return views[number % len(views)](documents, Y, run)


def _as_they_are(documents: Documents, Y: SparsePattern, run: Run) -> Documents:
    return documents


def _with_half_of_the_features(documents: Documents, Y: SparsePattern, run: Run) -> Documents:
    is_kept = np.random.default_rng(run.seed).random(documents.n_features) < 0.5
    sparse, dense = documents.sparse, documents.dense
    if sparse is not None:
        kept = sparse.pattern().only_columns(is_kept[: sparse.n_columns])
        values = sparse.values[is_kept[sparse.columns]]
        sparse = SparseRows(kept.starts, kept.columns, values, sparse.n_columns)
    if dense is not None:
        dense = dense * is_kept[documents.n_sparse :].astype(np.float32)
    return replace(documents, sparse=sparse, dense=dense)


def _as_their_labels(documents: Documents, Y: SparsePattern, run: Run) -> Documents:
    return Documents(_label_rows(Y, np.ones(Y.n_rows)))


def _with_their_labels_beside(documents: Documents, Y: SparsePattern, run: Run) -> Documents:
    squares = np.zeros(documents.n_rows)
    beside = []
    if documents.sparse is not None:
        squares += documents.sparse.row_sums(np.square(documents.sparse.values, dtype=np.float64))
        beside.append(documents.sparse)
    if documents.dense is not None:
        squares += np.einsum("ij,ij->i", documents.dense, documents.dense, dtype=np.float64)
    beside.append(_label_rows(Y, np.sqrt(np.where(squares > 0, squares, 1))))
    return replace(documents, sparse=SparseRows.side_by_side(beside))


def _label_rows(Y: SparsePattern, lengths: npt.NDArray[np.float64]) -> SparseRows:
    """Return the labels of each document as features, so that its row has the given length."""
    n_labels = np.diff(Y.starts)
    values = np.repeat(lengths / np.sqrt(np.maximum(1, n_labels)), n_labels)
    return SparseRows(Y.starts, Y.columns, values.astype(np.float32), Y.n_columns)


# The trees of a forest take the views in turns.
TREE_FEATURES: dict[str, Sequence[View]] = {
    "documents": (_as_they_are,),
    "sampled": (_with_half_of_the_features,),
    "co-occurrence": (_as_their_labels,),
    "both": (_with_their_labels_beside,),
    "varied": (_as_they_are, _with_their_labels_beside, _with_half_of_the_features),
}
