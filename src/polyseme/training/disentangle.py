"""Label disentanglement: the paper's Algorithm 1 around any matcher and ranker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from polyseme.backbones.protocols import Encodes, Matcher, Ranker
from polyseme.backbones.tasks import MatchingTask, RankingTask
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine import phases
from polyseme.machine.progress import Progress
from polyseme.machine.run import Run
from polyseme.partition.assignment import Assignment, AssignmentPlan
from polyseme.partition.co_occurrence import co_occurrence
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree
from polyseme.partition.training_rows import choose_training_rows, cluster_targets
from polyseme.training.cross_matching import cross_match, usable_folds

__all__ = ["Disentangled", "TrainingPlan", "disentangle", "what_the_ranker_sees"]


@dataclass(frozen=True)
class TrainingPlan:
    """How labels are disentangled.

    Attributes
    ----------
    assignment : AssignmentPlan
        How slots are chosen.
    beam_size : int
    rounds : int
        How often labels are re-assigned; 0 leaves an ordinary partition.
    finetune_matcher : bool
        Whether the matcher learns the new clusters (the paper's "alternative update").
    match_folds : int
        If not 0, documents are matched by matchers that did not see them: `cross_match`.
    training_rows : str
        The documents that slots learn from: see `choose_training_rows`.
    sense_positives : bool
        Whether a slot has only those positives that are matched to its cluster.
    label_weights : ndarray of float32, shape (n_labels,), optional
        What a document of each label counts for its slots.
    held_out : ndarray of bool, shape (n_documents,), optional
        Documents that a draft of the ranker, kept on the way, must not have seen.
    """

    assignment: AssignmentPlan = field(default_factory=AssignmentPlan)
    beam_size: int = 10
    rounds: int = 1
    finetune_matcher: bool = True
    match_folds: int = 0
    training_rows: str = "teacher-forcing"
    sense_positives: bool = False
    label_weights: npt.NDArray[np.float32] | None = None
    held_out: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False)
class Disentangled:
    """What `disentangle` found.

    Attributes
    ----------
    matcher, ranker
        The trained parts.
    seen : Documents
        What the ranker saw of the documents: more than they have if the matcher makes features.
    task : RankingTask
        What it learned.
    clusters : LabelClusters
        The final slots.
    assignments : list of Assignment
        One a round, with the pairs reached before and after.
    slot_documents : ndarray of int64, shape (n_slots,), or None
        The documents of each slot's label that were matched to the slot's cluster when the
        slots were chosen; None if they never were.
    """

    matcher: Matcher
    ranker: Ranker
    seen: Documents
    task: RankingTask
    clusters: LabelClusters
    assignments: list[Assignment]
    slot_documents: npt.NDArray[np.int64] | None


def disentangle(
    documents: Documents,
    Y: SparsePattern,
    tree: LabelTree,
    clusters: LabelClusters,
    make_matcher: Callable[[], Matcher],
    make_ranker: Callable[[], Ranker],
    plan: TrainingPlan,
    run: Run,
    progress: Progress | None = None,
) -> Disentangled:
    """Train a matcher and a ranker, and re-assign labels to clusters in between.

    Parameters
    ----------
    documents : Documents
    Y : SparsePattern, shape (n_documents, n_labels)
    tree : LabelTree
    clusters : LabelClusters
        The leaves of the tree, one copy of each label: line 3 of Algorithm 1.
    make_matcher, make_ranker : callable
        Each call gives a fresh one.
    plan : TrainingPlan
    run : Run
    progress : Progress, optional
        Shows and times the phases.
    """
    progress = progress or Progress(enabled=False)
    is_draft = plan.finetune_matcher and plan.rounds > 0  # trained again before it counts
    n_folds = usable_folds(documents.n_rows, plan.match_folds)
    targets = cluster_targets(Y, clusters)
    matcher: Matcher | None = None

    def match() -> SparseRows:
        if n_folds:
            n_nodes = n_folds * tree.n_nodes_below_root
            with progress.phase(phases.CROSS_MATCHING, n_nodes) as step:
                told = run.reporting_to(step)
                return cross_match(
                    make_matcher, documents, targets, tree, plan.beam_size, n_folds, told
                )
        assert matcher is not None
        with progress.phase(phases.MATCHING, documents.n_rows) as step:
            return matcher.match(documents, plan.beam_size, run.reporting_to(step))

    if not (is_draft and n_folds):  # drafts of the folds stand in for it
        with progress.phase(phases.TRAINING_MATCHER, tree.n_nodes_below_root) as step:
            task = MatchingTask(targets, tree, is_draft=is_draft)
            matcher = make_matcher().fit(documents, task, run.reporting_to(step))  # line 4

    assignments: list[Assignment] = []
    slot_documents = None
    for _ in range(plan.rounds):
        matched = match()  # line 5, the paper's M
        with progress.phase(phases.ASSIGNING):
            counted = co_occurrence(Y.to_scipy(), matched.to_scipy(), n_threads=run.n_threads)
            assignments.append(plan.assignment.assign(counted, clusters, tree, run))  # line 6
        clusters = assignments[-1].clusters
        slot_documents = counted.count_at(clusters)
        if plan.finetune_matcher:
            with progress.phase(phases.TRAINING_MATCHER_AGAIN, tree.n_nodes_below_root) as step:
                targets = cluster_targets(Y, clusters)
                task = MatchingTask(targets, tree, start_from=matcher)
                matcher = make_matcher().fit(documents, task, run.reporting_to(step))  # line 8

    assert matcher is not None
    final_matched = None
    if plan.training_rows != "teacher-forcing" or plan.sense_positives:
        final_matched = match()
    rows = choose_training_rows(plan.training_rows, cluster_targets(Y, clusters), final_matched)
    own = final_matched.pattern() if plan.sense_positives and final_matched is not None else None
    with progress.phase(phases.TRAINING_RANKER, clusters.n_slots) as step:
        seen = what_the_ranker_sees(matcher, documents, run)
        ranking = RankingTask(Y, clusters, rows, own, plan.label_weights, plan.held_out)
        ranker = make_ranker().fit(seen, ranking, run.reporting_to(step))  # line 9
    return Disentangled(matcher, ranker, seen, ranking, clusters, assignments, slot_documents)


def what_the_ranker_sees(matcher: Matcher, documents: Documents, run: Run) -> Documents:
    """Return the documents, with the features that the matcher makes of them if it makes any."""
    return matcher.encode(documents, run) if isinstance(matcher, Encodes) else documents
