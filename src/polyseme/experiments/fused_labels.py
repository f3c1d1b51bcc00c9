"""Labels fused on purpose, and whether what was put together is told apart again.

The paper's synthetic entanglement (Figure and Table "three modes"): P@5 of plain XR-Linear and of
two copies, when every 2, 5, 10 or 20 labels are one. As it is known here what a label is made of,
it is also measured whether its slots stand for its parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from polyseme import metrics
from polyseme.estimators.xr_linear import XRLinear
from polyseme.experiments import paper
from polyseme.experiments.cells import Results
from polyseme.experiments.definition import Experiment, Method
from polyseme.experiments.figures import COLOURS, panels
from polyseme.experiments.label_fusion import MODES, Ints, fuse_columns, group_labels
from polyseme.experiments.measuring import KS, Figures, accuracy, seconds, sizes
from polyseme.experiments.problem import Problem
from polyseme.experiments.published import DEFAULTS, PAPER, PLAIN, XR_LINEAR
from polyseme.experiments.report import INTERVALS, compare
from polyseme.experiments.run_names import run_named
from polyseme.experiments.separation import FIGURES, judge_separation, where_documents_go
from polyseme.experiments.statistics import mean_and_deviation
from polyseme.experiments.tables import Table, comparison_text, mean_text
from polyseme.machine.threads import count_threads

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "fused_problem"]

N_FUSED = (2, 5, 10, 20)
N_FUSED_MANY_CLUSTERS = (5, 20)
COPIES_2 = "copies 2"
LEAF_SIZE = 100  # of the paper
N_PERMUTATIONS = 10
SHORT = dict(zip(FIGURES, ("VI, bits", "NMI", "purity"), strict=True))


@dataclass(frozen=True)
class Setting:
    """A way to fuse labels, and how large clusters are.

    Fused labels are few: with the paper's clusters of 100 there may be no more clusters than the
    beam takes, and then nothing is ever out of reach. With `many_clusters` they are smaller, so
    that there are as many as before the fusion.
    """

    mode: str
    n_fused: int
    many_clusters: bool = False

    @property
    def title(self) -> str:
        more = ", many clusters" if self.many_clusters else ""
        return f"{self.mode}, {self.n_fused} fused{more}"

    def method(self, name: str, parameters: Mapping[str, Any]) -> Method:
        leaf_size = max(2, LEAF_SIZE // self.n_fused) if self.many_clusters else LEAF_SIZE
        return Method(
            self.named(name),
            {**parameters, "max_leaf_size": leaf_size},
            options={"mode": self.mode, "n_fused": self.n_fused},
            run=run_fused,
        )

    def named(self, method: str) -> str:
        return f"{self.title}: {method}"


SETTINGS = [Setting(mode, n) for mode in MODES for n in N_FUSED]
MANY_CLUSTERS = [Setting("hard", n, many_clusters=True) for n in N_FUSED_MANY_CLUSTERS]


def _methods(problem: Problem) -> list[Method]:
    published = [(XR_LINEAR, PLAIN), (COPIES_2, PAPER)]
    found = [setting.method(*of) for setting in [*SETTINGS, *MANY_CLUSTERS] for of in published]
    return found + [setting.method(DEFAULTS, {}) for setting in MANY_CLUSTERS]


@run_named("fused labels")
def run_fused(problem: Problem, method: Method, seed: int) -> Figures:
    """Fuse labels, train on the fused ones, and measure; the seed decides what is fused."""
    fused_label, fused = fused_problem(
        problem, method.options["mode"], method.options["n_fused"], seed
    )
    model = fused.fit(method.parameters, seed)
    top_labels, _ = model.predict_top_k(fused.X_test, max(KS))
    return {
        **accuracy(top_labels, fused),
        **sizes(model),
        **seconds(model),
        **_reach_and_separation(model, problem, fused, fused_label, seed),
    }


@lru_cache(maxsize=1)  # methods that are compared follow each other
def fused_problem(problem: Problem, mode: str, n_fused: int, seed: int) -> tuple[Ints, Problem]:
    """Return the fused label of each label, and the problem with fused labels."""
    fused_label = group_labels(problem.X_train, problem.Y_train, n_fused, mode, seed=seed)
    fused = problem.with_labels(
        fuse_columns(problem.Y_train, fused_label), fuse_columns(problem.Y_test, fused_label)
    )
    return fused_label, fused


def _reach_and_separation(
    model: XRLinear, problem: Problem, fused: Problem, fused_label: Ints, seed: int
) -> Figures:
    figures: Figures = {}
    n_threads = count_threads(problem.n_threads)
    for part, X, Y, fused_Y in (
        ("train", problem.X_train, problem.Y_train, fused.Y_train),
        ("test", problem.X_test, problem.Y_test, fused.Y_test),
    ):
        matched = model.match(X)
        figures[f"reach_{part}"] = metrics.reach(
            matched.to_scipy(), model.clusters_, fused_Y, n_threads=n_threads
        )
        gone = where_documents_go(matched, model.clusters_, Y, fused_label)
        found = judge_separation(gone, n_permutations=N_PERMUTATIONS, seed=seed).means()
        # Where nothing could be judged there is no figure: JSON has no "not a number".
        figures |= {f"{part}_{name}": value for name, value in found.items() if value == value}
    return figures


def _sections(results: Results) -> list[Table | str]:
    return [
        _gain_table("Gain of two copies, P@5", SETTINGS, COPIES_2, results),
        _gain_table("The same with as many clusters as before", MANY_CLUSTERS, COPIES_2, results),
        _gain_table(f"The same for {DEFAULTS}", MANY_CLUSTERS, DEFAULTS, results),
        _other_gains_table(results),
        SEPARATION,
        _separation_table("test", results),
        _separation_table("train", results),
    ]


SEPARATION = (
    "Do slots stand for parts? Each document of a fused label goes to that of its slots whose "
    "cluster the matcher scores best; compared with the part it has in truth. In brackets what "
    "chance does: the same documents dealt out to the slots at random, as many to each. VI "
    "(variation of information) is better if smaller, NMI (normalised mutual information) and "
    "purity if larger. Means over fused labels, and in the last columns over their documents; "
    "judged are labels with several slots whose documents have several parts, but not documents "
    "with two parts of a label at once."
)


def _gain_table(title: str, settings: Sequence[Setting], ours: str, results: Results) -> Table:
    rows = []
    for setting in settings:
        base, other = setting.named(XR_LINEAR), setting.named(ours)
        rows.append(
            [
                setting.title,
                _mean(results, base, "n_clusters", 0),
                _mean(results, base, "P@5"),
                _mean(results, other, "P@5"),
                comparison_text(compare(results, other, base, 5)),
                _signed(_relative_gains(results, setting, ours)),
                *(f"{gain:+.2f}" for gain in _papers_gains(setting)),
            ]
        )
    papers = [f"{data} %" for data in paper.FUSED_P5]
    columns = ("", "clusters", XR_LINEAR, ours, "difference", "relative %", *papers)
    note = f"{INTERVALS} The last columns are the paper's relative gains on its data."
    return Table(title, columns, rows, note)


def _other_gains_table(results: Results) -> Table:
    """Return what the paper does not show: the first places, and what the beam reaches."""
    rows = []
    for setting in [*SETTINGS, *MANY_CLUSTERS]:
        base, other = setting.named(XR_LINEAR), setting.named(COPIES_2)
        row = [setting.title]
        for k in (1, 3):
            row += [
                _mean(results, base, f"P@{k}"),
                comparison_text(compare(results, other, base, k)),
            ]
        row += [_mean(results, method, "reach_test", 1) for method in (base, other)]
        row += [_mean(results, method, "training_seconds", 1) for method in (base, other)]
        rows.append(row)
    columns = (
        *("", f"P@1, {XR_LINEAR}", "difference", f"P@3, {XR_LINEAR}", "difference"),
        *(f"reached, test %, {XR_LINEAR}", COPIES_2),
        *(f"training s, {XR_LINEAR}", COPIES_2),
    )
    return Table("First places, reach and cost", columns, rows)


def _separation_table(part: str, results: Results) -> Table:
    methods = [setting.named(COPIES_2) for setting in [*SETTINGS, *MANY_CLUSTERS]]
    methods += [setting.named(DEFAULTS) for setting in MANY_CLUSTERS]
    rows = [
        [
            method,
            _mean(results, method, f"{part}_n_judged", 0),
            *(
                _beside_chance(results, method, f"{part}_{name}{suffix}")
                for suffix in ("", "_weighted")
                for name in FIGURES
            ),
        ]
        for method in methods
    ]
    columns = (
        "",
        "labels",
        *SHORT.values(),
        *(f"{name}, by documents" for name in SHORT.values()),
    )
    return Table(f"Slots against parts, {part} documents", columns, rows)


def _beside_chance(results: Results, method: str, figure: str) -> str:
    seen, by_chance = (
        mean_and_deviation(results.values(method, name))[0]
        for name in (figure, f"{figure}_by_chance")
    )
    return "" if seen != seen else f"{seen:.3f} ({by_chance:.3f})"


def _mean(results: Results, method: str, figure: str, digits: int = 2) -> str:
    return mean_text(results.values(method, figure).tolist(), digits)


def _relative_gains(results: Results, setting: Setting, ours: str) -> list[float]:
    """Return the gain of each seed in percent of the baseline, as in the paper's figure."""
    pairs = results.paired("P@5", setting.named(ours), setting.named(XR_LINEAR))
    return [100 * (other / base - 1) for other, base in zip(*pairs, strict=True) if base > 0]


