"""What a backbone has to offer to gain labels with several senses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree

__all__ = ["Matcher", "ProgressCallback", "Ranker"]

ProgressCallback = Callable[[int], None]
M = TypeVar("M", bound="Matcher")


class Matcher(Protocol):
    """Finds a few clusters for a document. `copy.deepcopy` of an untrained one is another."""

    def fit(
        self: M,
        X: SparseRows,
        cluster_targets: SparsePattern,
        tree: LabelTree,
        *,
        start_from: M | None = None,
        is_draft: bool = False,
        progress: ProgressCallback | None = None,
    ) -> M:
        """Learn to match documents to clusters.

        Parameters
        ----------
        X : SparseRows, shape (n_documents, n_features)
        cluster_targets : SparsePattern, shape (n_documents, n_clusters)
            The clusters of each document's labels.
        tree : LabelTree
            What lies above the clusters, for matchers that want it.
        start_from : matcher, optional
            A matcher that was trained for other targets, to be tuned rather than begun anew
            where the kind of matcher allows.
        is_draft : bool
            Whether this training only has to tell where labels belong, and is followed by
            another: it may then be done in haste.
        """
        ...

    def match(
        self, X: SparseRows, beam_size: int, *, progress: ProgressCallback | None = None
    ) -> SparseRows:
        """Return the `beam_size` best clusters of each document with their scores.

        Returns
        -------
        SparseRows, shape (n_documents, n_clusters)
        """
        ...


class Ranker(Protocol):
    """Scores the slots of the clusters that a document was matched to."""

    def fit(
        self,
        X: SparseRows,
        Y: SparsePattern,
        clusters: LabelClusters,
        training_rows: SparsePattern,
        *,
        own_documents: SparsePattern | None = None,
        progress: ProgressCallback | None = None,
    ) -> Ranker:
        """Learn one classifier for each slot.

        Parameters
        ----------
        X : SparseRows, shape (n_documents, n_features)
        Y : SparsePattern, shape (n_documents, n_labels)
        clusters : LabelClusters
        training_rows : SparsePattern, shape (n_documents, n_clusters)
            The documents that the slots of each cluster are trained on.
        own_documents : SparsePattern, shape (n_documents, n_clusters), optional
            If given, a slot has only those positives that are listed here for its cluster.
        """
        ...

    def score(
        self,
        X: SparseRows,
        matched: SparseRows,
        clusters: LabelClusters,
        *,
        progress: ProgressCallback | None = None,
    ) -> SparseRows:
        """Return the scores of all slots of the matched clusters; what is stored was visited.

        Returns
        -------
        SparseRows, shape (n_documents, n_slots)
        """
        ...
