"""A linear classifier for every node of the label tree, walked by beam search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.backbones.linear.walk import LinearWalk
from polyseme.backbones.linear.weights import LinearTraining, LinearWeights
from polyseme.backbones.protocols import ModelShape, SlotWeights
from polyseme.backbones.tasks import MatchingTask
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.brief import briefly
from polyseme.machine.run import Run
from polyseme.ordering.label_ordering import CountedOrdering
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree
from polyseme.partition.training_rows import choose_training_rows

__all__ = ["LinearTreeMatcher"]

DRAFT_ITER = 4
# The margin whose score is a given share: the inverse of each activation. Bare margins do not
# multiply, so that all trees have the same.
MARGINS: dict[str, Callable[[float], float]] = {
    "l3-hinge": lambda share: 1 - np.cbrt(-np.log(share)),
    "l2-hinge": lambda share: 1 - np.sqrt(-np.log(share)),
    "sigmoid": lambda share: np.log(share / (1 - share)),
    "none": lambda share: 0.0,
}


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
        From margins to scores: 'l3-hinge', 'l2-hinge', 'sigmoid' or 'none'.
    """

    how: LinearTraining = field(default_factory=LinearTraining)
    training_rows: str = "teacher-forcing"
    beam_size: int = 10
    activation: str = "l3-hinge"
    levels: list[LinearWeights] = field(default_factory=list)

    __repr__ = briefly

    def fit(self, documents: Documents, task: MatchingTask, run: Run) -> LinearTreeMatcher:
        """Train all levels, or only the nodes above changed clusters.

        Without `changed`, `start_from` is not used: each node's problem has one solution, found
        from zero. A draft takes a few passes only; the slots that are chosen with it are as good.
        """
        how = self.how
        if task.is_draft:
            how = replace(how, max_iter=min(how.max_iter, DRAFT_ITER))
        present = None if task.changed is None else task.start_from.levels
        self.levels = []
        n_done = 0
        for level in range(task.tree.n_levels):
            if level == 0 and task.tree.n_trees > 1:
                self.levels.append(self._to_all_trees(documents, task.tree, run))
                n_done += task.tree.n_trees
                continue
            rows, targets = self._rows_and_targets(documents, task, level, run)
            starts = task.tree.levels[level]
            is_trained = _nodes_above_changed(task, level)
            trained, _ = LinearWeights.train(
                documents,
                rows,
                starts,
                np.arange(task.tree.n_nodes(level + 1), dtype=np.int32),
                targets,
                how,
                run.counting_from(n_done),
                only=is_trained,
            )
            if present is not None and is_trained is not None:
                trained = present[level].with_clusters(trained, is_trained)
            self.levels.append(trained)
            sizes = np.diff(starts)
            n_done += int(sizes.sum() if is_trained is None else sizes[is_trained].sum())
        return self

    def _to_all_trees(self, documents: Documents, tree: LabelTree, run: Run) -> LinearWeights:
        """Return a level that needs no learning: every tree has an equal share of a document."""
        margin = MARGINS[self.activation](1 / tree.n_trees)
        return LinearWeights.untrained(documents, tree.levels[0], margin, self.how, run)

    def _rows_and_targets(
        self, documents: Documents, task: MatchingTask, level: int, run: Run
    ) -> tuple[SparsePattern, SparsePattern]:
        """Return what the next level is trained on: the rows of nodes, the children to find."""
        reached = None
        if self.training_rows != "teacher-forcing":
            reached = self.match(documents, self.beam_size, run.reporting_to(None))
        above = task.tree.ancestors(task.targets, level)
        below = task.tree.ancestors(task.targets, level + 1)
        return choose_training_rows(self.training_rows, above, reached), below

    def match(self, documents: Documents, beam_size: int, run: Run) -> SparseRows:
        """Return the best clusters of each document (or nodes of the lowest level trained)."""
        predictor = _native.Predictor(
            [weights.level for weights in self.levels],
            None,
            None,
            0,
            documents.n_features,
            self.activation,
        )
        arrays = predictor.match(documents, beam_size, run.n_threads, run.progress)
        n_nodes = len(self.levels[-1].bias) if self.levels else 1
        return SparseRows(*arrays, n_nodes)

    # What it may offer besides: see `polyseme.backbones.protocols`

    def beams(self, documents: Documents, beam_size: int, run: Run) -> list[SparseRows]:
        """Return the kept nodes of each level with their scores."""
        return [
            replace(self, levels=self.levels[:n]).match(documents, beam_size, run)
            for n in range(1, len(self.levels) + 1)
        ]

    def weights_of(
        self, number: int, level: int = 0, features: npt.NDArray[np.int32] | None = None
    ) -> SlotWeights:
        """Return the classifier of a node of a level, counted from 1 below the root."""
        return self.levels[level - 1].weights_of(number, features)

    def all_weights(self, level: int = 0) -> SparseRows:
        """Return the weights of all nodes of a level, shape (n_features, n_nodes)."""
        return self.levels[level - 1].to_rows()

    def n_weights(self, level: int = 0) -> int:
        """Return the number of weights of a level."""
        return self.levels[level - 1].n_weights

    def fused_with(
        self, ranker: Any, clusters: LabelClusters, ordering: CountedOrdering | None = None
    ) -> LinearWalk | None:
        """Return the walk through this matcher and a ranker of the same kind."""
        weights = getattr(ranker, "weights", None)
        if not isinstance(weights, LinearWeights) or ranker.activation != self.activation:
            return None
        return LinearWalk(self.levels, weights, clusters, self.activation, ordering)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of all levels, ``<level>.<name>``."""
        return {
            f"{number}.{name}": array
            for number, level in enumerate(self.levels)
            for name, array in level.to_arrays().items()
        }

    def restore(self, stored: StoredModel, shape: ModelShape) -> None:
        """Take over the arrays of a saved matcher; the slots of a level follow from the tree."""
        self.levels = [
            LinearWeights.restored(stored.part(str(number)), starts, shape)
            for number, starts in enumerate(shape.tree.levels)
        ]


def _nodes_above_changed(task: MatchingTask, level: int) -> npt.NDArray[np.bool_] | None:
    if task.changed is None:
        return None
    tree: LabelTree = task.tree
    is_above = np.zeros(tree.n_nodes(level), dtype=np.bool_)
    is_above[tree.nodes_above(level)[task.changed]] = True
    return is_above
