"""The ways to choose slots: from co-occurrence to the clusters of each label.

Each method takes the co-occurrence, the labels' present clusters and the number of copies, and
gives an `Assignment`: new clusters, with what they do to the pairs that the beam reaches.

Everywhere, candidates are taken in one order of choice: count, then the sum of matcher scores,
then the label's present cluster, then the lower id. A label that was never matched keeps its
present clusters. All methods but `adaptive` and `strongest` fill a label's copies even where a
further slot covers no further document: they compare at the same budget, and the slot is a second
opinion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme import _native
from polyseme.machine.run import Run
from polyseme.partition.co_occurrence import (
    CoOccurrence,
    co_occurrence,
    count_reached,
    pattern_of,
    rows_of,
)
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree
from polyseme.partition.strongest_labels import add_strongest

__all__ = [
    "METHODS",
    "Assignment",
    "AssignmentPlan",
    "CoOccurrence",
    "adaptive",
    "capped",
    "closed_form",
    "co_occurrence",
    "count_reached",
    "coverage",
    "default_max_cluster_size",
    "method_named",
    "random",
    "strongest",
]

_Rows = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]


@dataclass(frozen=True)
class Assignment:
    """New clusters, and what they do to the pairs that the beam reaches.

    Attributes
    ----------
    clusters : LabelClusters
    reached_before, reached_after : int
        Positive (document, label) pairs that the beam reaches with the present and with the new
        clusters. (The paper's objective (7), Tr(Y^T Binary(M C^T)).)
    n_positives : int
        All positive pairs.
    """

    clusters: LabelClusters
    reached_before: int
    reached_after: int
    n_positives: int

    @property
    def reach_before(self) -> float:
        """Share of positive pairs that the beam reaches with the present clusters."""
        return self.reached_before / max(1, self.n_positives)

    @property
    def reach_after(self) -> float:
        """Share of positive pairs that the beam reaches with the new clusters."""
        return self.reached_after / max(1, self.n_positives)


class Method(Protocol):
    """A way to choose slots. Methods ignore the options that they do not need."""

    def __call__(
        self,
        co_occurrence: CoOccurrence,
        present: LabelClusters,
        copies: int,
        *,
        max_cluster_size: int | None = None,
        seed: int = 0,
        n_threads: int = 1,
    ) -> Assignment:
        """Choose at most `copies` clusters for each label."""


def closed_form(
    co_occurrence: CoOccurrence,
    present: LabelClusters,
    copies: int,
    *,
    max_cluster_size: int | None = None,
    seed: int = 0,
    n_threads: int = 1,
) -> Assignment:
    """Give each label the `copies` clusters that its documents are matched to most.

    The paper's Eq. (10): the best solution of its relaxed problem. `max_cluster_size` and `seed`
    are not used.
    """
    return _choose(
        _native.choose_closed_form, co_occurrence, present, copies, None, n_threads=n_threads
    )


def coverage(
    co_occurrence: CoOccurrence,
    present: LabelClusters,
    copies: int,
    *,
    max_cluster_size: int | None = None,
    seed: int = 0,
    n_threads: int = 1,
) -> Assignment:
    """Give each label the `copies` clusters that together cover most of its documents.

    The paper's objective (7) itself, label by label: the best pair where ``copies=2``; greedy
    beyond, or the closed form for the labels where that covers more. Where the closed form covers
    as many documents it is kept. `max_cluster_size` and `seed` are not used.
    """
    return _choose(
        _native.choose_coverage, co_occurrence, present, copies, None, n_threads=n_threads
    )


def capped(
    co_occurrence: CoOccurrence,
    present: LabelClusters,
    copies: int,
    *,
    max_cluster_size: int | None = None,
    seed: int = 0,
    n_threads: int = 1,
) -> Assignment:
    """Choose as `closed_form` does, with at most `max_cluster_size` labels per cluster.

    The paper's Eq. (PGD-v2): the most counts under that limit, with every label in at least one
    cluster, found by an auction. It stays within one percent of the best; with a limit so tight
    that second slots must give way to first ones, that is usual but not guaranteed. A label for
    which none of its candidates has room stays in its present cluster, or else goes where there is
    most room. `max_cluster_size` is `default_max_cluster_size` unless given; `seed` is not used.
    """
    size = _checked_max_cluster_size(present, copies, max_cluster_size)
    return _choose(
        _native.choose_capped, co_occurrence, present, copies, size, n_threads=n_threads
    )


def adaptive(
    co_occurrence: CoOccurrence,
    present: LabelClusters,
    copies: int,
    *,
    max_cluster_size: int | None = None,
    seed: int = 0,
    n_threads: int = 1,
) -> Assignment:
    """Spend ``copies * n_labels`` slots where they cover most pairs that are not covered yet.

    Every label gets one slot as by `capped` with one copy. The others go out in the order of the
    documents they add to their label, and a slot that adds none is not given: a label with one
    sense keeps one slot, a label with many may get more than `copies`. A slot whose cluster is
    full (`max_cluster_size`, as for `capped`) is passed over, and its label looks among the
    clusters that have room. `seed` is not used.
    """
    size = _checked_max_cluster_size(present, copies, max_cluster_size)
    return _choose(
        _native.choose_adaptive, co_occurrence, present, copies, size, n_threads=n_threads
    )


def strongest(
    co_occurrence: CoOccurrence,
    present: LabelClusters,
    copies: int,
    *,
    max_cluster_size: int | None = None,
    seed: int = 0,
    n_threads: int = 1,
) -> Assignment:
    """Give each cluster the labels that most of its documents have.

    ELIAS' choice of edges (Gupta et al., 2022), with ``copies * n_labels`` slots: every label gets
    one slot as by `capped` with one copy, so that none is lost. Then each cluster takes its
    strongest labels, by count and then by score, until all have the same number of labels. A
    frequent label may get many more than `copies`. `max_cluster_size` is as for `capped`; `seed`
    is not used.
    """
    size = _checked_max_cluster_size(present, copies, max_cluster_size)
    first = _choose(
        _native.choose_capped, co_occurrence, present, 1, size, n_threads=n_threads
    ).clusters
    chosen = add_strongest(co_occurrence, first, copies * present.n_labels, size)
    return _report(co_occurrence, present, chosen, n_threads)


def random(
    co_occurrence: CoOccurrence,
    present: LabelClusters,
    copies: int,
    *,
    max_cluster_size: int | None = None,
    seed: int = 0,
    n_threads: int = 1,
) -> Assignment:
    """Keep each label's present clusters and add random others up to `copies`.

    The paper's random baseline. `max_cluster_size` is not used.
    """
    _check(co_occurrence, present, copies)
    n_labels, n_clusters = present.n_labels, present.n_clusters
    generator = np.random.default_rng(seed)
    copies = min(copies, n_clusters)
    # One row for each label, its clusters ascending; n_clusters marks a free place.
    owned = np.full((n_labels, copies), n_clusters, dtype=np.int64)
    placed = pattern_of(present.to_matrix())
    starts, clusters = placed.starts, placed.columns
    label = np.repeat(np.arange(n_labels), np.diff(starts))
    place = np.arange(len(clusters)) - starts[label]
    kept = place < copies
    owned[label[kept], place[kept]] = clusters[kept]
    for copy in range(1, copies):
        free = owned[:, copy] == n_clusters
        # The r-th of the clusters that the label does not own yet.
        chosen = generator.integers(n_clusters - copy, size=n_labels)
        for taken in owned.T[:copy]:
            chosen += chosen >= taken
        owned[free, copy] = chosen[free]
        owned.sort(axis=1)
    starts = np.arange(n_labels + 1) * copies
    matrix = sp.csr_array(
        (np.ones(owned.size), owned.ravel(), starts), shape=(n_labels, n_clusters)
    )
    return _report(co_occurrence, present, LabelClusters.from_matrix(matrix), n_threads)


METHODS: dict[str, Method] = {
    "closed_form": closed_form,
    "coverage": coverage,
    "capped": capped,
    "random": random,
    "adaptive": adaptive,
    "strongest": strongest,
}


@dataclass(frozen=True)
class AssignmentPlan:
    """How slots are chosen, decided before training begins.

    Attributes
    ----------
    method : str
        One of `METHODS`.
    copies : int
        In how many clusters a label may be at most.
    max_cluster_size : int or None
        For the methods that have a limit; None for their own.
    """

    method: str = "capped"
    copies: int = 1
    max_cluster_size: int | None = None

    def assign(
        self, counted: CoOccurrence, present: LabelClusters, tree: LabelTree, run: Run
    ) -> Assignment:
        """Choose the clusters of each label; in a forest, those in each of its trees."""
        if tree.n_trees == 1:
            return self._assign(counted, present, run)
        chosen = LabelClusters.stack(
            [
                self._assign(counted.take_clusters(own), present.take(own), run).clusters
                for own in tree.clusters_of_trees
            ]
        )
        return _report(counted, present, chosen, run.n_threads)

    def _assign(self, counted: CoOccurrence, present: LabelClusters, run: Run) -> Assignment:
        return method_named(self.method)(
            counted,
            present,
            self.copies,
            max_cluster_size=self.max_cluster_size,
            seed=run.seed,
            n_threads=run.n_threads,
        )


def method_named(name: str) -> Method:
    """Return the method of that name in `METHODS`."""
    if name not in METHODS:
        raise ValueError(f"assignment must be one of {', '.join(METHODS)}; got {name!r}.")
    return METHODS[name]


def default_max_cluster_size(present: LabelClusters, copies: int = 1) -> int:
    """Return three times the mean number of labels of a cluster, rounded down.

    With more than two copies, half as much again as the mean number of all copies. Enough to keep
    the gain of choosing freely, small enough to keep every cluster quick.
    """
    n_halves = max(6, 3 * copies) * present.n_labels
    return max(1, n_halves // (2 * max(1, present.n_clusters)))


def _checked_max_cluster_size(
    present: LabelClusters, copies: int, max_cluster_size: int | None
) -> int:
    if max_cluster_size is None:
        return default_max_cluster_size(present, copies)
    smallest = max(1, -(-present.n_labels // max(1, present.n_clusters)))
    if max_cluster_size < smallest:
        raise ValueError(
            f"max_cluster_size={max_cluster_size} leaves no room for {present.n_labels} labels in "
            f"{present.n_clusters} clusters; it must be at least {smallest}."
        )
    return int(max_cluster_size)


def _check(counted: CoOccurrence, present: LabelClusters, copies: int) -> None:
    if copies < 1:
        raise ValueError(f"copies must be at least 1, got {copies}.")
    if (present.n_labels, present.n_clusters) != counted.counts.shape:
        raise ValueError(
            f"present has {present.n_labels} labels and {present.n_clusters} clusters, but the "
            f"co-occurrence has {counted.n_labels} labels and {counted.n_clusters} clusters."
        )
    homeless = np.flatnonzero(present.copies == 0)
    if len(homeless):
        raise ValueError(
            f"present: label {homeless[0]} is in no cluster; each needs at least one."
        )


def _choose(
    choose: Callable[..., _Rows],
    counted: CoOccurrence,
    present: LabelClusters,
    copies: int,
    max_cluster_size: int | None,
    *,
    n_threads: int,
) -> Assignment:
    """Run a native method; without a limit, a cluster may take every label."""
    _check(counted, present, copies)
    starts, clusters = choose(
        rows_of(counted.scores),
        counted.counts.data,
        pattern_of(present.to_matrix()),
        pattern_of(counted.label_rows),
        pattern_of(counted.matched),
        copies=copies,
        max_cluster_size=max_cluster_size or max(1, present.n_labels),
        n_threads=n_threads,
    )
    slots = np.ones(len(clusters), dtype=np.float32)
    matrix = sp.csr_array((slots, clusters, starts), shape=counted.counts.shape)
    return _report(counted, present, LabelClusters.from_matrix(matrix), n_threads)


def _report(
    counted: CoOccurrence, present: LabelClusters, chosen: LabelClusters, n_threads: int
) -> Assignment:
    return Assignment(
        clusters=chosen,
        reached_before=counted.count_reached(present, n_threads=n_threads),
        reached_after=counted.count_reached(chosen, n_threads=n_threads),
        n_positives=counted.n_positives,
    )
