"""Is the gain worth its price? Other ways to spend as much prediction time or as many bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.estimators.xr_linear import XRLinear
from polyseme.experiments.cells import Results
from polyseme.experiments.definition import Experiment, Method
from polyseme.experiments.figures import COLOURS, panels
from polyseme.experiments.measuring import (
    KS,
    Figures,
    accuracy,
    prediction_times,
    seconds,
    sizes,
)
from polyseme.experiments.problem import Problem
from polyseme.experiments.report import compare
from polyseme.experiments.run_names import run_named
from polyseme.experiments.shared_training import fit_once_and_measure
from polyseme.experiments.statistics import mean_and_deviation
from polyseme.experiments.tables import (
    ACCURACY,
    COST,
    Column,
    Table,
    comparison_text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "average_top_k", "best_at_the_same_price"]

PLAIN = {"copies": 1, "rounds": 0}
BEAMS = (5, 10, 15, 20, 30, 50)
SECOND_SEED = 1000  # of the other tree, added to the first
N_KEPT = 20  # labels of each tree whose scores are averaged
TOLERANCE = 1.05  # "the same" time or size


def _methods(problem: Problem) -> list[Method]:
    return [
        *(_predicting(f"plain, beam {beam}", PLAIN, beam) for beam in BEAMS),
        Method("plain, leaves of 50", {**PLAIN, "max_leaf_size": 50}),
        Method("plain, leaves of 25", {**PLAIN, "max_leaf_size": 25}),
        Method("plain, branching 8", {**PLAIN, "branching": 8}),
        Method("plain, min_weight 0.05", {**PLAIN, "min_weight": 0.05}),
        *(
            Method(f"two trees, beam {beam}", {**PLAIN, "beam_size": beam}, run=run_two_trees)
            for beam in (5, 10)
        ),
        *(_predicting(f"copies 2, beam {beam}", {"copies": 2}, beam) for beam in (5, 10, 20)),
        Method("copies 2, min_weight 0.2", {"copies": 2, "min_weight": 0.2}),
    ]


def _predicting(name: str, parameters: dict[str, Any], beam_size: int) -> Method:
    options = {"predict": {"beam_size": beam_size}}
    return Method(name, parameters, options, fit_once_and_measure)


# An ensemble of two trees


@run_named("two trees")
def run_two_trees(problem: Problem, method: Method, seed: int) -> Figures:
    """Train two models on different trees and average their scores."""
    models = [problem.fit(method.parameters, s) for s in (seed, seed + SECOND_SEED)]

    def predict(X: sp.csr_array) -> npt.NDArray[np.int32]:
        return average_top_k(models, X, max(KS))

    figures: Figures = {
        **accuracy(predict(problem.X_test), problem),
        **prediction_times(predict, problem.X_test),
    }
    for name in ("model_bytes", "n_slots"):
        figures[name] = sum(sizes(model)[name] for model in models)
    figures["training_seconds"] = sum(seconds(model)["training_seconds"] for model in models)
    return figures


def average_top_k(models: list[XRLinear], X: sp.csr_array, k: int) -> npt.NDArray[np.int32]:
    """Return the k labels of largest mean score, shape (n_documents, k), padded with -1.

    The best labels of each model count; one that is not among them has score 0 there.
    """
    found = [model.predict_top_k(X, max(k, N_KEPT)) for model in models]
    labels = np.hstack([top for top, _ in found])
    scores = np.hstack([scores for _, scores in found]) / len(models)
    # Equal labels side by side, then their scores added up on the first of them.
    order = np.argsort(labels, axis=1, kind="stable")
    labels = np.take_along_axis(labels, order, axis=1)
    scores = np.take_along_axis(scores, order, axis=1)
    for again in range(1, len(models)):
        same = labels[:, again:] == labels[:, :-again]
        scores[:, :-again] += np.where(same, scores[:, again:], 0)
    is_first = np.ones(labels.shape, dtype=bool)
    is_first[:, 1:] = labels[:, 1:] != labels[:, :-1]
    scores = np.where(is_first & (labels >= 0), scores, -np.inf)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    chosen = np.take_along_axis(labels, best, axis=1)
    is_there = np.isfinite(np.take_along_axis(scores, best, axis=1))
    top: npt.NDArray[np.int32] = np.where(is_there, chosen, -1).astype(np.int32)
    return top


# The answer

OURS = "copies 2, beam 10"
PRICES = {"prediction time": COST[1], "model size": COST[3]}


def best_at_the_same_price(results: Results, method: str, price: str) -> str | None:
    """Return the most accurate model without copies that costs no more, if there is one."""
    column = PRICES[price]
    limit = TOLERANCE * _mean(results, method, column)
    affordable = [
        rival
        for rival in results.methods
        if not rival.startswith("copies") and _mean(results, rival, column) <= limit
    ]
    return max(affordable, key=lambda rival: _quality(results, rival), default=None)


def _at_the_same_price(results: Results) -> list[Table | str]:
    rows = []
    for method in results.methods:
        if not method.startswith("copies"):
            continue
        for price in PRICES:
            best = best_at_the_same_price(results, method, price)
            gains = [
                "" if best is None else comparison_text(compare(results, method, best, k))
                for k in KS
            ]
            rows.append([f"{method}, {price}", best or "none", *gains])
    columns = ("copies 2 against", "the best at that price", *(f"P@{k}" for k in KS))
    note = (
        "For each model with two copies, the best other one (by the mean of P@1, 3, 5 on the same "
        f"test documents, which favours it) that costs at most {TOLERANCE - 1:.0%} more; gains of "
        "two copies over it with 95% intervals, * where these are on one side of zero."
    )
    return [Table("At the same price", columns, rows, note)]


def _mean(results: Results, method: str, column: Column) -> float:
    return mean_and_deviation(results.values(method, column.figure))[0]


def _quality(results: Results, method: str) -> float:
    return sum(_mean(results, method, column) for column in ACCURACY)


def _draw(results: Results) -> Figure:
    groups = {
        "plain, beams": [f"plain, beam {beam}" for beam in BEAMS],
        "plain, otherwise": [
            m for m in results.methods if m.startswith("plain") and "beam" not in m
        ],
        "two trees": [m for m in results.methods if m.startswith("two trees")],
        "copies 2": [m for m in results.methods if m.startswith("copies 2")],
    }
    figure, axes = panels(2, 2, f"{results.data['name']}: accuracy for its price")
    rows = [(ACCURACY[0], price) for price in PRICES.values()]
    rows += [(ACCURACY[2], price) for price in PRICES.values()]
    for axis, (quality, price) in zip(axes, rows, strict=True):
        for (label, methods), colour in zip(groups.items(), COLOURS, strict=False):
            there = [method for method in methods if method in results.methods]
            xs = [_mean(results, method, price) / price.unit for method in there]
            ys = [_mean(results, method, quality) for method in there]
            axis.scatter(xs, ys, s=18, label=label, color=colour)
            for x, y, method in zip(xs, ys, there, strict=True):
                if x == x:  # a method of which all cells were skipped has no place
                    axis.annotate(method.split(", ")[1], (x, y), fontsize=5, alpha=0.8)
        _draw_frontier(axis, results, quality, price)
        axis.set_xlabel(price.title)
        axis.set_ylabel(quality.title)
    axes[0].legend(fontsize=7)
    return figure


def _draw_frontier(axis: Axes, results: Results, quality: Column, price: Column) -> None:
    """Join the methods that no cheaper one beats."""
    points = [
        (_mean(results, method, price) / price.unit, _mean(results, method, quality))
        for method in results.methods
    ]
    frontier: list[tuple[float, float]] = []
    for x, y in sorted((x, -y) for x, y in points if x == x):
        if not frontier or -y > frontier[-1][1]:
            frontier.append((x, -y))
    xs, ys = [x for x, _ in frontier], [y for _, y in frontier]
    axis.plot(xs, ys, color=COLOURS[4], linewidth=0.7, zorder=0)


EXPERIMENTS = (
    Experiment(
        name="equal-cost",
        summary="Two copies against other ways to spend as much time or memory.",
        methods=_methods,
        columns={"Accuracy": ACCURACY, "Price; prediction per document": COST},
        baseline=OURS,
        is_timed=True,
        sections=_at_the_same_price,
        draw=_draw,
        notes=(
            "Beams are those of prediction; with two copies, slots were chosen with a beam of 10. "
            "Two trees are two plain models with different seeds whose scores are averaged, "
            "in NumPy, which one by one takes most of their time. The paper "
            "has no such comparison."
        ),
    ),
)
