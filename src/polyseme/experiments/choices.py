"""Beyond the paper: the choices a user has, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polyseme.backbones.linear.matcher import LinearTreeMatcher
from polyseme.estimators.xr_linear import XRLinear
from polyseme.experiments.cells import Results
from polyseme.experiments.definition import Experiment, Method
from polyseme.experiments.figures import COLOURS, panels
from polyseme.experiments.measuring import Figures, measure
from polyseme.experiments.problem import Problem, all_parameters
from polyseme.experiments.report import comparison_table
from polyseme.experiments.run_names import run_named
from polyseme.experiments.shared_training import fit_once_and_measure
from polyseme.experiments.statistics import mean_and_deviation
from polyseme.experiments.tables import ALL_TABLES, COST, PRECISIONS, Table, mean_text
from polyseme.partition.label_tree import LabelTree
from polyseme.partition.merging import MERGES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "cluster_limit"]

ONE_CLUSTER = {"copies": 1, "rounds": 0}
PLAIN = "plain"

# Assignments

CAPS = (1.5, 2)  # times the mean number of labels of a cluster; 3 is the default


def _assignments(problem: Problem) -> list[Method]:
    return [
        Method(PLAIN, ONE_CLUSTER),
        Method("closed form", {"assignment": "closed_form"}),
        Method("coverage", {"assignment": "coverage"}),
        *(
            Method(
                f"capped, {cap:g} times the mean",
                {"max_cluster_size": cluster_limit(problem, cap)},
            )
            for cap in CAPS
        ),
        Method("capped, default", {"assignment": "capped"}),
        Method("adaptive", {"assignment": "adaptive"}),
        Method("adaptive, mean", {"assignment": "adaptive", "merge": "mean"}),
        Method("random", {"assignment": "random"}),
    ]


def cluster_limit(problem: Problem, times_the_mean: float) -> int:
    """Return a limit of labels per cluster; labels have to find room whatever its rounding."""
    parameters = all_parameters({})
    tree = LabelTree.shape_for(
        problem.n_labels, parameters["branching"], parameters["max_leaf_size"]
    )
    smallest = -(-problem.n_labels // tree.n_clusters)
    return max(smallest, int(times_the_mean * problem.n_labels / tree.n_clusters))


# Rounds

MOST_ROUNDS = 4


def _rounds(problem: Problem) -> list[Method]:
    many = [Method(_after(n), {"rounds": n}) for n in range(1, MOST_ROUNDS + 1)]
    return [Method(PLAIN, ONE_CLUSTER), *many]


def _after(n: int) -> str:
    return f"rounds {n}"


def _reach_by_round(results: Results) -> list[Table | str]:
    figures = list(results.figures(_after(MOST_ROUNDS)).values())
    rows = []
    for n in range(MOST_ROUNDS if figures else 0):
        before = [of_seed["reaches_before"][n] for of_seed in figures]
        after = [of_seed["reaches_after"][n] for of_seed in figures]
        rows.append([f"round {n + 1}", mean_text(before), mean_text(after)])
    note = (
        "Training pairs that the beam reaches, in percent, with the matcher that the round began "
        "with. The matcher of the first round is a draft."
    )
    return [Table("Objective (7), round by round", ("", "before", "after"), rows, note)]


def _draw_rounds(results: Results) -> Figure:
    figure, axes = panels(1, 2, f"{results.data['name']}: rounds of re-assignment")
    of_seeds = list(results.figures(_after(MOST_ROUNDS)).values())
    for which, colour in (("before", COLOURS[0]), ("after", COLOURS[1])):
        rounds = range(1, MOST_ROUNDS + 1 if of_seeds else 1)
        reached = [[of_seed[f"reaches_{which}"][n - 1] for of_seed in of_seeds] for n in rounds]
        means = [mean_and_deviation(of_round)[0] for of_round in reached]
        axes[0].plot(rounds, means, marker="o", markersize=3, label=which, color=colour)
    axes[0].set_ylabel("objective (7), % of training pairs")
    for k, colour in zip((1, 3, 5), COLOURS, strict=False):
        methods = [PLAIN, *map(_after, range(1, MOST_ROUNDS + 1))]
        means = [mean_and_deviation(results.values(m, f"P@{k}"))[0] for m in methods]
        gains = [mean - means[0] for mean in means]
        axes[1].plot(
            range(len(gains)), gains, marker="o", markersize=3, label=f"P@{k}", color=colour
        )
    axes[1].set_ylabel("gain over plain, points")
    for axis in axes:
        axis.set_xlabel("rounds")
        axis.legend(fontsize=7)
    return figure


# Merging and positives: prediction with one training


def _merges(named: str, parameters: Mapping[str, Any]) -> list[Method]:
    return [
        Method(
            f"{named}, {merge}",
            parameters,
            options={"predict": {"merge": merge}},
            run=fit_once_and_measure,
        )
        for merge in MERGES
    ]


def _merge(problem: Problem) -> list[Method]:
    # Those of the closed form are cells of "linear" and "assignments".
    return [
        *_merges("capped", {}),
        Method("closed form, mean", {"assignment": "closed_form", "merge": "mean"}),
        Method("closed form, sum", {"assignment": "closed_form", "merge": "sum"}),
    ]


def _positives(problem: Problem) -> list[Method]:
    return [
        *_merges("all positives", {}),
        *_merges("the sense's own", {"sense_positives": True}),
    ]


# Who matches the training documents

FOLDS = (2, 5)
WAYS_TO_ASSIGN: dict[str, dict[str, Any]] = {
    "closed form": {"assignment": "closed_form"},
    "coverage": {"assignment": "coverage"},
    "capped": {"assignment": "capped"},
    # Summed scores favour the labels that have a second slot, which is not all of them here.
    "adaptive, mean": {"assignment": "adaptive", "merge": "mean"},
}


def _cross_matching(problem: Problem) -> list[Method]:
    return [
        Method(_matched_by(way, n_folds), {**parameters, "match_folds": n_folds})
        for way, parameters in WAYS_TO_ASSIGN.items()
        for n_folds in (0, *FOLDS)
    ]


def _matched_by(way: str, n_folds: int) -> str:
    return f"{way}, {n_folds} folds" if n_folds else f"{way}, in sample"


def _against_in_sample(results: Results) -> list[Table | str]:
    def only(way: str) -> Results:
        names = [name for name in results.methods if name.startswith(f"{way}, ")]
        return results.only(names, results.seeds)

    return [comparison_table(only(way), _matched_by(way, 0)) for way in WAYS_TO_ASSIGN]


# Training rows

ROWS = {"teacher": "teacher-forcing", "matcher": "matcher-aware", "both": "both"}
ROW_CHOICES = (  # of the matcher, of the ranker
    ("teacher", "teacher"),
    ("matcher", "teacher"),
    ("both", "teacher"),
    ("teacher", "matcher"),
    ("teacher", "both"),
    ("both", "both"),
)


class RowsOfMatcher(XRLinear):
    """The matcher has training rows of its own kind; `training_rows` are the ranker's."""

    matcher_rows = "teacher-forcing"

    def make_matcher(self) -> LinearTreeMatcher:
        return replace(super().make_matcher(), training_rows=self.matcher_rows)


