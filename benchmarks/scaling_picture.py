"""Log-log lines with their slopes: `python -m benchmarks.scaling_picture JSON PNG`.

Runs in the peers' environment, which has matplotlib.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib  # type: ignore[import-not-found]

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot as plt

ROWS = {"train_s": "training (s)", "train_peak_mib": "peak memory (MiB)", "batch_us": "us a query"}
COLOURS = ("#1f6f8b", "#8b3a1f", "#4f7f2a")


def draw(results: dict[str, Any], path: Path) -> None:
    """Draw a column an axis, a row a measure; the fitted line is dashed."""
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
    figure.savefig(path, dpi=130)


def draw_line(axis: Any, points: dict[int, dict[str, Any]], measure: str, colour: str) -> None:
    """Measured points and the straight line through their logarithms."""
    at = np.array(list(points), dtype=float)
    values = np.array([point[measure] for point in points.values()])
    axis.loglog(at, values, "o", color=colour)
    if len(at) > 1:
        slope, offset = np.polyfit(np.log(at), np.log(values), 1)
        axis.loglog(at, np.exp(offset) * at**slope, "--", color=colour, linewidth=1)
        axis.text(0.05, 0.9, f"slope {slope:.2f}", transform=axis.transAxes, fontsize=9)
    axis.grid(alpha=0.3)


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
