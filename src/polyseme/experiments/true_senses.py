"""Are senses true? Labels fused on purpose, and whether their parts are found again.

Half of the labels with enough documents are fused; the model is trained on what comes out and does
not know of it. Three questions have an answer then: is the sense of a document the part that it
has, is the probability of being ambiguous that of being fused, and are there as many senses as
parts. Nothing that is predicted may change.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polyseme.experiments.cells import Results
from polyseme.experiments.definition import Experiment, Method
from polyseme.experiments.figures import COLOURS, panels
from polyseme.experiments.judged_senses import N_BINS, NamingJudge, auc, judge_ambiguity
from polyseme.experiments.label_fusion import Ints, fuse_columns, fuse_half
from polyseme.experiments.measuring import KS, Figures, accuracy, seconds
from polyseme.experiments.problem import Problem
from polyseme.experiments.run_names import run_named
from polyseme.experiments.statistics import compare_seeds, mean_and_deviation
from polyseme.experiments.tables import Table, comparison_text, interval_text, mean_text
from polyseme.machine import phases
from polyseme.senses.describe import ambiguity
from polyseme.senses.layer import SHOWN_FROM, SenseLayer
from polyseme.senses.naming import N_OTHER_LABELS
from polyseme.senses.slots import division_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "Fusion", "percents_by_senses", "reliability_of", "run_senses"]

ENOUGH_DOCUMENTS = 20  # of a label, to ask whether it is ambiguous
MOST_SENSES = 5
SHADES = ("#dddddd", "#a9c7d1", "#5f9bb0", "#1f6f8b", "#123f4f")


@dataclass(frozen=True)
class Fusion:
    """A way to fuse labels: how many, how alike, and how frequent they are."""

    mode: str
    n_parts: int = 2
    least: int = 10
    most: int | None = None

    def may_ask(self, counts: Ints) -> npt.NDArray[np.bool_]:
        """Return which labels to ask about: as frequent as fused ones, and frequent enough."""
        at_least = min(ENOUGH_DOCUMENTS, self.n_parts * self.least)
        asked = counts >= at_least
        return asked if self.most is None else asked & (counts <= self.n_parts * self.most)


FUSIONS = {
    "random pairs": Fusion("hard"),
    "medium pairs": Fusion("medium"),
    "easy pairs": Fusion("easy"),
    "random, 3 parts": Fusion("hard", 3),
    "random, 5 parts": Fusion("hard", 5),
    "pairs of rare labels": Fusion("hard", least=3, most=10),
}
NOT_FUSED = "nothing fused"
COMPARED = ("random pairs",)  # with the same model without senses


def _methods(problem: Problem) -> list[Method]:
    found = [_method(title, title, "induce") for title in [*FUSIONS, NOT_FUSED]]
    return found + [_method(_without_senses(title), title, "none") for title in COMPARED]


def _method(name: str, title: str, senses: str) -> Method:
    fusion = FUSIONS.get(title)
    options = {"fusion": None if fusion is None else asdict(fusion), "senses": senses}
    return Method(name, options=options, run=run_senses)


def _without_senses(title: str) -> str:
    return f"{title}, without senses"


@run_named("true senses")
def run_senses(problem: Problem, method: Method, seed: int) -> Figures:
    """Fuse labels, train, and judge the senses; the seed decides what is fused."""
    given = method.options["fusion"]
    fusion = None if given is None else Fusion(**given)
    fused_label, n_fused = _fused(problem, fusion, seed)
    fused = problem.with_labels(
        fuse_columns(problem.Y_train, fused_label), fuse_columns(problem.Y_test, fused_label)
    )
    model = fused.fit({**method.parameters, "senses": method.options["senses"]}, seed)
    ranked = model.predict_top_k(fused.X_test, min(N_OTHER_LABELS, fused.n_labels))
    precisions = accuracy(ranked[0][:, : max(KS)], fused)
    del precisions["hits"]  # whether they are equal is all that is asked
    figures = {**precisions, **seconds(model)}
    layer = model.senses_
    if layer is None:
        return figures
    figures["senses_seconds"] = model.phase_seconds_[phases.SENSES]
    figures["senses_percent"] = 100 * figures["senses_seconds"] / figures["training_seconds"]
    figures |= {"n_labels": fused.n_labels, "n_judged": layer.n_judged, "n_shown": layer.n_shown}
    if fusion is None:
        return {**figures, "n_senses": {"shown": _counted(layer, slice(None), fused.n_labels)}}
    is_fused = np.arange(fused.n_labels) < n_fused
    asked = fusion.may_ask(model.label_counts_)
    figures["n_senses"] = {
        "split": _counted(layer, is_fused, fused.n_labels, at_least=0),
        "shown": _counted(layer, is_fused, fused.n_labels),
        "unfused": _counted(layer, asked & ~is_fused, fused.n_labels),
    }
    figures |= {"n_fused": n_fused, "n_asked": int(asked.sum())}
    figures |= judge_ambiguity(ambiguity(model)[asked], is_fused[asked])
    others = {"size": model.label_counts_, "slots": division_scores(model)}
    for name, scores in others.items():
        figures[f"AUC_by_{name}"] = auc(scores[asked], is_fused[asked])
    if n_fused > 0:
        figures |= NamingJudge(problem, fused, model, ranked, fused_label, n_fused, seed).figures()
    # Where nothing could be judged there is no figure: JSON has no "not a number".
    return {name: value for name, value in figures.items() if value == value}


def _fused(problem: Problem, fusion: Fusion | None, seed: int) -> tuple[Ints, int]:
    if fusion is None:
        return np.arange(problem.n_labels), 0
    return fuse_half(
        problem.X_train,
        problem.Y_train,
        fusion.n_parts,
        fusion.mode,
        least=fusion.least,
        most=fusion.most,
        seed=seed,
    )


def _counted(
    layer: SenseLayer, labels: Any, n_labels: int, at_least: float = SHOWN_FROM
) -> list[int]:
    """Return how many labels have one sense, two, and so on."""
    n_senses = layer.senses_by_label(n_labels, at_least)[labels]
    found: list[int] = np.bincount(
        np.minimum(n_senses, MOST_SENSES) - 1, minlength=MOST_SENSES
    ).tolist()
    return found


# Tables

ANSWERS = {
    "split": "senses of every label",
    "shown": "senses that are shown",
    "slots": "slots",
    "parts": "true parts, same naming",
    "whole": "always the larger part",
}
FIGURES = ("NMI", "purity", "right")


def _sections(results: Results) -> list[Table | str]:
    return [
        NAMING,
        *(_naming_table(title, results) for title in FUSIONS),
        AMBIGUITY,
        _ambiguity_table(results),
        _reliability_table(results),
        _number_table(results),
        _accuracy_table(results),
        _cost_table(results),
        _unfused_table(results),
    ]


NAMING = (
    "Which part has a test document? NMI (normalised mutual information) and purity of senses "
    "against parts, and how often the sense is right; senses stand for parts one to one, as most "
    "training documents say. Means over fused labels, with their 95% interval over seeds in "
    "brackets, beside what comes of the same documents dealt out to the senses at random. The "
    "last column is no mean over labels: it is the share of all pairs of a document and a fused "
    "label that are right, so the most frequent labels decide it. Every document with exactly one "
    "part of a fused label counts. A label without senses is whole: "
    "its NMI is 0, and the larger part its sense. Senses of every label are those of all that "
    "were judged, however likely they are; shown are those of labels that are ambiguous with a "
    "probability of at least 0.5. The slot is the one that the matcher scores best, or the "
    "label's largest. The true parts are named as senses are, so they are the most that better "
    "senses could reach."
)
AMBIGUITY = (
    "Is a label ambiguous? Fused labels against all others of at least 20 training documents "
    "(rare ones: 6 to 20). AUC is how often a fused label is given a higher probability than "
    "another; beside it that of the number of documents alone, and of how evenly slots divide a "
    "label. The Brier score is the mean square of probability less truth, beside that of one "
    "constant probability for all; the calibration error the mean distance of tenths of "
    "probability from the share of fused labels in them. Precision and recall are those of the "
    "labels that are shown with senses; precision is 0 where none are. A label that was not "
    "fused may be ambiguous all the same."
)


def _naming_table(title: str, results: Results) -> Table:
    rows = [
        [
            name,
            *(
                text
                for figure in FIGURES
                for text in (
                    _interval(results, title, f"{answer}_{figure}"),
                    _mean(results, title, f"{answer}_{figure}_by_chance", 3),
                )
            ),
            _interval(results, title, f"{answer}_right_by_documents"),
        ]
        for answer, name in ANSWERS.items()
    ]
    columns = ("", *(text for name in FIGURES for text in (name, "chance")), "right, of all pairs")
    n_fused = _mean(results, title, "n_fused", 0)
    return Table(f"{title}: {n_fused or 'no'} fused labels", columns, rows)


def _ambiguity_table(results: Results) -> Table:
    figures = {
        "AUC": "AUC",
        "by size": "AUC_by_size",
        "by slots": "AUC_by_slots",
        "Brier": "Brier",
        "of constant": "Brier_of_constant",
        "calibration error": "calibration_error",
        "precision": "precision",
        "recall": "recall",
    }
    rows = [
        [
            title,
            _mean(results, title, "n_asked", 0),
            _mean(results, title, "fused_percent", 1),
            *(_interval(results, title, figure) for figure in figures.values()),
        ]
        for title in FUSIONS
    ]
    return Table("Ambiguity", ("", "labels", "fused %", *figures), rows)


def _reliability_table(results: Results) -> Table:
    """Return bins of probability; those of all seeds are one."""
    columns = [reliability_of(results, title) for title in FUSIONS]
    rows = [
        [
            f"{place / N_BINS:.1f} to {(place + 1) / N_BINS:.1f}",
            *(f"{100 * share:.0f}% of {n:.0f}" if n else "" for n, _, share in bins),
        ]
        for place, bins in enumerate(zip(*columns, strict=True))
    ]
    note = (
        "How many labels have such a probability, over all seeds, and how many of them are fused."
    )
    return Table("Reliability of the probability", ("probability", *FUSIONS), rows, note)


def reliability_of(results: Results, title: str) -> npt.NDArray[np.float64]:
    """Return labels, mean probability and share of fused ones of each bin, over all seeds."""
    found = [np.array(f["reliability"]) for f in results.figures(title).values()]
    bins = np.array([of for of in found if of.shape == (N_BINS, 3)]).reshape(-1, N_BINS, 3)
    n = bins[:, :, 0].sum(axis=0)
    means = (bins[:, :, :1] * bins[:, :, 1:]).sum(axis=0) / np.maximum(1, n)[:, np.newaxis]
    return np.column_stack([n, means])


def _number_table(results: Results) -> Table:
    whose = {"split": "every split", "shown": "shown", "unfused": "shown, labels not fused"}
    rows = [
        [
            f"{title}: {name}",
            *(f"{percent:.1f}" for percent in percents_by_senses(results, title, which)),
        ]
        for title in FUSIONS
        for which, name in whose.items()
    ]
    numbers = [str(n) for n in range(1, MOST_SENSES)]
    columns = ("% of labels with so many senses", *numbers, f"{MOST_SENSES} or more")
    return Table("How many senses", columns, rows)


def percents_by_senses(results: Results, title: str, which: str) -> npt.NDArray[np.float64]:
    """Return how many percent of labels have one sense, two, and so on, over all seeds."""
    counts = [f["n_senses"][which] for f in results.figures(title).values()]
    total = np.array(counts).reshape(-1, MOST_SENSES).sum(axis=0)
    return np.asarray(100 * total / max(1, total.sum()))


def _accuracy_table(results: Results) -> Table:
    rows = []
    for title in COMPARED:
        without = _without_senses(title)
        row = [title]
        for k in KS:
            ours, theirs = results.paired(f"P@{k}", title, without)
            row += [
                _mean(results, title, f"P@{k}"),
                comparison_text(compare_seeds(ours, theirs)),
            ]
        rows.append(row)
    columns = ("", *(text for k in KS for text in (f"P@{k}", "less without senses")))
    return Table("What is predicted, with senses and without", columns, rows)


def _cost_table(results: Results) -> Table:
    rows = [
        [
            title,
            _mean(results, title, "training_seconds", 1),
            _mean(results, title, "senses_seconds", 1),
            _mean(results, title, "senses_percent", 1),
        ]
        for title in [*FUSIONS, NOT_FUSED]
    ]
    return Table("Cost", ("", "training s", "of these for senses", "%"), rows)


def _unfused_table(results: Results) -> Table:
    columns = ("labels", "judged", "shown with senses")
    counts = [_mean(results, NOT_FUSED, name, 0) for name in ("n_labels", "n_judged", "n_shown")]
    return Table("The data as they are", ("", *columns), [[NOT_FUSED, *counts]])


def _mean(results: Results, method: str, figure: str, digits: int = 2) -> str:
    return mean_text(results.values(method, figure).tolist(), digits)


def _interval(results: Results, method: str, figure: str) -> str:
    return interval_text(results.values(method, figure).tolist())


# Figure


def _draw(results: Results) -> Figure:
    name = results.data["name"]
    figure, axes = panels(2, 2, f"{name}: senses of labels that were fused on purpose")
    naming = {"NMI": "NMI of senses and parts", "right": "the right sense"}
    for axis, (which, label) in zip(axes, naming.items(), strict=False):
        _draw_naming(axis, results, which)
        axis.set_ylabel(label)
    names = axes[0].get_legend_handles_labels()
    figure.legend(*names, loc="outside lower center", ncols=3, fontsize=7)
    _draw_reliability(axes[2], results)
    _draw_numbers(axes[3], results)
    return figure


def _draw_naming(axis: Axes, results: Results, which: str) -> None:
    width = 0.8 / len(ANSWERS)
    for place, ((answer, name), colour) in enumerate(zip(ANSWERS.items(), COLOURS, strict=True)):
        found = [
            mean_and_deviation(results.values(title, f"{answer}_{which}")) for title in FUSIONS
        ]
        means, deviations = np.nan_to_num(np.array(found)).T
        at = np.arange(len(found)) + (place - (len(ANSWERS) - 1) / 2) * width
        axis.bar(at, means, width, yerr=deviations, color=colour, label=name, ecolor="black")
    _name_fusions(axis)


def _draw_reliability(axis: Axes, results: Results) -> None:
    axis.plot([0, 1], [0, 1], color="black", linewidth=0.6)
    for title, colour in zip(FUSIONS, (*COLOURS, "black"), strict=True):
        n, probability, share = reliability_of(results, title).T
        axis.plot(probability[n > 0], share[n > 0], "o-", color=colour, markersize=3, label=title)
    axis.set(xlabel="probability of being ambiguous", ylabel="share of fused labels")
    axis.legend(fontsize=6)


def _draw_numbers(axis: Axes, results: Results) -> None:
    shares = np.array([percents_by_senses(results, title, "shown") for title in FUSIONS]).T
    below = np.zeros(len(FUSIONS))
    for n, (percent, colour) in enumerate(zip(shares, SHADES, strict=True), start=1):
        axis.bar(range(len(FUSIONS)), percent, 0.7, below, color=colour, label=str(n))
        below += percent
    axis.set_ylabel("senses shown, % of fused labels")
    axis.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1, 1))
    _name_fusions(axis)


def _name_fusions(axis: Axes) -> None:
    names = [fill(title, 8) for title in FUSIONS]
    axis.set_xticks(range(len(names)), labels=names, fontsize=6)


EXPERIMENTS = (
    Experiment(
        name="true-senses",
        summary="Labels fused on purpose: whether senses are their parts, and ambiguity is seen.",
        methods=_methods,
        sections=_sections,
        draw=_draw,
        notes=(
            "Half of the labels with at least 10 training documents (rare ones: 3 to 10) are "
            "fused, at random or with such as are alike (medium, easy: as in fused-labels); the "
            "others stay. Settings of the model are the defaults."
        ),
    ),
)
