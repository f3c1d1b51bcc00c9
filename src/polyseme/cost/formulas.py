"""What the cost of training depends on, and how: the formulas behind estimates.

docs/performance.md explains them. They count work and things in memory; how long a unit of work
takes, and how much memory a thing, is measured by `polyseme.cost.estimate`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polyseme.cost.of_senses import memory_of_senses, work_of_senses
from polyseme.machine import phases
from polyseme.ordering.facts import MOST_CANDIDATES
from polyseme.training.held_out import count_held_out

__all__ = [
    "JobSize",
    "WeightLaw",
    "count_weights",
    "phase_memory",
    "phase_work",
    "positives_of_node",
    "positives_of_slot",
    "prediction_work",
    "slowdown",
    "uncertainty",
]

LANES = 16  # slots of a cluster that are solved side by side
DRAFT_COST = 0.5  # of what a training of the same documents takes
CHOOSING_COST = 0.1  # of what the ranker takes, about
PER_CANDIDATE = 300  # steps to learn an order
USUAL_EXPONENT = 0.7  # of the law of weights, where samples do not show one


@dataclass(frozen=True)
class JobSize:
    """What the cost of a job depends on.

    Attributes
    ----------
    n_documents, n_entries : int
        Rows of X, and its stored entries.
    n_pairs : int
        Stored entries of Y.
    n_summed_entries, n_label_entries : float
        Entries of X that are summed up to features of labels, and those kept of them.
    n_used_labels : int
        Labels that have documents.
    slots_per_label : float
    level_sizes : tuple of int
        Nodes of each level of the tree, from the root alone to the clusters.
    nodes_per_document : tuple of float
        For each level of the tree, root and leaves included, the nodes above a document's labels.
    beam_size : int
    training_rows : str
    match_folds : int
    n_features : int
    n_judged, n_judged_documents : int
        Labels with enough documents to look for senses, and the documents looked at.
    n_split_documents, n_similarities : float
        The same documents with those of labels fused on purpose, and pairs of them.
    """

    n_documents: int
    n_entries: int
    n_pairs: int
    n_summed_entries: float
    n_label_entries: float
    n_used_labels: int
    slots_per_label: float
    level_sizes: tuple[int, ...]
    nodes_per_document: tuple[float, ...]
    beam_size: int
    training_rows: str = "teacher-forcing"
    match_folds: int = 0
    n_features: int = 0
    n_judged: int = 0
    n_judged_documents: int = 0
    n_split_documents: float = 0.0
    n_similarities: float = 0.0

    def __post_init__(self) -> None:
        numbers = [value for value in vars(self).values() if isinstance(value, int | float)]
        numbers += [*self.level_sizes, *self.nodes_per_document]
        if not all(math.isfinite(number) and number >= 0 for number in numbers):
            raise ValueError("the sizes of a job are finite numbers of at least 0.")
        if len(self.nodes_per_document) != len(self.level_sizes):
            raise ValueError("nodes_per_document has one number for each level of the tree.")

    @property
    def n_levels(self) -> int:
        """Levels below the root."""
        return len(self.level_sizes) - 1

    @property
    def n_clusters(self) -> int:
        """Leaves of the tree."""
        return self.level_sizes[-1]

    @property
    def rows_per_document(self) -> float:
        """How many clusters learn from a document."""
        n_own = self.nodes_per_document[-1]
        reached = min(self.beam_size, self.n_clusters)
        if self.training_rows == "teacher-forcing":
            return n_own
        return max(reached, n_own * (self.training_rows == "both"))

    @property
    def slots_per_cluster(self) -> float:
        """Mean number of slots of a cluster."""
        return self.n_used_labels * self.slots_per_label / self.n_clusters


def phase_work(size: JobSize) -> dict[str, float]:
    """Return the units of work of each phase of `fit`; a unit is about one entry visited once."""
    n_cuts = math.log2(max(2, size.n_clusters))
    matcher = sum(
        _solving(
            size.n_entries * size.nodes_per_document[level],
            size.level_sizes[level + 1] / max(1, size.level_sizes[level]),
        )
        for level in range(size.n_levels)
    )
    matching = size.n_entries * visits(size, to_level=size.n_levels)
    ranker = _solving(size.n_entries * size.rows_per_document, size.slots_per_cluster)
    n_held_out = count_held_out(size.n_documents)
    return {
        phases.LABEL_TREE: size.n_summed_entries + size.n_label_entries * n_cuts,
        phases.CHOOSING_COST: CHOOSING_COST * ranker,
        phases.TRAINING_MATCHER: matcher,
        phases.MATCHING: matching,
        # As many matchers as folds, each without a fold.
        phases.CROSS_MATCHING: matcher * (size.match_folds - 1) + matching
        if size.match_folds
        else 0.0,
        phases.ASSIGNING: size.n_pairs * min(size.beam_size, size.n_clusters),
        phases.TRAINING_MATCHER_AGAIN: matcher,
        phases.TRAINING_RANKER: ranker,
        # Where one part is held out, the ranker kept a draft on its way.
        phases.ORDERING: (matcher + ranker * _is_halved(size)) * DRAFT_COST * _drafted(size)
        + PER_CANDIDATE * MOST_CANDIDATES * n_held_out,
        phases.SENSES: work_of_senses(size),
    }


def _drafted(size: JobSize) -> float:
    """Return how much of all documents the drafts learn from that an order is learned by."""
    return 1 if _is_halved(size) else 1 - count_held_out(size.n_documents) / size.n_documents


def _is_halved(size: JobSize) -> bool:
    return count_held_out(size.n_documents) == size.n_documents


def _solving(n_row_entries: float, n_slots: float) -> float:
    """Rows are walked once for every group of slots that are solved side by side."""
    return n_row_entries * (n_slots / LANES + 0.5)


def visits(size: JobSize, to_level: int) -> int:
    """Return the nodes whose classifiers a document meets on its way down to a level."""
    return sum(min(size.beam_size, size.level_sizes[level]) for level in range(to_level))


def prediction_work(size: JobSize) -> float:
    """Return the units of work to tag one document: matching, then the beam's clusters."""
    entries = size.n_entries / max(1, size.n_documents)
    return entries * visits(size, to_level=size.n_levels + 1)


