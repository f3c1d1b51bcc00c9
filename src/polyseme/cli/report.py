"""What verbs print of a model: its evaluation, its sizes, and what each phase took."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from polyseme.cli.rendering import ambiguous_table
from polyseme.cli.shared import plain_table
from polyseme.machine.quantities import counted
from polyseme.senses.layer import SHOWN_FROM
from polyseme.tagger import Tagger

__all__ = [
    "described_evidence",
    "described_senses",
    "print_ambiguous",
    "print_belief",
    "print_report",
    "print_sizes",
    "seconds_table",
    "spoken_threshold",
]

N_AMBIGUOUS = 5  # labels that a report of training names


def print_report(out: Console, report: dict[str, Any]) -> None:
    """Print accuracy, labels by frequency, and what probabilities and threshold are worth."""
    out.print(f"Accuracy on {counted(report['n_documents'], 'document')}, in percent")
    out.print(accuracy_table(report["accuracy"]))
    out.print()
    if "members" in report:
        out.print("The members of the ensemble, each alone and all together, in percent")
        out.print(members_table(report))
        out.print()
    if report["by_label_frequency"]:
        out.print("Labels by number of training documents; first five suggestions, in percent")
        out.print(_frequency_table(report["by_label_frequency"]))
        out.print()
    if "reach" in report:
        out.print(f"The beam reaches {report['reach']:.1f}% of the true labels.")
    if "reliability" in report:
        error = report["reliability"]["calibration_error"]
        out.print(f"Probabilities above 0.1 are off by {100 * error:.1f} points on average.")
    if "threshold" in report:
        out.print(described_cut(report["threshold"]), soft_wrap=True)
    elif "by_threshold" in report:
        out.print(described_cut(_best_of(report["by_threshold"])), soft_wrap=True)
    if "with_broader" in report:
        figures = report["with_broader"]
        out.print(
            "Counted together with all that is broader: precision {precision:.1f}%, recall "
            "{recall:.1f}%, F1 {f1:.1f}%.".format(**figures),
            soft_wrap=True,
        )


def print_ambiguous(out: Console, tagger: Tagger) -> None:
    """Print the most ambiguous labels, and how far to believe that; nothing if there are none."""
    senses, found = tagger.sizes()["senses"], tagger.ambiguous_labels(N_AMBIGUOUS)
    if not found:
        return
    out.print(ambiguous_table(found))
    are = "is" if senses["n_ambiguous"] == 1 else "are"
    out.print(f"{described_senses(senses)} {are} likely ambiguous.")
    print_belief(out, senses)
    out.print()


def print_belief(out: Console, senses: dict[str, Any]) -> None:
    """Print, where it is known, how reliable it is which labels are ambiguous, and in what way."""
    for sentence in (
        described_reliability(senses["calibration"]),
        described_evidence(senses["evidence"]),
    ):
        if sentence:
            out.print(sentence, soft_wrap=True)


def described_senses(senses: dict[str, Any] | None) -> str:
    """Say how many labels are ambiguous, by what `Tagger.sizes` has of senses."""
    if senses is None:
        return "not looked for"
    return f"{senses['n_ambiguous']:,} of {senses['n_judged']:,} labels that were judged"


def described_reliability(calibration: dict[str, Any]) -> str:
    """Say how reliable the probability of being ambiguous proved; nothing if that is not known."""
    rows = calibration.get("reliability", ())
    shown = [row for row in rows if row["from"] >= SHOWN_FROM]
    n = sum(row["n"] for row in shown)
    if n == 0:
        return ""
    expected, observed = (
        sum(row["n"] * row[key] for row in shown) / n for key in ("predicted", "observed")
    )
    return (
        f"Check: of {n:,} test labels judged ambiguous, {observed:.0%} really were two labels "
        f"fused on purpose; {expected:.0%} was expected."
    )


def described_evidence(evidence: str) -> str:
    """Say what told senses apart, where it was not the other labels of documents."""
    if evidence == "labels":
        return ""
    return (
        f"Most documents have one label, so senses were told apart by their {evidence} alone, "
        "which is less certain."
    )


def seconds_table(seconds: dict[str, float]) -> Table:
    """Lay out what each phase took, and their sum."""
    rows = [(phase, f"{taken:.2f}") for phase, taken in seconds.items()]
    rows.append(("Total", f"{sum(seconds.values()):.2f}"))
    return plain_table(("Phase", "Seconds"), rows, numbers=[1])


def print_sizes(out: Console, place: Path, tagger: Tagger) -> None:
    """Print in a line what lies in a model's folder."""
    sizes = tagger.sizes()
    out.print(
        f"{place}: {counted(sizes['n_documents'], 'document')}, "
        f"{counted(sizes['n_labels'], 'label')} in {counted(sizes['n_slots'], 'slot')} of "
        f"{counted(sizes['n_clusters'], 'cluster')}",
        markup=False,
        soft_wrap=True,
    )


