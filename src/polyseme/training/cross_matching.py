"""Cross-matching: training documents are matched by matchers that did not see them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from polyseme.backbones.protocols import Matcher
from polyseme.backbones.tasks import MatchingTask
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.run import Run
from polyseme.partition.label_tree import LabelTree

__all__ = ["cross_match", "split_into_folds", "usable_folds"]


def cross_match(
    make_matcher: Callable[[], Matcher],
    documents: Documents,
    targets: SparsePattern,
    tree: LabelTree,
    beam_size: int,
    n_folds: int,
    run: Run,
) -> SparseRows:
    """Match each fold of the documents by a matcher that is trained on the other folds.

    The matchers are drafts, and there is one at a time. Only they are held back: the tree and the
    clusters come from all documents.

    Parameters
    ----------
    make_matcher : callable
        Gives a fresh matcher for each fold.
    documents : Documents
    targets : SparsePattern, shape (n_documents, n_clusters)
        The clusters of each document's labels.
    tree : LabelTree
    beam_size, n_folds : int
    run : Run
        Progress counts nodes that are trained, all folds together.

    Returns
    -------
    SparseRows, shape (n_documents, n_clusters)
    """
    folds = split_into_folds(documents.n_rows, n_folds, run.seed)
    matched = [
        match_fold(
            make_matcher(),
            documents,
            targets,
            tree,
            beam_size,
            fold,
            run.counting_from(i * tree.n_nodes_below_root),
        )
        for i, fold in enumerate(folds)
    ]
    return SparseRows.stack(matched).take(np.argsort(np.concatenate(folds)))


def match_fold(
    matcher: Matcher,
    documents: Documents,
    targets: SparsePattern,
    tree: LabelTree,
    beam_size: int,
    fold: npt.NDArray[np.int64],
    run: Run,
) -> SparseRows:
    """Match the documents of one fold by a matcher of all others; no fold knows of another."""
    others = np.delete(np.arange(documents.n_rows), fold)
    task = MatchingTask(targets.take(others), tree, is_draft=True)
    matcher.fit(documents.take(others), task, run)
    return matcher.match(documents.take(fold), beam_size, run.reporting_to(None))


def split_into_folds(n_documents: int, n_folds: int, seed: int) -> list[npt.NDArray[np.int64]]:
    """Split the documents at random into folds of nearly the same size, each ascending."""
    order = np.random.default_rng(seed).permutation(n_documents)
    return [np.sort(fold) for fold in np.array_split(order, n_folds)]


def usable_folds(n_documents: int, n_folds: int) -> int:
    """Return how many folds there can be: no more than documents, and 0 rather than one."""
    n_usable = min(n_folds, n_documents)
    return n_usable if n_usable > 1 else 0
