"""Log-log lines with their slopes: `python -m benchmarks.scaling_picture JSON SVG`.

Runs in the peers' environment, which has matplotlib.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.ticker import NullLocator

ROWS = {"train_s": "training (s)", "train_peak_mib": "peak memory (MiB)", "batch_us": "us a query"}
COLOURS = ("#1f6f8b", "#8b3a1f", "#4f7f2a")


def draw(results: dict[str, Any], path: Path) -> None:
    """Draw one column per axis and one row per measure; the fitted line is dashed."""
    names = list(results["axes"])
    figure, grid = plt.subplots(
        len(ROWS), len(names), figsize=(1.2 + 2.5 * len(names), 7.5), squeeze=False
    )
    for column, name in enumerate(names):
        points = results["axes"][name]
        good = {int(value): point for value, point in points.items() if "failed" not in point}
        for row, (measure, heading) in enumerate(ROWS.items()):
            axis = grid[row, column]
            if good:
                draw_line(axis, good, measure, COLOURS[row])
            if row == 0:
                axis.set_title(name, fontsize=10)
            if column == 0:
                axis.set_ylabel(heading)
    figure.suptitle(f"{results['system']} on generated data: how cost grows")
    figure.tight_layout()
    # Text stays text and nothing depends on the clock: small files, and small changes to them.
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "polyseme"})
    figure.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else None)


def draw_line(axis: Any, points: dict[int, dict[str, Any]], measure: str, colour: str) -> None:
    """Measured points and the straight line through their logarithms."""
    at = np.array(list(points), dtype=float)
    values = np.array([point[measure] for point in points.values()])
    axis.loglog(at, values, "o", color=colour)
    if len(at) > 1:
        slope, offset = np.polyfit(np.log(at), np.log(values), 1)
        axis.loglog(at, np.exp(offset) * at**slope, "--", color=colour, linewidth=1)
        axis.text(0.05, 0.9, f"slope {slope:.2f}", transform=axis.transAxes, fontsize=9)
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xticks(at, [short(value) for value in at])
    spread_ticks(axis, values)
    axis.grid(alpha=0.3)


def spread_ticks(axis: Any, values: Any) -> None:
    """Mark up to three values from the least to the most: there may be no power of ten."""
    least, most = values.min() / 1.3, values.max() * 1.3
    n_marks = 1 + (values.max() > 1.15 * values.min()) + (values.max() > 1.5 * values.min())
    marks = np.exp(np.linspace(np.log(values.min()), np.log(values.max()), n_marks))
    axis.set_ylim(least, most)
    axis.yaxis.set_minor_locator(NullLocator())
    axis.set_yticks(marks, [f"{mark:.3g}" if mark < 1000 else f"{mark:,.0f}" for mark in marks])


def short(value: float) -> str:
    """Write 300,000 as 300k."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
