"""The part of an estimator that learns: tree, matcher, slots, ranker, order of labels, senses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from polyseme.backbones.protocols import Drafts, Matcher, Ranker
from polyseme.estimators.predicting import Predicting, log_rarity
from polyseme.files.origin import origin_now
from polyseme.inputs.documents import Documents
from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine import phases
from polyseme.machine.progress import Progress
from polyseme.machine.run import Run
from polyseme.ordering.label_ordering import LabelOrdering
from polyseme.ordering.name_words import NameWords
from polyseme.partition.assignment import AssignmentPlan
from polyseme.partition.forest import grow_forest
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree
from polyseme.partition.trees.label_features import seen_by_tree
from polyseme.partition.trees.registry import TREES
from polyseme.senses.induce import induce_senses
from polyseme.senses.layer import SenseLayer
from polyseme.training.disentangle import Disentangled, TrainingPlan, disentangle
from polyseme.training.held_out import Drafting, held_out_parts, order_by_held_out

__all__ = ["Learning"]


class Learning(Predicting):
    """Algorithm 1 and what comes before and after it, for the parts that a subclass makes."""

    changed_at_will: ClassVar[Sequence[str]]

    assignment: str
    branching: int
    copies: int
    finetune_matcher: bool
    match_folds: int
    max_cluster_size: int | None
    max_leaf_size: int
    ordering: str
    rounds: int
    sense_positives: bool
    senses: str
    training_rows: str
    tree: str
    tree_features: str

    tree_: LabelTree
    feature_names_: Names | None
    slot_documents_: npt.NDArray[np.int64]
    senses_: SenseLayer | None
    assignments_: list[dict[str, int]]
    phase_seconds_: dict[str, float]
    updates_: list[dict[str, int]]
    origin_: dict[str, Any]
    seen_layout_: tuple[int, int]

    def make_matcher(self) -> Matcher:
        """Return a fresh matcher."""
        raise TypeError(f"{type(self).__name__} does not say how its matcher is made.")

    def make_ranker(self) -> Ranker:
        """Return a fresh ranker."""
        raise TypeError(f"{type(self).__name__} does not say how its ranker is made.")

    def _learn(
        self,
        documents: Documents,
        labels: SparsePattern,
        progress: Progress,
        order_from: Learning | None = None,
        given: tuple[LabelTree, LabelClusters] | None = None,
        words: NameWords | None = None,
    ) -> None:
        """Train on checked documents. Whatever fails leaves the earlier model as it was."""
        earlier = dict(self.__dict__)
        try:
            self._learn_anew(documents, labels, progress, order_from, given, words)
        except BaseException:
            self.__dict__ = earlier
            raise

    def _learn_anew(
        self,
        documents: Documents,
        labels: SparsePattern,
        progress: Progress,
        order_from: Learning | None,
        given: tuple[LabelTree, LabelClusters] | None,
        words: NameWords | None,
    ) -> None:
        run = self._run()
        label_counts = np.bincount(labels.columns, minlength=labels.n_columns)
        learns_order = self.ordering == "learned" and order_from is None
        held_out = held_out_parts(labels, run.seed) if learns_order else []
        with progress:
            seen = self._prepare(documents, labels, held_out, order_from, run, progress)
            with progress.phase(phases.LABEL_TREE) as step:
                tree, clusters = given or self._first_clusters(
                    seen, labels, run.reporting_to(step)
                )
            self._settle(seen, labels, clusters, order_from, run, progress)
            found = disentangle(
                seen,
                labels,
                tree,
                clusters,
                self.make_matcher,
                self.make_ranker,
                self._plan(label_counts, documents.n_rows, held_out),
                run,
                progress,
            )
            ordering = (
                self._learn_order(seen, tree, found, held_out, words, run, progress)
                if order_from is None
                else order_from.ordering_
            )
            senses = self.find_senses(found.seen, labels, progress)
        self.matcher_, self.ranker_ = found.matcher, found.ranker
        self.tree_, self.clusters_ = tree, found.clusters
        self.assignments_ = [
            {
                "reached_before": made.reached_before,
                "reached_after": made.reached_after,
                "n_positives": made.n_positives,
            }
            for made in found.assignments
        ]
        self.label_counts_ = label_counts
        self.slot_documents_ = (
            self.label_counts_[found.clusters.labels]
            if found.slot_documents is None
            else found.slot_documents
        )
        self.ordering_, self.senses_ = ordering, senses
        self.name_words_ = words if ordering is not None and ordering.knows_names else None
        self.label_names_ = self.feature_names_ = None
        self.n_documents_, self.n_features_in_ = documents.shape
        self.layout_, self.seen_layout_ = documents.layout, found.seen.layout
        self.trained_parameters_ = self._lasting_parameters()
        self.n_labels_ = labels.n_columns
        self.updates_ = []
        self.origin_ = origin_now()
        self.phase_seconds_ = dict(progress.seconds)
        self._make_walk()

    def _prepare(
        self,
        documents: Documents,
        labels: SparsePattern,
        held_out: Sequence[npt.NDArray[np.int64]],
        order_from: Learning | None,
        run: Run,
        progress: Progress,
    ) -> Documents:
        """Return what all parts learn from: the documents, or what was first learned to make.

        Documents of `held_out` are to show how the model does on documents that it did not see.
        """
        return documents

    def _first_clusters(
        self, documents: Documents, labels: SparsePattern, run: Run
    ) -> tuple[LabelTree, LabelClusters]:
        """Return the tree and its leaves, before labels are re-assigned to these."""
        return grow_forest(
            lambda number, own_run: TREES[self.tree].build(
                seen_by_tree(self.tree_features, number, documents, labels, own_run),
                labels,
                self.branching,
                self.max_leaf_size,
                own_run,
            ),
            self.n_trees,
            run,
        )

    def _settle(
        self,
        documents: Documents,
        labels: SparsePattern,
        clusters: LabelClusters,
        order_from: Learning | None,
        run: Run,
        progress: Progress,
    ) -> None:
        """Choose what parameters leave open, before matcher and ranker are trained."""

    def _learn_order(
        self,
        documents: Documents,
        tree: LabelTree,
        found: Disentangled,
        parts: list[npt.NDArray[np.int64]],
        words: NameWords | None,
        run: Run,
        progress: Progress,
    ) -> LabelOrdering | None:
        """Return the order of a document's labels, by drafts of the model; None if unwanted."""
        if not parts:
            return None
        drafting = Drafting(
            make_matcher=self.make_matcher,
            make_ranker=self.make_ranker,
            tree=tree,
            task=found.task,
            parts=parts,
            beam_size=self.beam_of_all_trees,
            merge=self.merge,
            ranker=found.ranker,
            words=words,
        )
        with progress.phase(phases.ORDERING, len(parts) * found.clusters.n_slots) as step:
            ordering = order_by_held_out(documents, drafting, run.reporting_to(step))
        if isinstance(found.ranker, Drafts):
            found.ranker.draft = None
        return ordering

    def find_senses(
        self,
        seen: Documents,
        labels: SparsePattern,
        progress: Progress,
        *,
        only: npt.NDArray[np.bool_] | None = None,
        earlier: SenseLayer | None = None,
    ) -> SenseLayer | None:
        """Return the senses of labels, from what the ranker sees of documents; None if unwanted.

        With `only`, those of some labels are found, and the others keep what `earlier` has.
        """
        if self.senses == "none":
            return None
        with progress.phase(phases.SENSES) as step:
            run = self._run().reporting_to(step)
            return induce_senses(seen, labels, run, only=only, earlier=earlier)

    def _plan(
        self,
        label_counts: npt.NDArray[np.int64],
        n_documents: int,
        held_out: Sequence[npt.NDArray[np.int64]] = (),
    ) -> TrainingPlan:
        weights = log_rarity(label_counts, n_documents, self.favour_rare)
        is_held_out = None
        if len(held_out) == 1:  # halves need a draft each
            is_held_out = np.zeros(n_documents, dtype=np.bool_)
            is_held_out[held_out[0]] = True
        return TrainingPlan(
            assignment=AssignmentPlan(self.assignment, self.copies, self.max_cluster_size),
            beam_size=self.beam_of_all_trees,
            rounds=self.rounds,
            finetune_matcher=self.finetune_matcher,
            match_folds=self.match_folds,
            training_rows=self.training_rows,
            sense_positives=self.sense_positives,
            label_weights=None if weights is None else np.exp(weights),
            held_out=is_held_out,
        )

    def _lasting_parameters(self) -> dict[str, Any]:
        found = self.get_params()
        return {name: value for name, value in found.items() if name not in self.changed_at_will}
