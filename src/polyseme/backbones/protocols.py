"""What a backbone has to offer to gain labels with several senses, and what it may offer besides.

A backbone is a matcher, which finds a few clusters for a document, and a ranker, which scores the
slots in them. Both see clusters and slots only, never labels with several senses. What they learn
follows from the task and the run alone, so that it is the same in any pieces, on any machine.

Scores. What `match` stores was visited, and so was what `score` stores, whatever the value: a zero
or a negative number counts. The ranker is given the clusters' scores and combines them with its
own: what it returns is final but for the merging of a label's slots. Scores of the kinds here lie
between 0 and 1 and multiply, so that nothing below a node exceeds it; other ranges work (they are
compared within a document only), but thresholds and `predict` expect 0 to 1.

The optional protocols are asked for by `isinstance`, never by the type of a backbone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from polyseme.backbones.tasks import MatchingTask, RankingTask
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.run import Run
from polyseme.ordering.facts import Candidates
from polyseme.ordering.label_ordering import CountedOrdering
from polyseme.ordering.name_words import NameWords
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree

__all__ = [
    "Descends",
    "Drafts",
    "Encodes",
    "Fuses",
    "Matcher",
    "ModelShape",
    "Ranker",
    "SlotWeights",
    "Stores",
    "Walk",
    "Weighs",
]

Self = TypeVar("Self")
TopK = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]


class Matcher(Protocol):
    """Finds a few clusters for a document."""

    def fit(self: Self, documents: Documents, task: MatchingTask, run: Run) -> Self:
        """Learn to match documents to clusters; progress counts nodes of the tree."""
        ...

    def match(self, documents: Documents, beam_size: int, run: Run) -> SparseRows:
        """Return the `beam_size` best clusters of each document with their scores.

        Returns
        -------
        SparseRows, shape (n_documents, n_clusters)
        """
        ...


class Ranker(Protocol):
    """Scores the slots of the clusters that a document was matched to."""

    def fit(self: Self, documents: Documents, task: RankingTask, run: Run) -> Self:
        """Learn a classifier for each slot; progress counts slots."""
        ...

    def score(
        self, documents: Documents, matched: SparseRows, clusters: LabelClusters, run: Run
    ) -> SparseRows:
        """Return the scores of all slots of the matched clusters.

        Returns
        -------
        SparseRows, shape (n_documents, n_slots)
        """
        ...


@dataclass(frozen=True, eq=False)
class ModelShape:
    """The sizes that the arrays of a stored matcher or ranker have to fit.

    Attributes
    ----------
    n_sparse, n_dense : int
        Columns of the sparse and of the dense part of what it sees.
    tree : LabelTree
    clusters : LabelClusters
    """

    n_sparse: int
    n_dense: int
    tree: LabelTree
    clusters: LabelClusters

    @property
    def n_features(self) -> int:
        """Number of features, both kinds together."""
        return self.n_sparse + self.n_dense


@runtime_checkable
class Stores(Protocol):
    """Can be saved: a matcher or ranker that gives what it learned as arrays."""

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what was learned, by name."""
        ...

    def restore(self, stored: StoredModel, shape: ModelShape) -> None:
        """Take over the arrays of a saved one, in a fresh object, after checking all of them."""
        ...


class SlotWeights(NamedTuple):
    """A linear classifier: its margin is ``bias`` plus the weights times a document's features."""

    features: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]
    bias: float


@runtime_checkable
class Drafts(Protocol):
    """A ranker that keeps a draft on its way, which saves training one for the order of labels.

    Attributes
    ----------
    draft : Ranker or None
        After `fit` with `RankingTask.held_out`, one of the same kind that learned from all other
        documents, in haste; None after any other.
    """

    draft: Any


@runtime_checkable
class Weighs(Protocol):
    """Has weights that words of senses, and explanations, are read from."""

    def weights_of(
        self, number: int, level: int = 0, features: npt.NDArray[np.int32] | None = None
    ) -> SlotWeights:
        """Return one classifier.

        Parameters
        ----------
        number : int
            For a ranker that of a slot, counted over all clusters; for a matcher that of a node.
        level : int
            The level of the node, from 1 just below the root; of no use to a ranker.
        features : ndarray of int32, optional
            Look only at these.
        """
        ...

    def all_weights(self, level: int = 0) -> SparseRows:
        """Return the weights of all slots, or of all nodes of a level, shape (n_features, n)."""
        ...

    def n_weights(self, level: int = 0) -> int:
        """Return how many these are."""
        ...


@runtime_checkable
class Descends(Protocol):
    """A matcher that walks down the tree and can say which nodes it kept on the way."""

    def beams(self, documents: Documents, beam_size: int, run: Run) -> list[SparseRows]:
        """Return the kept nodes of each level below the root with their scores.

        Returns
        -------
        list of SparseRows, shape (n_documents, n_nodes) each
            The last is what `match` gives.
        """
        ...


@runtime_checkable
class Encodes(Protocol):
    """A matcher that makes more features of documents, for the ranker.

    One whose own weights are of these features, too, says so by an attribute ``weighs_encoded``
    that is True. Documents that have them already come back as they are.
    """

    def encode(self, documents: Documents, run: Run) -> Documents:
        """Return the documents with what the ranker is to see."""
        ...


class Walk(Protocol):
    """The whole way of documents, from features to labels in their order, in one go."""

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
        ...

    def top_k(self, documents: Documents, beam_size: int, k: int, merge: str, run: Run) -> TopK:
        """Return the k best labels of each document, padded with -1, and their scores."""
        ...

    def all_scores(self, documents: Documents, beam_size: int, merge: str, run: Run) -> SparseRows:
        """Return the scores of all labels that are reached, shape (n_documents, n_labels)."""
        ...

    def top_k_of_row(self, row: Any, beam_size: int, k: int, merge: str) -> TopK | None:
        """Answer for a single plain ``csr`` row, or decline by None if it is not one."""
        ...


@runtime_checkable
class Fuses(Protocol):
    """A matcher that can be put together with its ranker, to be quicker than one by one."""

    def fused_with(
        self, ranker: Any, clusters: LabelClusters, ordering: CountedOrdering | None = None
    ) -> Walk | None:
        """Return the walk through both; None if the ranker is not of the right kind.

        With an `ordering`, what the walk answers is in that order, with its probabilities.
        """
        ...
