"""Tables of text, and their form in Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from polyseme.experiments.statistics import Comparison, compare_seeds, mean_and_deviation

__all__ = [
    "ACCURACY",
    "ALL_TABLES",
    "COST",
    "PRECISIONS",
    "PROPENSITY",
    "REACH",
    "Column",
    "Table",
    "comparison_text",
    "interval_text",
    "mean_text",
    "to_markdown",
]


@dataclass(frozen=True)
class Column:
    """A figure in a table.

    Attributes
    ----------
    title : str
    figure : str
        Its name among the figures of a cell.
    digits : int
        Behind the point.
    unit : float
        What it is divided by.
    """

    title: str
    figure: str
    digits: int = 2
    unit: float = 1


@dataclass(frozen=True)
class Table:
    """A table of text: the first column has names, the others numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


ACCURACY = tuple(Column(f"P@{k}", f"P@{k}") for k in (1, 3, 5))
PROPENSITY = tuple(Column(f"PSP@{k}", f"PSP@{k}") for k in (1, 3, 5))
REACH = (
    Column("train", "reach_train", 1),
    Column("test", "reach_test", 1),
)
OBJECTIVE = (
    Column("objective before", "reach_before", 1),
    Column("objective after", "reach_after", 1),
)
CLUSTERS = (
    Column("slots", "n_slots", 0),
    Column("mean cluster", "mean_cluster_size", 1),
    Column("largest cluster", "max_cluster_size", 0),
)
COST = (
    Column("training s", "training_seconds"),
    Column("predict us", "prediction_us", 1),
    Column("one by one us", "one_document_us", 1),
    Column("model MiB", "model_bytes", 1, 2.0**20),
)
PRECISIONS = {"Accuracy": ACCURACY, "Accuracy, rare labels weighted": PROPENSITY}
# Narrow enough for a terminal, each of them.
ALL_TABLES = {
    **PRECISIONS,
    "Pairs reached in the end, and by objective (7) before, %": (*REACH, *OBJECTIVE),
    "Clusters": CLUSTERS,
    "Cost; prediction per document": COST,
}


def mean_text(values: Sequence[float], digits: int = 2, unit: float = 1) -> str:
    """Write mean and standard deviation, the latter where there is more than one value."""
    mean, deviation = mean_and_deviation([value / unit for value in values])
    if math.isnan(mean):
        return ""
    text = f"{mean:,.{digits}f}"
    return text if math.isnan(deviation) else f"{text} ± {deviation:,.{digits}f}"


def interval_text(values: Sequence[float], digits: int = 3) -> str:
    """Write a mean with its 95% interval, the latter where there is more than one value."""
    found = compare_seeds(values, [0.0] * len(values))
    mean, margin = found.difference, found.margin
    if math.isnan(mean):
        return ""
    text = f"{mean:.{digits}f}"
    if math.isnan(margin):
        return text
    return f"{text} [{mean - margin:.{digits}f}, {mean + margin:.{digits}f}]"


def comparison_text(comparison: Comparison, digits: int = 2) -> str:
    """Write a difference with its interval; a star where that is on one side of zero."""
    if math.isnan(comparison.difference):
        return ""
    text = f"{comparison.difference:+.{digits}f}"
    if math.isnan(comparison.margin):
        return text
    return f"{text} ± {comparison.margin:.{digits}f}{' *' if comparison.is_clear else ''}"


def to_markdown(section: Table | str) -> str:
    """Write a table, or a paragraph of text, as Markdown."""
    if isinstance(section, str):
        return f"{section}\n"
    rules = ["---", *("---:" for _ in section.columns[1:])]
    lines = [f"**{section.title}**", ""] if section.title else []
    lines += [_line(section.columns), _line(rules), *map(_line, section.rows)]
    if section.note:
        lines += ["", section.note]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
