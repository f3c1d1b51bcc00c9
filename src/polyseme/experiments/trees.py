"""Trees of every shape, and forests whose trees differ by what labels are compared by."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyseme.experiments.definition import Experiment, Method
from polyseme.experiments.measuring import Figures, measure
from polyseme.experiments.problem import Problem
from polyseme.experiments.run_names import run_named
from polyseme.experiments.tables import ACCURACY, COST, PROPENSITY

__all__ = ["EXPERIMENTS"]

WIDE = {"branching": 100}
TREES: dict[str, dict[str, Any]] = {
    "balanced": {},
    "k-means": WIDE,
    "bonsai": WIDE,
    "huffman": {},
    "random": {},
}
PLAIN = {"copies": 1, "rounds": 0, "max_leaf_size": 100}
FOREST = {"copies": 2, "n_trees": 3}
TREE_FEATURES = ("documents", "sampled", "co-occurrence", "both", "varied")


@run_named("trees")
def run_with_levels(problem: Problem, method: Method, seed: int) -> Figures:
    """Measure everything, and how many nodes each level of the tree has."""
    model = problem.fit(method.parameters, seed)
    tree = model.tree_
    levels = [tree.n_nodes(level) for level in range(1, tree.n_levels + 1)]
    largest = int(np.max(model.clusters_.sizes))
    return {**measure(model, problem), "tree_levels": levels, "largest_cluster": largest}


def _trees(problem: Problem) -> list[Method]:
    return [
        Method(tree, {**PLAIN, "tree": tree, **own}, run=run_with_levels)
        for tree, own in TREES.items()
    ]


def _forests(problem: Problem) -> list[Method]:
    return [Method(by, {**FOREST, "tree_features": by}) for by in TREE_FEATURES]


EXPERIMENTS = (
    Experiment(
        name="trees",
        summary="Trees of every shape, with one place per label.",
        methods=_trees,
        columns={"Accuracy": ACCURACY, "Rare labels": PROPENSITY, "Cost": COST},
        baseline="balanced",
        is_timed=True,
    ),
    Experiment(
        name="forests",
        summary="Three trees that differ by what labels are compared by.",
        methods=_forests,
        columns={"Accuracy": ACCURACY, "Rare labels": PROPENSITY, "Cost": COST},
        baseline="documents",
        is_timed=True,
    ),
)