@run_named("rows of the matcher")
def run_with_rows(problem: Problem, method: Method, seed: int) -> Figures:
    """Train with rows for the matcher from the options, for the ranker from the parameters."""
    model = RowsOfMatcher(**problem.estimator(method.parameters, seed).get_params())
    model.matcher_rows = method.options["matcher_rows"]
    return measure(model.fit(problem.X_train, problem.Y_train), problem)


def _negatives(problem: Problem) -> list[Method]:
    return [
        _with_rows(f"copies {copies}, {matcher} / {ranker}", base, ROWS[matcher], ROWS[ranker])
        for copies, base in ((1, ONE_CLUSTER), (2, {"copies": 2}))
        for matcher, ranker in ROW_CHOICES
    ]


def _with_rows(name: str, base: Mapping[str, Any], matcher: str, ranker: str) -> Method:
    parameters = {**base, "training_rows": ranker}
    if matcher == "teacher-forcing":  # the estimator's own way
        return Method(name, parameters)
    return Method(name, parameters, {"matcher_rows": matcher}, run_with_rows)


def _among(first_words: str, baseline: str) -> Callable[[Results], list[Table | str]]:
    """Compare the methods whose names begin so among themselves."""

    def sections(results: Results) -> list[Table | str]:
        names = [method for method in results.methods if method.startswith(first_words)]
        return [comparison_table(results.only(names, results.seeds), baseline)]

    return sections


EXPERIMENTS = (
    Experiment(
        name="assignments",
        summary="Ways to choose the clusters of a label: objective, accuracy, sizes, cost.",
        methods=_assignments,
        columns=ALL_TABLES,
        baseline="closed form",
        notes=(
            "Scores of copies are summed in all but one. The objective is (7) of the paper, in "
            "percent of the training pairs. The paper suggests a cap of 1.5 times the mean, and "
            "reports no figures for it."
        ),
    ),
    Experiment(
        name="rounds",
        summary="More rounds of re-assignment; the objective of each.",
        methods=_rounds,
        columns=ALL_TABLES,
        baseline=_after(1),
        sections=_reach_by_round,
        draw=_draw_rounds,
        notes="The paper runs one round and reports no others.",
    ),
    Experiment(
        name="merge",
        summary="From the scores of a label's slots to one: mean, sum, max.",
        methods=_merge,
        columns=PRECISIONS,
        baseline="capped, mean",
        sections=_among("closed form", "closed form, mean"),
        notes="The paper takes the mean, and reports no others.",
    ),
    Experiment(
        name="positives",
        summary="Every slot learns from all documents of its label, or from its sense's own.",
        methods=_positives,
        columns={**PRECISIONS, "Cost; prediction per document": COST},
        baseline="all positives, sum",
        notes="The paper gives each slot all positives. One training serves each three merges.",
    ),
    Experiment(
        name="cross-matching",
        summary="Slots chosen by matches of documents that the matcher did not see.",
        methods=_cross_matching,
        columns=ALL_TABLES,
        sections=_against_in_sample,
        notes=(
            "In sample, documents are matched by the matcher that was trained on them, as "
            "in the paper; with folds, by one that was trained on the other folds. The objective "
            "is counted with these matches."
        ),
    ),
    Experiment(
        name="negatives",
        summary="Training rows from true labels, the matcher's beam, or both.",
        methods=_negatives,
        columns=ALL_TABLES,
        baseline="copies 1, teacher / teacher",
        sections=_among("copies 2", "copies 2, teacher / teacher"),
        notes=(
            "Named by rows of the matcher / of the ranker: teacher-forcing (TFN in the paper), "
            "matcher-aware (MAN), or both. The paper trains XR-Linear with teacher-forcing."
        ),
    ),
)
