"""Bars for each measure, with the ratio to libpecos: `python -m benchmarks.picture JSON SVG`.

Runs in the peers' environment, which has matplotlib.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from benchmarks.systems import REFERENCE

PANELS = {
    "train_s": "training (s)",
    "train_peak_mib": "peak memory of training\nabove the data (MiB)",
    "disk_mb": "model on disk (MB)",
    "batch_us": "batch prediction\n(us a query)",
    "one_p50_us": "one at a time, median\n(us a query)",
    "first_s": "new process to first\nprediction (s)",
}
OWN, OTHER = "#1f6f8b", "#b8c4c9"


def draw(results: dict[str, Any], path: Path) -> None:
    """One panel a measure, shorter is better."""
    medians = results["medians"]
    names = list(medians)[::-1]
    figure, axes = plt.subplots(2, 3, figsize=(13, 1.8 + 0.62 * len(names)), sharey=True)
    for axis, (measure, title) in zip(axes.flat, PANELS.items(), strict=True):
        values = [medians[name][measure] for name in names]
        colours = [OWN if name.startswith("polyseme") else OTHER for name in names]
        bars = axis.barh(names, values, color=colours)
        axis.bar_label(bars, [label(medians, name, measure) for name in names], padding=3)
        axis.set_title(title, fontsize=10)
        axis.set_xlim(0, max(values) * 1.45)
        axis.spines[["top", "right"]].set_visible(False)
    data, settings = results["data"], results["settings"]
    figure.suptitle(
        f"{data['name']}: {data['n_documents']:,} documents, {data['n_labels']:,} labels, "
        f"{settings['threads']} threads. Shorter is better; ratio to {REFERENCE} in brackets."
    )
    figure.tight_layout()
    # Text stays text and nothing depends on the clock: small files, and small changes to them.
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "polyseme"})
    figure.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else None)


def label(medians: dict[str, Any], name: str, measure: str) -> str:
    """Give the figure, and how it stands to the reference."""
    value = medians[name][measure]
    text = f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
    if REFERENCE not in medians:
        return text
    return f"{text}  ({value / medians[REFERENCE][measure]:.2f}x)"


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
