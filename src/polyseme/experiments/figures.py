"""Pictures of results, where matplotlib is installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from polyseme.experiments.cells import Results
from polyseme.experiments.definition import Experiment
from polyseme.experiments.statistics import mean_and_deviation
from polyseme.experiments.tables import Column
from polyseme.files.whole_files import written_beside
from polyseme.machine.extras import how_to_install

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_points", "panels", "save_figure"]

COLOURS = ("#1f6f8b", "#d1603d", "#5b8c5a", "#7a5c99", "#666666")


def save_figure(experiment: Experiment, results: Results, folder: Path) -> list[Path]:
    """Write the figure of an experiment as SVG and PNG; nothing if it has none or no cells.

    Raises
    ------
    ImportError
        If matplotlib is missing, with a sentence that says how to get it.
    """
    if experiment.draw is None or not any(map(results.figures, results.methods)):
        return []
    try:
        from matplotlib import rc_context
    except ImportError as error:
        raise ImportError(
            f"figures need matplotlib, which is not installed: {how_to_install('reproduce')}; "
            "results and tables are written without them."
        ) from error
    files = []
    # The same results give the same bytes.
    with rc_context({"svg.hashsalt": experiment.name, "font.size": 9}):
        figure = experiment.draw(results)
        for ending, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
            file = folder / f"{experiment.name}.{ending}"
            with written_beside(file) as stream:
                figure.savefig(stream, format=ending, metadata=metadata, dpi=120)
            files.append(file)
    return files


def panels(n_rows: int, n_columns: int, title: str) -> tuple[Figure, list[Axes]]:
    """Return a figure with empty panels, row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4 * n_columns, 2.7 * n_rows), layout="constrained")
    figure.suptitle(title)
    axes = figure.subplots(n_rows, n_columns, squeeze=False)
    for axis in axes.flat:
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    return figure, list(axes.flat)


def draw_points(
    axis: Axes,
    results: Results,
    column: Column,
    methods: Sequence[tuple[float, str]],
    label: str,
    colour: str,
) -> None:
    """Draw a line through the means of methods, with their standard deviations.

    Parameters
    ----------
    methods : sequence of (x, name of the method)
    """
    points = []
    for x, method in methods:
        mean, deviation = mean_and_deviation(results.values(method, column.figure) / column.unit)
        if mean == mean:
            points.append((x, mean, deviation if deviation == deviation else 0.0))
    if points:
        xs, means, deviations = zip(*points, strict=True)
        axis.errorbar(
            xs, means, deviations, label=label, color=colour, marker="o", markersize=3, capsize=2
        )
    axis.set_ylabel(column.title)


def draw_level(axis: Axes, results: Results, column: Column, method: str, colour: str) -> None:
    """Draw the mean of one method as a level to compare with."""
    mean, _ = mean_and_deviation(results.values(method, column.figure) / column.unit)
    if mean == mean:
        axis.axhline(mean, label=method, color=colour, linestyle="--", linewidth=1)
