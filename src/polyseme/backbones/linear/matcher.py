"""A linear classifier for every node of the label tree, walked by beam search."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.backbones.linear.weights import LinearTraining, LinearWeights
from polyseme.backbones.protocols import ProgressCallback
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.progress import counting_from
from polyseme.partition.label_tree import LabelTree
from polyseme.training.training_rows import choose_training_rows

__all__ = ["LinearTreeMatcher"]

DRAFT_ITER = 4


@dataclass
class LinearTreeMatcher:
    """Trained level by level; the children of a node are told apart on the node's own rows.

    Parameters
    ----------
    how : LinearTraining
    training_rows : str
        Where a node's rows come from: the true labels ('teacher-forcing'), the beam of the
        levels above ('matcher-aware'), or 'both'. These levels have seen the documents, whatever
        the estimator's `match_folds`.
    beam_size : int
        The width of that beam.
    activation : str
        From margins to scores: 'l3-hinge', 'sigmoid' or 'none'.
    """

    how: LinearTraining = field(default_factory=LinearTraining)
    training_rows: str = "teacher-forcing"
    beam_size: int = 10
    activation: str = "l3-hinge"
    levels: list[LinearWeights] = field(default_factory=list)
    n_features: int = 0

    def fit(
        self,
        X: SparseRows,
        cluster_targets: SparsePattern,
        tree: LabelTree,
        *,
        start_from: LinearTreeMatcher | None = None,
        is_draft: bool = False,
        progress: ProgressCallback | None = None,
    ) -> LinearTreeMatcher:
        """Train all levels.

        `start_from` is not used: each node's problem has one solution, found from zero. A draft
        takes a few passes only; the slots that are chosen with it are as good.
        """
        how = (
            replace(self.how, max_iter=min(self.how.max_iter, DRAFT_ITER))
            if is_draft
            else self.how
        )
        self.levels, self.n_features = [], X.n_columns
        n_done = 0
        for level in range(tree.n_levels):
            self.levels.append(
                LinearWeights.train(
                    *self._next_level(X, cluster_targets, tree),
                    how,
                    progress=counting_from(n_done, progress),
                )
            )
            n_done += tree.n_nodes(level + 1)
        return self

    def retrained(
        self,
        is_changed: npt.NDArray[np.bool_],
        X: SparseRows,
        cluster_targets: SparsePattern,
        tree: LabelTree,
        *,
        progress: ProgressCallback | None = None,
    ) -> LinearTreeMatcher:
        """Return a matcher whose nodes above changed clusters are trained anew.

        All other nodes keep their weights, and this matcher stays as it is.

        Parameters
        ----------
        is_changed : ndarray of bool, shape (n_clusters,)
        """
        matcher = replace(self, levels=[])
        n_done = 0
        for level, present in enumerate(self.levels):
            is_above = np.asarray(is_changed.reshape(tree.n_nodes(level), -1).any(axis=1))
            matcher.levels.append(
                present.retrained(
                    is_above,
                    *matcher._next_level(X, cluster_targets, tree),
                    self.how,
                    progress=counting_from(n_done, progress),
                )
            )
            n_done += int(is_above.sum()) * tree.fan_outs[level]
        return matcher

    def _next_level(
        self, X: SparseRows, cluster_targets: SparsePattern, tree: LabelTree
    ) -> tuple[
        SparseRows, SparsePattern, npt.NDArray[np.int64], npt.NDArray[np.int32], SparsePattern
    ]:
        """Return what the level below those that are trained learns from."""
        level, reached = len(self.levels), None
        if self.training_rows != "teacher-forcing":
            reached = self.match(X, self.beam_size)
        above = tree.ancestors(cluster_targets, level)
        return (
            X,
            choose_training_rows(self.training_rows, above, reached),
            tree.child_starts(level),
            np.arange(tree.n_nodes(level + 1), dtype=np.int32),
            tree.ancestors(cluster_targets, level + 1),
        )

    def match(
        self, X: SparseRows, beam_size: int, *, progress: ProgressCallback | None = None
    ) -> SparseRows:
        """Return the best clusters of each document (or nodes of the lowest level trained)."""
        predictor = _native.Predictor(
            [weights.level for weights in self.levels], None, None, 0, X.n_columns, self.activation
        )
        arrays = predictor.match(X, beam_size, self.how.n_threads, progress)
        n_nodes = len(self.levels[-1].bias) if self.levels else 1
        return SparseRows(*arrays, n_nodes)
