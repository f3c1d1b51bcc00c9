"""Tables of docs/does-it-hold.md, from experiments/results; `benchmarks.figures` writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from benchmarks.recorded import DATA, ROOT, markdown
from polyseme.experiments.cells import Results
from polyseme.experiments.equal_cost import OURS, best_at_the_same_price
from polyseme.experiments.report import compare
from polyseme.experiments.tables import comparison_text

KS = (1, 3, 5)
DEFAULTS = "polyseme's defaults"


@cache
def results(experiment: str, data: str) -> Results:
    """Return what an experiment found on a data set."""
    return Results.load(ROOT / "experiments" / "results" / data / f"{experiment}.json")


# Cells


def mean(found: Results, method: str, figure: str) -> float:
    """Return the mean over seeds of a figure that was measured."""
    values = found.values(method, figure)
    if len(values) == 0:
        raise ValueError(f"{found.experiment} has no {figure} of {method}.")
    return float(values.mean())


def precisions(found: Results, method: str, prefix: str = "") -> str:
    """Return P@1 / 3 / 5, or figures that are named like these."""
    return " / ".join(f"{mean(found, method, f'{prefix}P@{k}'):.2f}" for k in KS)


def gains(found: Results, method: str, baseline: str) -> str:
    """Return what a method has more than another, with a star where that is clear."""
    of = [compare(found, method, baseline, k) for k in KS]
    # Adding 0 makes a zero of -0.
    return " / ".join(f"{round(c.difference, 2) + 0:+.2f}{' *' if c.is_clear else ''}" for c in of)


def seconds(found: Results, method: str) -> str:
    """Return how long a training took."""
    value = mean(found, method, "training_seconds")
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s"


# Tables


def beside_one_another(
    experiment: str,
    head: str,
    rows: Mapping[str, str],
    cell: Callable[[Results, str], str],
    data: Sequence[str] = DATA,
) -> str:
    """Return a table with a column for each data set, of one cell per method."""
    found = [results(experiment, one) for one in data]
    body = [[title, *(cell(of, method) for of in found)] for title, method in rows.items()]
    return markdown([head, *data], body)


def linear() -> str:
    """Disentanglement over XR-Linear."""
    rows = {
        "XR-Linear (plain)": "XR-Linear",
        "two copies, no alternative update": "no alternative update",
        "two copies, alternative update": "alternative update",
        DEFAULTS: DEFAULTS,
    }

    def cell(of: Results, method: str) -> str:
        plain = method == "XR-Linear"
        return precisions(of, method) if plain else gains(of, method, "XR-Linear")

    return beside_one_another("linear", "P@1 / 3 / 5, then gains over plain", rows, cell)


def random_copies() -> str:
    """Second clusters that were chosen, over those drawn at random."""
    rows = {"plain": "XR-Linear", "closed form": "closed form", DEFAULTS: DEFAULTS}
    return beside_one_another(
        "random-copies",
        "over random second clusters, P@1 / 3 / 5",
        rows,
        lambda of, method: gains(of, method, "random"),
    )


def cross_matching() -> str:
    """Compare matching by matchers that did not see the documents with matching in sample."""
    ways = {
        "closed form": "closed form",
        "coverage": "coverage",
        "capped (default)": "capped",
        "adaptive, mean": "adaptive, mean",
    }
    return beside_one_another(
        "cross-matching",
        "two folds over in sample, P@1 / 3 / 5",
        ways,
        lambda of, way: gains(of, f"{way}, 2 folds", f"{way}, in sample"),
    )


def with_seconds(experiment: str, head: str, rows: Mapping[str, str]) -> str:
    """Return accuracy and training time of methods on each data set."""
    found = [results(experiment, data) for data in DATA]
    body = [
        [title, *(text for of in found for text in (precisions(of, method), seconds(of, method)))]
        for title, method in rows.items()
    ]
    return markdown([head, *(text for data in DATA for text in (data, "training"))], body)


def copies() -> str:
    """More copies."""
    rows = {str(n): f"copies {n}" for n in range(1, 7)}
    rows |= {
        f"defaults, {n} {'copy' if n == 1 else 'copies'}": f"{DEFAULTS}, copies {n}"
        for n in (1, 2, 4)
    }
    return with_seconds("copies", "copies: P@1 / 3 / 5", rows)


def negatives() -> str:
    """Rows that classifiers learn from."""
    ways = {
        1: ("teacher / teacher", "teacher / both", "both / both"),
        2: ("teacher / teacher", "teacher / matcher", "teacher / both", "both / both"),
    }
    called = {1: "one cluster", 2: "two copies"}
    rows = {f"{called[n]}, {way}": f"copies {n}, {way}" for n, of in ways.items() for way in of}
    return with_seconds("negatives", "P@1 / 3 / 5", rows)


def fused_labels() -> str:
    """Show what two copies gain when labels are fused, relative to plain."""
    numbers = (2, 5, 10, 20)
    rows = []
    for data in DATA:
        found = results("fused-labels", data)
        for mode in ("easy", "medium", "hard"):
            cells = []
            for n in numbers:
                ours, theirs = (
                    mean(found, f"{mode}, {n} fused: {method}", "P@5")
                    for method in ("copies 2", "XR-Linear")
                )
                cells.append(f"{100 * (ours / theirs - 1):+.1f}")
            rows.append([f"{data}, {mode}", *cells])
    head = ["relative gain of P@5, %", *(f"{n} fused" for n in numbers)]
    return markdown(head, rows)


def overhead() -> str:
    """Extra time over plain, seed by seed, as the paper counts it."""
    found = [results("overhead", data) for data in DATA]

    def extra(of: Results, method: str, figure: str) -> str:
        ours, theirs = of.paired(figure, method, "XR-Linear")
        return f"{np.mean(np.divide(ours, theirs) - 1):+.2f}x"

    def plain(of: Results) -> str:
        return f"{seconds(of, 'XR-Linear')}, {mean(of, 'XR-Linear', 'prediction_us'):.0f} us"

    training = {
        "the paper's settings, one copy": "copies 1",
        "the paper's settings, two copies": "copies 2",
        "defaults": DEFAULTS,
    }
    rows = [["plain: training, prediction per document", *map(plain, found)]]
    for what, figure in (("training", "training_seconds"), ("prediction", "prediction_us")):
        rows += [
            [f"{what}, {title}", *(extra(of, method, figure) for of in found)]
            for title, method in training.items()
        ]
    return markdown(["extra time over plain", *DATA], rows)


def equal_cost() -> str:
    """Two copies over the best of the others that costs no more."""
    rows = []
    for data in DATA:
        found = results("equal-cost", data)
        for price in ("prediction time", "model size"):
            best = best_at_the_same_price(found, OURS, price)
            assert best is not None
            differences = (comparison_text(compare(found, OURS, best, k)) for k in KS)
            rows.append([f"{price}, {data} ({best})", *differences])
    head = ["two copies, over the best other model of the same", *(f"P@{k}" for k in KS)]
    return markdown(head, rows)


def assignments() -> str:
    """Ways to choose clusters."""
    rows = {
        "plain": "plain",
        "closed form": "closed form",
        "coverage": "coverage",
        "capped, 1.5 times the mean": "capped, 1.5 times the mean",
        "capped, 2 times the mean": "capped, 2 times the mean",
        "capped, 3 times (default)": "capped, default",
        "random": "random",
        "adaptive, scores summed": "adaptive",
    }
    found = {title: ("assignments", method) for title, method in rows.items()}
    found["adaptive, mean"] = ("cross-matching", "adaptive, mean, 2 folds")
    body = []
    for title, (experiment, method) in found.items():
        ours, other = (results(experiment, data) for data in DATA)
        reach = f"{mean(ours, method, 'reach_test'):.1f}%"
        largest = f"{mean(ours, method, 'max_cluster_size'):,.0f}"
        body.append([title, precisions(ours, method), reach, largest, precisions(other, method)])
    return markdown(["P@1 / 3 / 5", DATA[0], "reach, test", "largest cluster", DATA[1]], body)


def edges() -> str:
    """Weights of a slot's own and shared ones, by the product and by the learned order."""
    found = results("edges", DATA[0])
    rows = [
        [
            title,
            *(
                f"{precisions(found, f'capped, {weights}, {order}')}, "
                f"{precisions(found, f'capped, {weights}, {order}', 'PS')}"
                for order in ("product", "learned")
            ),
        ]
        for title, weights in (
            ("capped, own weights (default)", "own"),
            ("capped, shared weights", "shared"),
        )
    ]
    return markdown([DATA[0], "bare product", "learned order"], rows)


