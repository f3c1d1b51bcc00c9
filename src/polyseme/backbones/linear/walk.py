"""The whole walk of a document through a linear model, from the root to merged labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.backbones.linear.weights import LinearWeights
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.run import Run
from polyseme.ordering.facts import FACTS, MOST_CANDIDATES, Candidates
from polyseme.ordering.label_ordering import CountedOrdering
from polyseme.ordering.name_words import NameWords
from polyseme.partition.label_clusters import LabelClusters

__all__ = ["LinearWalk"]

TopK = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]


class LinearWalk:
    """A matcher and a ranker in one native object.

    It is made when first asked for: to lay out weights for quick reading takes a while.
    """

    def __init__(
        self,
        levels: Sequence[LinearWeights],
        ranker: LinearWeights,
        clusters: LabelClusters,
        activation: str,
        ordering: CountedOrdering | None = None,
    ) -> None:
        self._levels, self._ranker = list(levels), ranker
        self._clusters, self._activation = clusters, activation
        self._ordering = ordering

    @cached_property
    def predictor(self) -> _native.Predictor:
        """The native object; arrays that come from files are checked when it is made."""
        return _native.Predictor(
            [weights.level for weights in self._levels],
            self._ranker.level,
            self._clusters.labels,
            self._clusters.n_labels,
            self._ranker.n_features,
            self._activation,
            None if self._ordering is None else self._ordering.native(),
        )

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
        names = None if words is None else words.native()
        labels, facts = self.predictor.candidates(
            documents, beam_size, merge, counts, names, run.n_threads, run.progress
        )
        shape = documents.n_rows, MOST_CANDIDATES
        labels = labels.reshape(shape)
        n_candidates = (labels >= 0).sum(axis=1)
        return Candidates(labels, facts.reshape(*shape, len(FACTS)), n_candidates)

    def top_k(
        self, documents: Documents, beam_size: int | None, k: int, merge: str, run: Run
    ) -> TopK:
        """Return the k best labels of each document; without a beam the search is exact."""
        n_threads = 1 if documents.n_rows == 1 else run.n_threads
        return self.predictor.top_k(documents, beam_size, k, merge, n_threads, run.progress)

    def all_scores(self, documents: Documents, beam_size: int, merge: str, run: Run) -> SparseRows:
        """Return the scores of all labels that are reached."""
        arrays = self.predictor.all_scores(
            documents, beam_size, merge, run.n_threads, run.progress
        )
        return SparseRows(*arrays, self._clusters.n_labels)

    def above(
        self, documents: Documents, thresholds: npt.NDArray[np.float32], merge: str, run: Run
    ) -> SparseRows:
        """Return the scores of all labels that reach a threshold: one for all, or each its own."""
        n_threads = 1 if documents.n_rows == 1 else run.n_threads
        arrays = self.predictor.above(documents, thresholds, merge, n_threads, run.progress)
        return SparseRows(*arrays, self._clusters.n_labels)

    def top_k_of_row(self, row: Any, beam_size: int | None, k: int, merge: str) -> TopK | None:
        """Answer for a single plain row; the native side checks it, and declines all others."""
        return self.predictor.top_k_of_row(row.indptr, row.indices, row.data, beam_size, k, merge)

    def __getstate__(self) -> dict[str, Any]:
        # Copies and processes get the arrays; the native object is made again from them.
        return {name: value for name, value in vars(self).items() if name != "predictor"}
