"""What verbs print of a model: its evaluation, its sizes, and what each phase took."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from polyseme.cli.shared import plain_table
from polyseme.tagger import Tagger

__all__ = ["print_report", "print_sizes", "seconds_table"]


def print_report(out: Console, report: dict[str, Any]) -> None:
    """Print accuracy, labels by frequency, and what probabilities and threshold are worth."""
    out.print(f"Accuracy on {report['n_documents']:,} documents, in percent")
    out.print(accuracy_table(report["accuracy"]))
    out.print()
    out.print("Labels by number of training documents; first five suggestions, in percent")
    rows = [
        (
            _range(row["least"], row["most"]),
            f"{row['n_labels']:,}",
            f"{row['precision']:.1f}",
            f"{row['recall']:.1f}",
        )
        for row in report["by_label_frequency"]
    ]
    columns = ("Documents", "Labels", "Right", "Found")
    out.print(plain_table(columns, rows, numbers=range(1, 4)))
    out.print()
    if "reach" in report:
        out.print(f"The beam reaches {report['reach']:.1f}% of the true labels.")
    if "reliability" in report:
        error = report["reliability"]["calibration_error"]
        out.print(f"Probabilities above 0.1 are off by {100 * error:.1f} points on average.")
    if "threshold" in report:
        out.print(described_cut(report["threshold"]), soft_wrap=True)


def seconds_table(seconds: dict[str, float]) -> Table:
    """Lay out what each phase took, and their sum."""
    rows = [(phase, f"{taken:.2f}") for phase, taken in seconds.items()]
    rows.append(("Total", f"{sum(seconds.values()):.2f}"))
    return plain_table(("Phase", "Seconds"), rows, numbers=[1])


def print_sizes(out: Console, place: Path, tagger: Tagger) -> None:
    """Print in a line what lies in a model's folder."""
    sizes = tagger.sizes()
    out.print(
        f"{place}: {sizes['n_documents']:,} documents, {sizes['n_labels']:,} labels in "
        f"{sizes['n_slots']:,} slots of {sizes['n_clusters']:,} clusters",
        markup=False,
        soft_wrap=True,
    )


def described_cut(cut: dict[str, Any]) -> str:
    """Say in a sentence what the threshold does."""
    wanted = cut.get("wanted_precision")
    why = ""
    if "wanted_precision" in cut:
        why = " (best F1)" if wanted is None else f" (for {100 * wanted:g}% precision)"
    missed = wanted is not None and cut["precision"] < wanted
    return (
        f"Threshold {cut['threshold']:.3f}{why}: {100 * cut['precision']:.1f}% of the labels are "
        f"right, {100 * cut['recall']:.1f}% are found, {cut['labels_per_document']:.1f} a document"
        f"{'; no threshold is as precise as wanted' if missed else ''}."
    )


def accuracy_table(figures: dict[str, float]) -> Table:
    """Lay the figures out with one row a measure and one column a cut-off."""
    ks = sorted({int(name.split("@")[1]) for name in figures})
    measures = list(dict.fromkeys(name.split("@")[0] for name in figures))
    rows = [
        [measure, *(_percent(figures.get(f"{measure}@{k}")) for k in ks)] for measure in measures
    ]
    return plain_table(("", *(f"@{k}" for k in ks)), rows, numbers=range(1, len(ks) + 1))


def _percent(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.2f}"


def _range(least: int, most: int | None) -> str:
    if most is None:
        return f"{least:,} and more"
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
