"""A linear classifier for every slot."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.backbones.linear.weights import LinearTraining, LinearWeights
from polyseme.backbones.protocols import ProgressCallback
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.partition.label_clusters import LabelClusters

__all__ = ["LinearSlotRanker"]


@dataclass
class LinearSlotRanker:
    """One weight vector a slot, trained against the other documents of its cluster.

    Parameters
    ----------
    how : LinearTraining
    activation : str
        From margins to scores: 'l3-hinge', 'sigmoid' or 'none'. The score of the matched
        cluster multiplies it, except with 'none'.
    """

    how: LinearTraining = field(default_factory=LinearTraining)
    activation: str = "l3-hinge"
    weights: LinearWeights | None = None

    def fit(
        self,
        X: SparseRows,
        Y: SparsePattern,
        clusters: LabelClusters,
        training_rows: SparsePattern,
        *,
        own_documents: SparsePattern | None = None,
        progress: ProgressCallback | None = None,
    ) -> LinearSlotRanker:
        """Train every slot; see `polyseme.backbones.protocols.Ranker`."""
        self.weights = LinearWeights.train(
            X,
            training_rows,
            clusters.starts,
            clusters.labels,
            Y,
            self.how,
            own_documents=own_documents,
            progress=progress,
        )
        return self

    def retrained(
        self,
        is_changed: npt.NDArray[np.bool_],
        X: SparseRows,
        Y: SparsePattern,
        clusters: LabelClusters,
        training_rows: SparsePattern,
        *,
        own_documents: SparsePattern | None = None,
        progress: ProgressCallback | None = None,
    ) -> LinearSlotRanker:
        """Return a ranker whose changed clusters are trained anew; this one stays as it is.

        Parameters
        ----------
        is_changed : ndarray of bool, shape (n_clusters,)
            Only these may have other slots than before.
        """
        if self.weights is None:
            raise ValueError("this ranker has not been trained; call fit first")
        weights = self.weights.retrained(
            is_changed,
            X,
            training_rows,
            clusters.starts,
            clusters.labels,
            Y,
            self.how,
            own_documents=own_documents,
            progress=progress,
        )
        return replace(self, weights=weights)

    def score(
        self,
        X: SparseRows,
        matched: SparseRows,
        clusters: LabelClusters,
        *,
        progress: ProgressCallback | None = None,
    ) -> SparseRows:
        """Return the scores of the matched clusters' slots, shape (n_documents, n_slots)."""
        if self.weights is None:
            raise ValueError("this ranker has not been trained; call fit first")
        arrays = _native.score_matched(
            self.weights.level, X, matched, self.activation, self.how.n_threads, progress
        )
        return SparseRows(*arrays, clusters.n_slots)