def _papers_gains(setting: Setting) -> list[float]:
    reported = [modes[setting.mode][setting.n_fused] for modes in paper.FUSED_P5.values()]
    return [100 * (ours / base - 1) for base, ours in reported]


def _signed(values: Sequence[float]) -> str:
    text = mean_text(values)
    return text if not text or text.startswith("-") else f"+{text}"


def _draw(results: Results) -> Figure:
    name = results.data["name"]
    figure, axes = panels(2, 3, f"{name}: labels fused on purpose, two copies against one")
    here, *papers = axes[:3]
    for mode, colour in zip(MODES, COLOURS, strict=False):
        settings = [setting for setting in SETTINGS if setting.mode == mode]
        _draw_gains(
            here, settings, [_relative_gains(results, s, COPIES_2) for s in settings], colour
        )
        for number, axis in enumerate(papers):
            _draw_gains(axis, settings, [[_papers_gains(s)[number]] for s in settings], colour)
        for axis, figure_name in zip(axes[3:], FIGURES, strict=True):
            _draw_separation(axis, settings, results, f"test_{figure_name}", colour)
    for axis, title in zip(axes[:3], (name, *paper.FUSED_P5), strict=True):
        axis.set(title=title if axis is here else f"{title} (the paper)")
        axis.set_ylabel("relative gain of P@5, %")
        axis.axhline(0, color="black", linewidth=0.6)
    for axis, label in zip(axes[3:], SHORT.values(), strict=True):
        axis.set(title="slots against parts; dotted: chance", ylabel=f"{label}, test")
    for axis in axes:
        axis.set(xscale="log", xlabel="labels fused into one")
        axis.set_xticks(N_FUSED, labels=[str(n) for n in N_FUSED])
        axis.minorticks_off()
    papers[0].legend(fontsize=7)  # where there are always lines
    return figure


