"""ELIAS' choices beside ours: which labels a cluster gets, and whether slots share weights."""

from __future__ import annotations

from polyseme.experiments.definition import Experiment, Method
from polyseme.experiments.measuring import Figures, measure
from polyseme.experiments.ordering import ordered_by
from polyseme.experiments.problem import Problem
from polyseme.experiments.run_names import run_named
from polyseme.experiments.shared_training import fit_once
from polyseme.experiments.tables import ALL_TABLES

__all__ = ["EXPERIMENTS"]

ORDERS = ("product", "learned")
ASSIGNMENTS, WEIGHTS = ("capped", "strongest"), ("own", "shared")


@run_named("one training, either order")
def run_with_order(problem: Problem, method: Method, seed: int) -> Figures:
    """Train with a learned order unless that was just done, and measure with it or without."""
    model = fit_once(problem, method.parameters, seed)
    learned = model.ordering_
    try:
        wanted = learned if method.options["order"] == "learned" else None
        return measure(ordered_by(model, wanted), problem)
    finally:
        ordered_by(model, learned)


def _methods(problem: Problem) -> list[Method]:
    return [
        Method(
            f"{assignment}, {weights}, {order}",
            {"assignment": assignment, "slot_weights": weights, "ordering": "learned"},
            {"order": order},
            run_with_order,
        )
        for assignment in ASSIGNMENTS
        for weights in WEIGHTS
        for order in ORDERS
    ]


EXPERIMENTS = (
    Experiment(
        name="edges",
        summary="ELIAS' edges and shared weights beside our slots with weights of their own.",
        methods=_methods,
        columns=ALL_TABLES,
        baseline="capped, own, product",
        is_timed=True,
        notes=(
            "Named by assignment, weights of slots and order of labels. Two copies; strongest: "
            "each cluster takes the labels with most documents there, as in ELIAS; shared: one "
            "vector per label, from the documents of all its clusters. One training serves both "
            "orders, so its seconds are those with the order learned."
        ),
    ),
)