def phase_memory(size: JobSize, n_ranker_weights: float) -> dict[str, float]:
    """Return what the memory of each phase grows with."""
    n_matched = size.n_documents * min(size.beam_size, size.n_clusters)
    return {
        phases.LABEL_TREE: size.n_label_entries,
        phases.CHOOSING_COST: size.n_entries,
        phases.TRAINING_MATCHER: size.n_entries,
        phases.MATCHING: size.n_entries + n_matched,
        # A copy of all documents outside of the fold, too; what is matched is put in order.
        phases.CROSS_MATCHING: size.n_entries * (2 - 1 / max(1, size.match_folds)) + 2 * n_matched,
        phases.ASSIGNING: size.n_pairs + n_matched,
        phases.TRAINING_MATCHER_AGAIN: size.n_entries,
        phases.TRAINING_RANKER: n_ranker_weights * (1 if _is_halved(size) else 2),
        phases.ORDERING: size.n_entries * _drafted(size) + 2 * n_ranker_weights,
        phases.SENSES: memory_of_senses(size),
    }


@dataclass(frozen=True)
class WeightLaw:
    """Kept weights of a classifier: `factor * n_positives ** exponent`."""

    factor: float
    exponent: float

    @classmethod
    def fit(cls, n_positives: Sequence[float], n_weights: Sequence[float]) -> WeightLaw:
        """Take the slope of a line fitted to the logarithms, and go through the last point."""
        x = np.log(np.maximum(n_positives, 1e-3))
        y = np.log(np.maximum(n_weights, 1e-3))
        spread = float(((x - x.mean()) ** 2).sum())
        slope = (
            float(((x - x.mean()) * (y - y.mean())).sum() / spread)
            if spread > 0.01
            else USUAL_EXPONENT
        )
        # More documents bring more words, but never more than in proportion.
        slope = min(1.0, max(0.0, slope))
        return cls(math.exp(float(y[-1]) - slope * float(x[-1])), slope)

    def __call__(self, n_positives: float) -> float:
        """Return the kept weights of a classifier with so many positive documents."""
        return self.factor * float(max(n_positives, 1e-3) ** self.exponent)


def count_weights(size: JobSize, of_node: WeightLaw, of_slot: WeightLaw) -> tuple[float, float]:
    """Return the kept weights of the matcher and of the ranker."""
    levels = range(1, size.n_levels + 1)
    matcher = sum(
        size.level_sizes[level] * of_node(positives_of_node(size, level)) for level in levels
    )
    n_slots = size.n_used_labels * size.slots_per_label
    return matcher, n_slots * of_slot(positives_of_slot(size))


def positives_of_node(size: JobSize, level: int) -> float:
    """Return the mean number of documents with a label below a node."""
    return size.n_documents * size.nodes_per_document[level] / size.level_sizes[level]


def positives_of_slot(size: JobSize) -> float:
    """Return the mean number of documents of a label."""
    return size.n_pairs / max(1, size.n_used_labels)


def slowdown(growth: float) -> float:
    """Return by what an entry costs more once rows and weights have grown out of the caches.

    Measured on data of several sizes: about a tenth for every doubling.
    """
    return float(max(1.0, growth) ** 0.15)


def uncertainty(n_documents: int, n_sampled: int) -> float:
    """Return the factor by which a figure may be off: more, the further it is extrapolated."""
    return 1.25 * float(max(1.0, n_documents / max(1, n_sampled)) ** 0.1)
