"""The linear matcher on encoded documents, and the walk that begins with a text."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.linear.matcher import LinearTreeMatcher
from polyseme.backbones.linear.walk import LinearWalk
from polyseme.backbones.protocols import ModelShape, SlotWeights, TopK
from polyseme.backbones.tasks import MatchingTask
from polyseme.backbones.transformer.features import EncodedFeatures
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.run import Run
from polyseme.ordering.facts import Candidates
from polyseme.ordering.label_ordering import CountedOrdering
from polyseme.ordering.name_words import NameWords
from polyseme.partition.label_clusters import LabelClusters

__all__ = ["EncodedTreeMatcher", "EncodedWalk"]


@dataclass
class EncodedTreeMatcher:
    """A linear tree whose features are TF-IDF and embedding; encoded documents pass as they are.

    Parameters
    ----------
    features : EncodedFeatures
    linear : LinearTreeMatcher
    """

    features: EncodedFeatures
    linear: LinearTreeMatcher = field(default_factory=LinearTreeMatcher)

    weighs_encoded = True

    def fit(self, documents: Documents, task: MatchingTask, run: Run) -> EncodedTreeMatcher:
        """Train the linear matcher; the encoder stays as it is."""
        if documents.layout != self.features.seen_layout:
            self.features.layout = documents.layout
        start = task.start_from
        if isinstance(start, EncodedTreeMatcher):
            task = replace(task, start_from=start.linear)
        self.linear.fit(self.encode(documents, run), task, run)
        return self

    def match(self, documents: Documents, beam_size: int, run: Run) -> SparseRows:
        """Return the best clusters of each document."""
        return self.linear.match(self.encode(documents, run), beam_size, run)

    def encode(self, documents: Documents, run: Run) -> Documents:
        """Return the documents with their embeddings."""
        return self.features.of(documents, run.reporting_to(None))

    # What it may offer besides: see `polyseme.backbones.protocols`

    def beams(self, documents: Documents, beam_size: int, run: Run) -> list[SparseRows]:
        """Return the kept nodes of each level with their scores."""
        return self.linear.beams(self.encode(documents, run), beam_size, run)

    def weights_of(
        self, number: int, level: int = 0, features: npt.NDArray[np.int32] | None = None
    ) -> SlotWeights:
        """Return the classifier of a node of a level, counted from 1 below the root."""
        return self.linear.weights_of(number, level, features)

    def all_weights(self, level: int = 0) -> SparseRows:
        """Return the weights of all nodes of a level, shape (n_seen_features, n_nodes)."""
        return self.linear.all_weights(level)

    def n_weights(self, level: int = 0) -> int:
        """Return the number of weights of a level."""
        return self.linear.n_weights(level)

    def fused_with(
        self, ranker: Any, clusters: LabelClusters, ordering: CountedOrdering | None = None
    ) -> EncodedWalk | None:
        """Return the walk from a text through this matcher and a linear ranker."""
        walk = self.linear.fused_with(ranker, clusters, ordering)
        return None if walk is None else EncodedWalk(self.features, walk)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what was learned but for the encoder, which is a part of its own."""
        return self.linear.to_arrays()

    def restore(self, stored: StoredModel, shape: ModelShape) -> None:
        """Take over the arrays of a saved matcher."""
        self.features.layout = shape.n_sparse, shape.n_dense
        n_dense = shape.n_dense + self.features.encoder.n_dimensions
        self.linear.restore(
            stored, ModelShape(shape.n_sparse, n_dense, shape.tree, shape.clusters)
        )


@dataclass(frozen=True, eq=False)
class EncodedWalk:
    """The whole way of documents, encoded only once."""

    features: EncodedFeatures
    walk: LinearWalk

    def candidates(
        self,
        documents: Documents,
        beam_size: int,
        merge: str,
        counts: npt.NDArray[np.float32],
        run: Run,
        words: NameWords | None = None,
    ) -> Candidates:
        """Return the labels of each document with the best products, and their facts."""
        seen = self._of(documents, run)
        return self.walk.candidates(seen, beam_size, merge, counts, run, words)

    def top_k(self, documents: Documents, beam_size: int, k: int, merge: str, run: Run) -> TopK:
        """Return the k best labels of each document, padded with -1, and their scores."""
        return self.walk.top_k(self._of(documents, run), beam_size, k, merge, run)

    def all_scores(self, documents: Documents, beam_size: int, merge: str, run: Run) -> SparseRows:
        """Return the scores of all labels that are reached, shape (n_documents, n_labels)."""
        return self.walk.all_scores(self._of(documents, run), beam_size, merge, run)

    def top_k_of_row(self, row: Any, beam_size: int, k: int, merge: str) -> None:
        """Decline: a row of features has no text."""

    def _of(self, documents: Documents, run: Run) -> Documents:
        return self.features.of(documents, run.reporting_to(None))
