"""How far an honest choice gets: settings picked on held-out training documents alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from polyseme.experiments.cells import Results
from polyseme.experiments.choices import cluster_limit
from polyseme.experiments.definition import Experiment, Method
from polyseme.experiments.measuring import KS, Figures, accuracy, measure
from polyseme.experiments.problem import Problem
from polyseme.experiments.report import comparison_table, figure_table
from polyseme.experiments.run_names import run_named
from polyseme.experiments.statistics import mean_and_deviation
from polyseme.experiments.tables import ACCURACY, COST, Column, Table

__all__ = ["EXPERIMENTS"]

DEFAULTS = "defaults"
HELD_OUT_SHARE = 0.1
HELD_OUT = tuple(Column(f"P@{k}", f"held_out_P@{k}") for k in KS)


def _candidates(problem: Problem) -> list[Method]:
    wide = {"max_cluster_size": cluster_limit(problem, 6)}
    both, fine, large = {"training_rows": "both"}, {"min_weight": 0.05}, {"max_leaf_size": 200}
    candidates: dict[str, dict[str, Any]] = {
        DEFAULTS: {},
        "min_weight 0.05": fine,
        "leaves of 200": large,
        "copies 3, wide": {"copies": 3, **wide},
        "rows of both": both,
        "rows of both, min_weight 0.05": {**both, **fine},
        "rows of both, leaves of 200, min_weight 0.05": {**both, **large, **fine},
        "rows of both, wide, min_weight 0.05": {**both, **wide, **fine},
        "rows of both, copies 3, wide, min_weight 0.05": {**both, **wide, **fine, "copies": 3},
    }
    return [Method(name, parameters, run=run_candidate) for name, parameters in candidates.items()]


@run_named("candidate")
def run_candidate(problem: Problem, method: Method, seed: int) -> Figures:
    """Train without a part of the training documents and judge on it; then train on all."""
    n_train = problem.X_train.shape[0]
    is_held_out = np.random.default_rng(seed).random(n_train) < HELD_OUT_SHARE
    trial = replace(
        problem,
        X_train=problem.X_train[~is_held_out],
        Y_train=problem.Y_train[~is_held_out],
        X_test=problem.X_train[is_held_out],
        Y_test=problem.Y_train[is_held_out],
    )
    top_labels, _ = trial.fit(method.parameters, seed).predict_top_k(trial.X_test, max(KS))
    judged = accuracy(top_labels, trial)
    return {
        **measure(problem.fit(method.parameters, seed), problem),
        **{f"held_out_P@{k}": judged[f"P@{k}"] for k in KS},
    }


def _chosen(results: Results) -> str:
    def quality(method: str) -> float:
        means = [mean_and_deviation(results.values(method, c.figure))[0] for c in HELD_OUT]
        return float(np.nan_to_num(sum(means), nan=-np.inf))

    return max(results.methods, key=quality)


def _sections(results: Results) -> list[Table | str]:
    if not results.methods:
        return []
    chosen = _chosen(results)
    names = list(dict.fromkeys([DEFAULTS, chosen]))
    shown = results.only(names, results.seeds)
    return [
        figure_table("On held-out training documents, trained on the others", HELD_OUT, results),
        f"The best of them, by the mean of P@1, 3 and 5: **{chosen}**.",
        figure_table("On the test documents, trained on all", ACCURACY, shown),
        *([comparison_table(shown, DEFAULTS)] if chosen != DEFAULTS else []),
        figure_table("Cost; prediction per document", COST, shown),
    ]


EXPERIMENTS = (
    Experiment(
        name="tuned",
        summary="The setting that is best on held-out training documents, and its test figures.",
        methods=_candidates,
        sections=_sections,
        notes=(
            "Test documents have no say in the choice; only the chosen setting and the defaults "
            "are shown on them. Wide: clusters of up to six times the mean number of labels. "
            "Rows of both: slots learn from documents of their cluster's labels and from those "
            "that the matcher sends there."
        ),
    ),
)