def described_cut(cut: dict[str, Any]) -> str:
    """Say what the threshold does: precision, recall and F1, and what documents get."""
    wanted = cut.get("wanted_precision")
    why = ""
    if cut.get("chosen_here"):
        why = " (best F1 on these documents)"
    elif "wanted_precision" in cut:
        why = " (best F1)" if wanted is None else f" (for {100 * wanted:g}% precision)"
    own = cut.get("n_labels_with_own")
    least = spoken_threshold(cut["threshold"])
    name = f"Threshold {least}"
    if own is not None:
        name = f"Thresholds of {counted(own, 'label')}, and {least} for all others"
    missed = own is None and wanted is not None and cut["precision"] < wanted
    per_document = f"{cut['labels_per_document']:.1f} labels per document"
    if "without_label" in cut:
        per_document += f"; {100 * cut['without_label']:.1f}% of the documents get none"
    return (
        f"{name}{why}: precision {100 * cut['precision']:.1f}%, recall "
        f"{100 * cut['recall']:.1f}%, F1 {100 * cut['f1']:.1f}%.\n"
        f"{per_document}{'; no threshold is as precise as wanted' if missed else ''}."
    )


def spoken_threshold(threshold: float) -> str:
    """Return a threshold with three digits, or so many that it does not look like none."""
    return f"{threshold:.3f}" if threshold == 0 or threshold >= 0.001 else f"{threshold:.1g}"


def _best_of(by_threshold: dict[str, list[float]]) -> dict[str, Any]:
    """Return the figures at the threshold with the best F1."""
    best = max(range(len(by_threshold["f1"])), key=by_threshold["f1"].__getitem__)
    return {name: figures[best] for name, figures in by_threshold.items()} | {"chosen_here": True}


def accuracy_table(figures: dict[str, float]) -> Table:
    """Lay the figures out with one row per measure and one column per cut-off."""
    ks = sorted({int(name.split("@")[1]) for name in figures})
    measures = list(dict.fromkeys(name.split("@")[0] for name in figures))
    rows = [
        [measure, *(_percent(figures.get(f"{measure}@{k}")) for k in ks)] for measure in measures
    ]
    return plain_table(("", *(f"@{k}" for k in ks)), rows, numbers=range(1, len(ks) + 1))


def _frequency_table(by_label_frequency: Iterable[dict[str, Any]]) -> Table:
    rows = [
        (
            _range(row["least"], row["most"]),
            f"{row['n_labels']:,}",
            f"{row['precision']:.1f}",
            f"{row['recall']:.1f}",
        )
        for row in by_label_frequency
    ]
    return plain_table(("Documents", "Labels", "Precision", "Recall"), rows, numbers=range(1, 4))


def members_table(report: dict[str, Any]) -> Table:
    """Lay out P@k and PSP@k of each member of an ensemble, and of all together."""
    shown = [f"{measure}@{k}" for measure in ("P", "PSP") for k in (1, 3, 5)]
    named = [
        ((Path(encoder).name, grouping), member["accuracy"])
        for member in report["members"]
        for encoder, grouping in [member["of"]]
    ]
    named.append((("all", ""), report["accuracy"]))
    rows = [[*names, *(_percent(figures[name]) for name in shown)] for names, figures in named]
    columns = ("Encoder", "Labels grouped by", *shown)
    return plain_table(columns, rows, numbers=range(2, len(columns)))


def _percent(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.2f}"


def _range(least: int, most: int | None) -> str:
    if most is None:
        return f"{least:,} and more"
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
