"""What the learned order of labels gains, from what, and what it does to rare labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from polyseme.backbones.tasks import RankingTask
from polyseme.estimators.xr_linear import XRLinear
from polyseme.experiments.definition import Experiment, Method
from polyseme.experiments.measuring import Figures, measure
from polyseme.experiments.problem import Problem
from polyseme.experiments.run_names import run_named
from polyseme.experiments.tables import ACCURACY, COST, PROPENSITY
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.ordering.facts import FACTS, PLACE_OF, Candidates
from polyseme.ordering.label_ordering import TABLES, LabelOrdering
from polyseme.ordering.learning import learn_ordering
from polyseme.partition.training_rows import cluster_targets
from polyseme.training.held_out import Drafting, held_out_candidates, held_out_parts

__all__ = ["EXPERIMENTS", "held_out_of", "ordered_by"]

PRODUCT = "product"
LEARNED = {"ordering": "learned"}
AS_BY_DEFAULT = {"copies": 3, "C": None}


@run_named("tempered product")
def run_tempered(problem: Problem, method: Method, seed: int) -> Figures:
    """Put labels in order by their product with the root of the path's score."""
    model = problem.fit(method.parameters, seed)
    return measure(ordered_by(model, _by_tempered()), problem)


@run_named("learned without counts")
def run_without_counts(problem: Problem, method: Method, seed: int) -> Figures:
    """Learn an order that does not know how often labels were given."""
    model = problem.fit(method.parameters, seed)
    found = held_out_of(model, problem, seed)
    if found is None:
        return measure(model, problem)
    candidates, truth = found
    facts = candidates.facts.copy()
    facts[..., PLACE_OF["count"]] = 0
    ordering = learn_ordering(replace(candidates, facts=facts), truth)
    return measure(ordered_by(model, ordering), problem)


def held_out_of(
    model: XRLinear, problem: Problem, seed: int
) -> tuple[Candidates, SparsePattern] | None:
    """Return candidates of held-out documents by drafts of a model, and their true labels."""
    documents = Documents(SparseRows.from_scipy(problem.X_train))
    labels = SparsePattern.from_scipy(problem.Y_train)
    task = RankingTask(labels, model.clusters_, cluster_targets(labels, model.clusters_))
    drafting = Drafting(
        model.make_matcher,
        model.make_ranker,
        model.tree_,
        task,
        held_out_parts(labels, seed),
        model.beam_of_all_trees,
        model.merge,
    )
    return held_out_candidates(documents, drafting, model._run())


def ordered_by(model: XRLinear, ordering: LabelOrdering | None) -> XRLinear:
    """Put another order into a model; None for that of products."""
    model.ordering_ = ordering
    model._make_walk()
    return model


def _by_tempered() -> LabelOrdering:
    """Return the order of the tempered product: what it differs by from the product is added."""
    ends = np.array([-80, 10], dtype=np.float32)
    alone: dict[tuple[str, ...], Any] = {("tempered",): ends, ("product",): -ends}
    tables = [alone.get(names, np.zeros([2] * len(names), dtype=np.float32)) for names in TABLES]
    curve = np.array([1, 0, 0, 0], dtype=np.float32)
    return LabelOrdering(tuple(ends for _ in FACTS), tuple(tables), curve)


def _methods(problem: Problem) -> list[Method]:
    others: dict[str, dict[str, Any]] = {
        "C 0.5": {"C": 0.5},
        "C 1": {"C": 1.0},
        "C 2": {"C": 2.0},
        "copies 2": {"copies": 2},
        "rows of both": {"training_rows": "both"},
        "leaves of 200": {"max_leaf_size": 200},
    }
    methods = [
        Method(PRODUCT, AS_BY_DEFAULT),
        Method("learned", {**AS_BY_DEFAULT, **LEARNED}),
        Method("tempered", AS_BY_DEFAULT, run=run_tempered),
        Method("learned, counts unknown", AS_BY_DEFAULT, run=run_without_counts),
    ]
    methods += [
        Method(f"learned, {name}", {**AS_BY_DEFAULT, **LEARNED, **own})
        for name, own in others.items()
    ]
    methods += [
        Method(f"learned, favour_rare {share}", {**AS_BY_DEFAULT, **LEARNED, "favour_rare": share})
        for share in (0.25, 0.5, 1.0)
    ]
    return methods


EXPERIMENTS = (
    Experiment(
        name="ordering",
        summary="The learned order of labels, what it gains from, and what it costs.",
        methods=_methods,
        columns={"Accuracy": ACCURACY, "Rare labels": PROPENSITY, "Cost": COST},
        baseline=PRODUCT,
        is_timed=True,
        notes=(
            "Tempered: the product with the root of the path's score. Counts unknown: an order "
            "that does not know how often labels were given. Rows of both: slots learn from "
            "documents of their cluster's labels and from those that the matcher sends there. "
            "C is chosen by the data where none is named."
        ),
    ),
)
