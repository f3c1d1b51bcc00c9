"""The paper's own experiments with XR-Linear: its tables and its figure of copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyseme.experiments import paper
from polyseme.experiments.cells import Results
from polyseme.experiments.definition import Experiment, Method
from polyseme.experiments.figures import COLOURS, draw_level, draw_points, panels
from polyseme.experiments.problem import Problem
from polyseme.experiments.tables import (
    ACCURACY,
    ALL_TABLES,
    COST,
    REACH,
    Table,
    mean_text,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "PAPER", "PLAIN"]

# Appendix "Hyperparameters", in this library's words.
BACKBONE = {
    "beam_size": 10,
    "branching": 32,
    "max_leaf_size": 100,
    "training_rows": "teacher-forcing",
}
PLAIN = {**BACKBONE, "copies": 1, "rounds": 0}
PAPER = {
    **BACKBONE,
    "copies": 2,
    "rounds": 1,
    "assignment": "closed_form",
    "merge": "mean",
    "match_folds": 0,
}

XR_LINEAR = "XR-Linear"
DEFAULTS = "polyseme's defaults"


def _linear(problem: Problem) -> list[Method]:
    return [
        Method(XR_LINEAR, PLAIN),
        Method("no alternative update", {**PAPER, "finetune_matcher": False}),
        Method("alternative update", PAPER),
        Method(DEFAULTS),
    ]


MOST_COPIES = 6
OUR_COPIES = (1, 2, 4)


def _copies(problem: Problem) -> list[Method]:
    paper_like = [
        Method(_with_copies(n), {**PAPER, "copies": n}) for n in range(1, MOST_COPIES + 1)
    ]
    ours = [Method(_with_copies(n, DEFAULTS), {"copies": n}) for n in OUR_COPIES]
    return [Method(XR_LINEAR, PLAIN), *paper_like, *ours]


def _with_copies(n: int, whose: str = "") -> str:
    return f"{whose}, copies {n}" if whose else f"copies {n}"


def _draw_copies(results: Results) -> Figure:
    columns = [*ACCURACY, REACH[1], COST[0], COST[1]]
    figure, axes = panels(2, 3, f"{results.data['name']}: in how many clusters a label may be")
    for axis, column in zip(axes, columns, strict=True):
        draw_level(axis, results, column, XR_LINEAR, COLOURS[4])
        papers = [(n, _with_copies(n)) for n in range(1, MOST_COPIES + 1)]
        draw_points(axis, results, column, papers, "the paper's settings", COLOURS[0])
        ours = [(n, _with_copies(n, DEFAULTS)) for n in OUR_COPIES]
        draw_points(axis, results, column, ours, DEFAULTS, COLOURS[1])
        axis.set_xlabel("copies")
    axes[0].legend(fontsize=7)
    axes[3].set_ylabel("test pairs reached, %")
    return figure


def _random_copies(problem: Problem) -> list[Method]:
    return [
        Method(XR_LINEAR, PLAIN),
        Method("random", {**PAPER, "assignment": "random"}),
        Method("closed form", PAPER),
        Method("random, scores summed", {"assignment": "random"}),
        Method(DEFAULTS),
    ]


def _overhead(problem: Problem) -> list[Method]:
    return [
        Method(XR_LINEAR, PLAIN),
        Method("copies 1", {**PAPER, "copies": 1}),
        Method("copies 2", PAPER),
        Method(DEFAULTS),
    ]


def _extra_times(results: Results) -> list[Table | str]:
    timed = {
        "training": "training_seconds",
        "prediction of a document": "prediction_us",
        "one by one": "one_document_us",
    }
    rows = [
        [method, *(_extra(results, method, figure) for figure in timed.values())]
        for method in results.methods
        if method != XR_LINEAR
    ]
    note = f"Time of the method / time of {XR_LINEAR} - 1, seed by seed; the paper's way to count."
    return [Table("Extra time, in times of the baseline", ("", *timed), rows, note)]


def _extra(results: Results, method: str, figure: str) -> str:
    ours, base = results.paired(figure, method, XR_LINEAR)
    extra = [a / b - 1 for a, b in zip(ours, base, strict=True)]
    return f"+{mean_text(extra)}" if extra and sum(extra) > 0 else mean_text(extra)


EXPERIMENTS = (
    Experiment(
        name="linear",
        summary="XR-Linear, + disentanglement without and with the alternative update.",
        methods=_linear,
        columns=ALL_TABLES,
        baseline=XR_LINEAR,
        paper=[paper.precision_table(paper.LINEAR, XR_LINEAR)],
    ),
    Experiment(
        name="copies",
        summary="Accuracy, coverage and cost against copies 1 to 6.",
        methods=_copies,
        columns=ALL_TABLES,
        baseline=XR_LINEAR,
        notes=paper.COPIES_CLAIM,
        draw=_draw_copies,
    ),
    Experiment(
        name="random-copies",
        summary="Second clusters chosen at random against those chosen by the matcher.",
        methods=_random_copies,
        columns=ALL_TABLES,
        baseline="random",
        paper=[paper.precision_table(paper.RANDOM, "random")],
    ),
    Experiment(
        name="overhead",
        summary="Extra training and prediction time for copies 1 and 2.",
        methods=_overhead,
        columns={"Cost": COST},
        is_timed=True,
        sections=_extra_times,
        paper=[paper.overhead_table()],
    ),
)
