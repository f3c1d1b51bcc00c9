"""Label disentanglement: the paper's Algorithm 1 around any matcher and ranker."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polyseme.backbones.protocols import Matcher, Ranker
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.progress import Progress
from polyseme.partition.assignment import Assignment, CoOccurrence, co_occurrence
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree
from polyseme.training.cross_matching import match_held_out
from polyseme.partition.training_rows import choose_training_rows, cluster_targets

__all__ = ["Disentangled", "disentangle"]

Assign = Callable[[CoOccurrence, LabelClusters], Assignment]


@dataclass(frozen=True)
class Disentangled:
    """What `disentangle` found.

    Attributes
    ----------
    clusters : LabelClusters
        The final slots.
    assignments : list of Assignment
        One a round, with the objective before and after.
    slot_documents : ndarray of int64, shape (n_slots,), or None
        The documents of each slot's label that were matched to the slot's cluster when the
        slots were chosen; None if they never were.
    """

    clusters: LabelClusters
    assignments: list[Assignment]
    slot_documents: npt.NDArray[np.int64] | None


def disentangle(
    X: SparseRows,
    Y: SparsePattern,
    tree: LabelTree,
    clusters: LabelClusters,
    matcher: Matcher,
    ranker: Ranker,
    *,
    assign: Assign,
    beam_size: int = 10,
    rounds: int = 1,
    finetune_matcher: bool = True,
    match_folds: int = 0,
    training_rows: str = "teacher-forcing",
    sense_positives: bool = False,
    seed: int = 0,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Disentangled:
    """Train a matcher and a ranker, and re-assign labels to clusters in between.

    Parameters
    ----------
    X : SparseRows, shape (n_documents, n_features)
    Y : SparsePattern, shape (n_documents, n_labels)
    tree : LabelTree
    clusters : LabelClusters
        The leaves of the tree, one copy of each label: line 3 of Algorithm 1.
    matcher, ranker
        Trained in place.
    assign : callable
        From co-occurrence and present clusters to an `Assignment`: one of `polyseme.assignment`.
    rounds : int
        How often labels are re-assigned; 0 leaves an ordinary partition.
    finetune_matcher : bool
        Whether the matcher learns the new clusters (the paper's "alternative update").
    match_folds : int
        If not 0, documents are matched by matchers that did not see them: `match_held_out`.
    """
    progress = progress or Progress(enabled=False)
    untrained = deepcopy(matcher)
    is_draft = finetune_matcher and rounds > 0  # trained again before it counts
    targets = cluster_targets(Y, clusters)

    def match() -> SparseRows:
        if match_folds:
            n_nodes = match_folds * tree.n_nodes_below_root
            with progress.phase("Matching held-out documents", n_nodes) as step:
                return match_held_out(
                    untrained, X, targets, tree, beam_size, match_folds, seed, progress=step
                )
        with progress.phase("Matching", X.n_rows) as step:
            return matcher.match(X, beam_size, progress=step)

    trained = None
    if not (is_draft and match_folds):  # drafts of the folds stand in for it
        with progress.phase("Training the matcher", tree.n_nodes_below_root) as step:
            matcher.fit(X, targets, tree, is_draft=is_draft, progress=step)  # line 4
            trained = matcher

    assignments: list[Assignment] = []
    slot_documents = None
    for _ in range(rounds):
        matched = match()  # line 5, the paper's M
        with progress.phase("Assigning labels"):
            counted = co_occurrence(Y.to_scipy(), matched.to_scipy(), n_threads=n_threads)
            assignments.append(assign(counted, clusters))  # line 6, Eq. (10) or better
        clusters = assignments[-1].clusters
        slot_documents = counted.count_at(clusters)
        if finetune_matcher:
            with progress.phase("Training the matcher again", tree.n_nodes_below_root) as step:
                targets = cluster_targets(Y, clusters)
                matcher.fit(X, targets, tree, start_from=trained, progress=step)  # line 8
                trained = matcher

    final_matched = None
    if training_rows != "teacher-forcing" or sense_positives:
        final_matched = match()
    rows = choose_training_rows(training_rows, cluster_targets(Y, clusters), final_matched)
    own = final_matched.pattern() if sense_positives and final_matched is not None else None
    with progress.phase("Training the ranker", clusters.n_slots) as step:
        ranker.fit(X, Y, clusters, rows, own_documents=own, progress=step)  # line 9
    return Disentangled(clusters, assignments, slot_documents)