def rounds() -> str:
    """How the objective grows by rounds."""
    rows = []
    for data in DATA:
        found = results("rounds", data)
        after = [of["reaches_after"] for of in found.figures("rounds 4").values()]
        rows.append([data, *(f"{value:.1f}%" for value in np.mean(after, axis=0))])
    head = ["objective (7) after each round, cross-matched", "1", "2", "3", "4"]
    return markdown(head, rows)


def positives() -> str:
    """How slots are merged, and what they learn from."""
    rows = {
        "all positives, mean": "all positives, mean",
        "all positives, sum (default)": "all positives, sum",
        "all positives, max": "all positives, max",
        "the sense's own positives, sum": "the sense's own, sum",
    }
    return beside_one_another("positives", "P@1 / 3 / 5", rows, precisions)


def tuned() -> str:
    """Show settings on held-out documents, and the chosen one on test documents."""
    chosen = "rows of both, copies 3, wide, min_weight 0.05"
    rows = {
        "defaults": "defaults",
        "`min_weight=0.05`": "min_weight 0.05",
        "`max_leaf_size=200`": "leaves of 200",
        "`copies=3`, clusters of up to 6 times the mean": "copies 3, wide",
        "`training_rows='both'`": "rows of both",
        "both, `min_weight=0.05`": "rows of both, min_weight 0.05",
        "both, 0.05, `max_leaf_size=200`": "rows of both, leaves of 200, min_weight 0.05",
        "both, 0.05, clusters of up to 6 times the mean": "rows of both, wide, min_weight 0.05",
        "both, 0.05, 6 times, `copies=3` (chosen)": chosen,
    }
    held_out = beside_one_another(
        "tuned",
        "on held-out training documents, P@1 / 3 / 5",
        rows,
        lambda of, method: precisions(of, method, "held_out_"),
    )
    test = beside_one_another(
        "tuned",
        "on test documents, trained on all",
        {"defaults": "defaults", "chosen": chosen},
        precisions,
    )
    return f"{held_out}\n\n{test}"


BLOCKS = {
    f"experiment-{block.__name__.replace('_', '-')}": block
    for block in (
        linear,
        copies,
        fused_labels,
        random_copies,
        overhead,
        equal_cost,
        assignments,
        edges,
        rounds,
        positives,
        cross_matching,
        negatives,
        tuned,
    )
}
