"""The two penalties of `OneVsRest`: `python -m benchmarks.penalties --data D`.

Some labels, drawn by chance, are the whole label set; each row trains them with one thread.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.options import count, make_folder, plain_errors
from benchmarks.report import table
from polyseme import OneVsRest, datasets, metrics

SEED = 0
KS = (1, 3, 5)
ROWS: dict[str, dict[str, Any]] = {
    "l2": {"penalty": "l2"},
    "l1": {"penalty": "l1"},
    "l1, C = 3": {"penalty": "l1", "C": 3.0},
}


def main() -> None:
    """Train every row on every data set; print a table, write a file of JSON per data set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.penalties", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, action="append")
    parser.add_argument("--labels", type=count, default=300, help="%(default)s by default")
    parser.add_argument("--results", type=Path, default=Path("build/benchmark"))
    options = parser.parse_args()
    with plain_errors("benchmarks.penalties"):
        make_folder(options.results, "--results")
        for folder in options.data:
            data = datasets.load(folder)
            if data.X_test is None or data.Y_test is None:
                raise ValueError(f"{folder} has no test documents; give one with X.tst.npz.")
            found = measured(data, options.labels)
            file = options.results / f"penalties-{folder.resolve().name}.json"
            file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            head = ["", *next(iter(found["rows"].values()))]
            rows = [
                [name, *(f"{x:.2f}" for x in row.values())] for name, row in found["rows"].items()
            ]
            print("\n".join([str(file), *table([head, *rows])]))


def measured(data: datasets.Dataset, n_labels: int) -> dict[str, Any]:
    """Return what each row takes and finds."""
    assert data.X_test is not None
    assert data.Y_test is not None
    n_all = data.Y_train.shape[1]
    rng = np.random.default_rng(SEED)
    labels = np.sort(rng.choice(n_all, min(n_labels, n_all), replace=False))
    Y, Y_test = data.Y_train.tocsc()[:, labels].tocsr(), data.Y_test.tocsc()[:, labels].tocsr()
    asked = np.flatnonzero(np.diff(Y_test.indptr))  # documents with one of these labels
    counts = np.diff(Y.tocsc().indptr)
    propensities = metrics.propensities(counts, Y.shape[0])
    rows = {}
    for name, parameters in ROWS.items():
        model = OneVsRest(
            ordering="product",
            senses="none",
            random_state=SEED,
            n_jobs=1,
            verbose=0,
            **parameters,
        )
        began = time.process_time()
        model.fit(data.X_train, Y)
        seconds = time.process_time() - began
        top, _ = model.predict_top_k(data.X_test[asked], max(KS))
        found = metrics.evaluate(top, Y_test[asked], ks=KS, propensities=propensities)
        rows[name] = {
            "train_s": seconds,
            "n_weights": model.ranker_.n_weights(),
            **{f"{measure}@{k}": found[f"{measure}@{k}"] for measure in ("P", "PSP") for k in KS},
        }
    return {"n_labels": n_all, "n_drawn": len(labels), "rows": rows}


if __name__ == "__main__":
    main()