def _draw_gains(
    axis: Axes, settings: Sequence[Setting], gains: Sequence[Sequence[float]], colour: str
) -> None:
    known = [
        (s.n_fused, *mean_and_deviation(g)) for s, g in zip(settings, gains, strict=True) if g
    ]
    if known:
        xs, means, deviations = zip(*known, strict=True)
        axis.errorbar(
            xs,
            means,
            np.nan_to_num(deviations),
            label=settings[0].mode,
            color=colour,
            marker="o",
            markersize=3,
            capsize=2,
        )


def _draw_separation(
    axis: Axes, settings: Sequence[Setting], results: Results, figure: str, colour: str
) -> None:
    for name, style in ((figure, "o-"), (f"{figure}_by_chance", ":")):
        points = [
            (setting.n_fused, float(values.mean()))
            for setting in settings
            if len(values := results.values(setting.named(COPIES_2), name))
        ]
        axis.plot(*np.array(points).reshape(-1, 2).T, style, color=colour, markersize=3)


EXPERIMENTS = (
    Experiment(
        name="fused-labels",
        summary="Labels fused on purpose: gain of two copies, and whether slots stand for parts.",
        methods=_methods,
        sections=_sections,
        draw=_draw,
        paper=[paper.fused_table()],
        notes=(
            "Easy fuses similar labels, medium random ones within groups of 32 k similar labels, "
            "hard random ones. Similar groups are found by recursive balanced 2-means; the paper "
            "says balanced K-means. Where there are no more clusters than the beam takes (10), "
            "all labels are reached with and without copies; hence the second table."
        ),
    ),
)
