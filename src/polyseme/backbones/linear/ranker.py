"""A linear classifier for every slot."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.backbones.linear.weights import LinearTraining, LinearWeights
from polyseme.backbones.protocols import ModelShape, SlotWeights
from polyseme.backbones.tasks import RankingTask
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.brief import briefly
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters

__all__ = ["LinearSlotRanker"]

DRAFT_ITER, DRAFT_TOLERANCE = 4, 0.1


@dataclass
class LinearSlotRanker:
    """One weight vector per slot, trained against the other documents of its cluster.

    Parameters
    ----------
    how : LinearTraining
    activation : str
        From margins to scores: 'l3-hinge', 'l2-hinge', 'sigmoid' or 'none'. The score of the
        matched cluster multiplies it, except with 'none'.
    """

    how: LinearTraining = field(default_factory=LinearTraining)
    activation: str = "l3-hinge"
    weights: LinearWeights | None = None
    draft: LinearSlotRanker | None = None

    __repr__ = briefly

    def fit(self, documents: Documents, task: RankingTask, run: Run) -> LinearSlotRanker:
        """Train every slot, or only those of changed clusters; a draft with fewer passes."""
        draft_how = how = self.how
        if how.penalty == "l2":  # few weights take long to find, and little to correct
            draft_how = replace(
                how,
                max_iter=min(how.max_iter, DRAFT_ITER),
                tolerance=max(how.tolerance, DRAFT_TOLERANCE),
            )
            if task.held_out is not None:  # what the draft did need not be done again
                how = replace(how, max_iter=max(1, how.max_iter - draft_how.max_iter))
        if task.is_draft:
            how = draft_how
        trained, draft = self._train(documents, task, how, draft_how, run)
        self.draft = None if draft is None else replace(self, weights=draft, draft=None)
        if task.changed is not None:
            trained = task.start_from.trained.with_clusters(trained, task.changed)
        self.weights = trained
        return self

    def _train(
        self,
        documents: Documents,
        task: RankingTask,
        how: LinearTraining,
        draft_how: LinearTraining,
        run: Run,
    ) -> tuple[LinearWeights, LinearWeights | None]:
        """Return the slots of clusters that are to be learned, and a draft if one is wanted."""
        return LinearWeights.train(
            documents,
            task.rows,
            task.clusters.starts,
            task.clusters.labels,
            task.labels,
            how,
            run,
            own_documents=task.own_documents,
            target_weights=task.label_weights,
            only=task.changed,
            held_out=task.held_out,
            draft_how=draft_how,
        )

    @property
    def trained(self) -> LinearWeights:
        """The weights; a ranker without any is refused."""
        if self.weights is None:
            raise ValueError("this ranker has not been trained; call fit first")
        return self.weights

    def score(
        self, documents: Documents, matched: SparseRows, clusters: LabelClusters, run: Run
    ) -> SparseRows:
        """Return the scores of the matched clusters' slots, shape (n_documents, n_slots)."""
        arrays = _native.score_matched(
            self.trained.level,
            documents,
            matched,
            self.activation,
            run.n_threads,
            run.progress,
        )
        return SparseRows(*arrays, clusters.n_slots)

    # What it may offer besides: see `polyseme.backbones.protocols`

    def weights_of(
        self, number: int, level: int = 0, features: npt.NDArray[np.int32] | None = None
    ) -> SlotWeights:
        """Return the classifier of a slot."""
        return self.trained.weights_of(number, features)

    def all_weights(self, level: int = 0) -> SparseRows:
        """Return the weights of all slots, shape (n_features, n_slots)."""
        return self.trained.to_rows()

    def n_weights(self, level: int = 0) -> int:
        """Return the number of weights of all slots."""
        return self.trained.n_weights

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what was learned; its slots are the model's clusters."""
        return self.trained.to_arrays()

    def restore(self, stored: StoredModel, shape: ModelShape) -> None:
        """Take over the arrays of a saved ranker."""
        self.weights = LinearWeights.restored(stored, shape.clusters.starts, shape)
