"""Thresholds of labels beside one for all: `python -m benchmarks.label_thresholds MODEL DATA`.

Documents that the model was not trained on are split in two halves by chance. Thresholds for a
wanted precision are chosen on the one and measured on the other.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.options import plain_errors
from benchmarks.report import table
from polyseme import TextModel, load
from polyseme.text import Record, open_corpus
from polyseme.text.calibration import cut_for_precision, measure_cut
from polyseme.text.evaluation import Judged
from polyseme.text.label_thresholds import choose_label_thresholds
from polyseme.text.measuring import judge_records

WANTED = (0.5, 0.7, 0.8, 0.9)
OFTEN = 10  # suggestions from which on a label's own precision says something


def main() -> None:
    """Print a table of both for several precisions."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.label_thresholds", description=__doc__
    )
    parser.add_argument("model", type=Path, help="a model of texts")
    parser.add_argument("data", type=Path, help="texts with labels that it has not seen")
    parser.add_argument("--seed", type=int, default=0, help="of the halves; %(default)s")
    options = parser.parse_args()
    with plain_errors("benchmarks.label_thresholds"):
        model: TextModel = load(options.model)
        found = compared(model, open_corpus(options.data, like=model.reading_), options.seed)
    rows = [
        [
            *(f"{row['wanted']:.0%}", row["thresholds"]),
            *(f"{row[key]:.1%}" for key in ("precision", "recall", "f1", "without_label")),
            *(str(row["n_labels"]), "{:.0%} to {:.0%}".format(*row["spread"])),
        ]
        for row in found
    ]
    columns = ["wanted", "thresholds", "precision", "recall", "F1", "without", "labels", "spread"]
    print("\n".join(table([columns, *rows])))


def compared(model: TextModel, records: Iterable[Record], seed: int) -> list[dict[str, Any]]:
    """Measure both kinds of thresholds for several precisions."""
    judged = judge_records(model, records).judged[0]
    is_first = np.random.default_rng(seed).random(judged.n_documents) < 0.5
    first, second = judged.rows(is_first), judged.rows(~is_first)
    rows = []
    for wanted in WANTED:
        of_all = cut_for_precision(*first.pairs(model.calibration_), wanted)
        of_each = choose_label_thresholds(first, model.calibration_, wanted)
        for name, least in (("one for all", of_all), ("one for each", of_each)):
            found = measured(model, second, least)
            rows.append({"wanted": wanted, "thresholds": name, **found})
    return rows


def measured(
    model: TextModel, judged: Judged, least: float | npt.NDArray[np.float64]
) -> dict[str, Any]:
    """Return precision, recall, F1, documents without a label, and how labels differ.

    That is how many labels are suggested ten times or more, and between which precisions the
    middle four fifths of them are.
    """
    kept = judged.kept(model.calibration_, least)
    cut = measure_cut(kept, judged.hits, 0.0, n_true=judged.n_true)
    own = precisions_of_labels(judged, kept)
    spread = np.quantile(own, [0.1, 0.9]).tolist() if len(own) else [0.0, 1.0]
    names = ("precision", "recall", "f1", "without_label")
    shares = {name: getattr(cut, name) for name in names}
    return {**shares, "n_labels": len(own), "spread": spread}


def precisions_of_labels(judged: Judged, kept: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Return the precision of each label that is suggested often."""
    n_kept = np.bincount(judged.labels[kept], minlength=judged.Y.shape[1])
    n_right = np.bincount(judged.labels[kept & judged.hits], minlength=judged.Y.shape[1])
    return n_right[n_kept >= OFTEN] / n_kept[n_kept >= OFTEN]


if __name__ == "__main__":
    main()
