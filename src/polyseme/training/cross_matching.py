"""Matching of training documents by matchers that did not see them."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import numpy.typing as npt

from polyseme.backbones.protocols import Matcher, ProgressCallback
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.progress import counting_from
from polyseme.partition.label_tree import LabelTree

__all__ = ["match_held_out", "split_into_folds", "usable_folds"]


def match_held_out(
    untrained: Matcher,
    X: SparseRows,
    targets: SparsePattern,
    tree: LabelTree,
    beam_size: int,
    n_folds: int,
    seed: int,
    *,
    progress: ProgressCallback | None = None,
) -> SparseRows:
    """Match each fold of the documents by a matcher that is trained on the other folds.

    The matchers are drafts, and there is one at a time. Only they are held out: the tree and the
    clusters come from all documents.

    Parameters
    ----------
    untrained : Matcher
        Copies of it are trained; it stays as it is.
    X : SparseRows, shape (n_documents, n_features)
    targets : SparsePattern, shape (n_documents, n_clusters)
        The clusters of each document's labels.
    tree : LabelTree
    beam_size : int
    n_folds, seed : int
        As for `split_into_folds`.
    progress : callable, optional
        Is told how many nodes are trained, all folds together.

    Returns
    -------
    SparseRows, shape (n_documents, n_clusters)
    """
    folds = split_into_folds(X.n_rows, n_folds, seed)
    matched = []
    for i, fold in enumerate(folds):
        others = np.delete(np.arange(X.n_rows), fold)
        matcher = deepcopy(untrained).fit(
            X.take(others),
            targets.take(others),
            tree,
            is_draft=True,
            progress=counting_from(i * tree.n_nodes_below_root, progress),
        )
        matched.append(matcher.match(X.take(fold), beam_size))
        del matcher  # before the next one is trained
    return SparseRows.stack(matched).take(np.argsort(np.concatenate(folds)))


def split_into_folds(n_documents: int, n_folds: int, seed: int) -> list[npt.NDArray[np.int64]]:
    """Split the documents at random into folds of nearly the same size, each ascending."""
    order = np.random.default_rng(seed).permutation(n_documents)
    return [np.sort(fold) for fold in np.array_split(order, n_folds)]


def usable_folds(n_documents: int, n_folds: int) -> int:
    """Return how many folds there can be: no more than documents, and 0 rather than one."""
    n_usable = min(n_folds, n_documents)
    return n_usable if n_usable > 1 else 0
