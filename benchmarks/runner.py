"""One system, one stage, in a process of its own; the measurements go to stdout as JSON.

The harness starts it as `python -m benchmarks.runner train|predict SYSTEM ...` with the
interpreter that has the system.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.datasets import FIRST_ROW, read_matrix
from benchmarks.memory import MIB, PeakMemory
from benchmarks.systems import make_system
from benchmarks.systems.base import System

K = 5
N_BATCH_PASSES = 5
# The clock at the start of the process, from the harness (CLOCK_MONOTONIC is one for all).
STARTED = "BENCHMARK_PROCESS_STARTED"


def measure_training(system: System, data: Path, model: Path) -> dict[str, Any]:
    """Time and memory of training, from matrices in memory to a model in memory."""
    system.hold(data)
    memory = PeakMemory()
    start = perf_counter()
    system.train()
    seconds = perf_counter() - start
    peak = memory.above_start()
    start = perf_counter()
    system.save(model)
    save_seconds = perf_counter() - start
    files = [model] if model.is_file() else [f for f in model.rglob("*") if f.is_file()]
    return {
        "train_s": seconds,
        "phase_s": system.phase_seconds,
        "train_peak_mib": peak / MIB,
        "train_total_mib": (memory.start + peak) / MIB,
        "peak_was_reset": memory.was_reset,
        "save_s": save_seconds,
        "disk_mb": sum(file.stat().st_size for file in files) / 1e6,
    }


def measure_prediction(
    system: System,
    data: Path,
    model: Path,
    n_queries: int,
    labels: Path | None,
    n_passes: int = N_BATCH_PASSES,
) -> dict[str, Any]:
    """Load time, time to the first prediction, then batches and single rows on a warm model."""
    row = system.prepare_row(read_matrix(data, FIRST_ROW))
    start = perf_counter()
    system.load(model)
    load_seconds = perf_counter() - start
    system.predict(row, K)
    first_seconds = time.monotonic() - float(os.environ.get(STARTED, "nan"))

    X = read_matrix(data, "X.tst")
    batch = system.prepare_batch(X)
    # The first pass warms up and is not timed; it also gives the labels.
    prediction = system.predict(batch, K)
    batch_seconds = [_seconds(system, batch) for _ in range(n_passes)]

    rows = [system.prepare_row(X[i % X.shape[0]]) for i in range(n_queries)]
    for row in rows[: n_queries // 10]:
        system.predict(row, K)
    row_seconds = [_seconds(system, row) for row in rows]
    p50, p99 = np.percentile(row_seconds, [50, 99])
    if labels:
        np.save(labels, system.top_labels(prediction, K))
    return {
        "load_s": load_seconds,
        "first_s": first_seconds,
        "batch_us": float(np.median(batch_seconds)) / X.shape[0] * 1e6,
        "one_p50_us": p50 * 1e6,
        "one_p99_us": p99 * 1e6,
    }


def _seconds(system: System, queries: Any) -> float:
    start = perf_counter()
    system.predict(queries, K)
    return perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stage", choices=["train", "predict"])
    parser.add_argument("system")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--settings", type=json.loads, default={})
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--passes", type=int, default=N_BATCH_PASSES, help="over the test rows")
    parser.add_argument("--labels", type=Path, help="write the predicted label ids there")
    options = parser.parse_args()

    # A library that prints to stdout must not mix with the measurements.
    stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    system = make_system(options.system, options.settings)
    system.n_threads = options.threads
    if options.stage == "train":
        measured = measure_training(system, options.data, options.model)
    else:
        measured = measure_prediction(
            system,
            options.data,
            options.model,
            options.queries,
            options.labels,
            options.passes,
        )
    json.dump(measured, stdout)
    stdout.flush()
    # Skip destructors of native libraries: they are no part of what is measured.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
