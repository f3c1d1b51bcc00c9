"""How far from the limits of this machine: `python -m benchmarks.roofline --data D`.

Measures what memory and arithmetic can do at most, counts the bytes and operations that a
prediction and a training pass need, and sets the times that follow beside the measured ones, for
a plain model and one with two copies. Without `--data` only the machine is measured.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.options import count, make_folder, plain_errors
from benchmarks.processors import processor
from benchmarks.report import table
from benchmarks.systems import make_system
from benchmarks.systems.xr_linear import XRLinear as OurSystem
from polyseme import XRLinear, datasets
from polyseme.backbones.linear.weights import LinearWeights
from polyseme.inputs.documents import Documents
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine import phases
from polyseme.machine.run import Run
from polyseme.partition.training_rows import cluster_targets

SOURCE = Path(__file__).with_name("machine_limits.cpp")
SECONDS = 0.3  # for each measurement
IN_L2, IN_MEMORY = 1 << 20, 768 << 20  # bytes; beyond the last cache of most machines
LINE = 64
N_CHAINS = 16
LANES = 16  # slots that the solver treats side by side
N_COUNTED = 1000  # documents whose visits are counted
# As the table of systems has them
MODELS = {"plain": "polyseme", "two copies": "polyseme-copies2"}


def build(folder: Path) -> ctypes.CDLL:
    """Compile the helper for this machine."""
    library = folder / "machine_limits.so"
    folder.mkdir(parents=True, exist_ok=True)
    flags = ["-std=c++20", "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]
    subprocess.run(["c++", *flags, str(SOURCE), "-o", str(library)], check=True)
    helper = ctypes.CDLL(str(library.resolve()))
    for name in ("sequential_read", "random_read", "multiply_add"):
        getattr(helper, name).restype = ctypes.c_double
    return helper


def machine_limits(helper: ctypes.CDLL, n_threads: int) -> dict[str, float]:
    """Measure with all threads at once; rates are added up, the latency is the mean."""
    rng = np.random.default_rng(0)

    def buffers(n_bytes: int) -> list[Any]:
        n_lines = n_bytes // LINE
        chain = np.empty(n_lines, dtype=np.uint64)
        order = rng.permutation(n_lines).astype(np.uint64)
        chain[order] = np.roll(order, -1)  # one ring through all lines
        lines = np.zeros((n_lines, LINE // 8), dtype=np.uint64)
        lines[:, 0] = chain
        return [lines] if n_bytes > IN_L2 else [lines.copy() for _ in range(n_threads)]

    def on_all(run: Callable[[Any], float], data: list[Any]) -> list[float]:
        with ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(run, [data[i % len(data)] for i in range(n_threads)]))

    def sequential(lines: Any) -> float:
        address = ctypes.c_void_p(lines.ctypes.data)
        return float(
            helper.sequential_read(address, ctypes.c_int64(lines.nbytes), ctypes.c_double(SECONDS))
        )

    def random(n_chains: int) -> Callable[[Any], float]:
        return lambda lines: float(
            helper.random_read(
                ctypes.c_void_p(lines.ctypes.data),
                ctypes.c_int64(len(lines)),
                ctypes.c_int(n_chains),
                ctypes.c_double(SECONDS),
            )
        )

    near, far = buffers(IN_L2), buffers(IN_MEMORY)
    flops = on_all(lambda _: float(helper.multiply_add(ctypes.c_double(SECONDS))), near)
    return {
        "memory_bytes_per_s": sum(on_all(sequential, far)),
        "l2_bytes_per_s": sum(on_all(sequential, near)),
        "random_lines_per_s": sum(on_all(random(N_CHAINS), far)),
        "random_latency_ns": 1e9 / float(np.mean(on_all(random(1), far))),
        "l2_random_lines_per_s": sum(on_all(random(N_CHAINS), near)),
        "flops": sum(flops),
    }


def weights_by_cluster(weights: LinearWeights) -> sp.csr_array:
    """Features x clusters: the kept weights of each cluster for each feature."""
    by_slot = weights.to_rows().to_scipy()
    n_clusters = len(weights.slot_starts) - 1
    cluster_of = np.repeat(np.arange(n_clusters), np.diff(weights.slot_starts))
    features = np.repeat(np.arange(weights.n_features), np.diff(by_slot.indptr))
    ones = np.ones(by_slot.nnz, dtype=np.int64)
    shape = (weights.n_features, n_clusters)
    return sp.csr_array((ones, (features, cluster_of[by_slot.indices])), shape=shape)


def prediction_counts(model: XRLinear, X: SparseRows) -> dict[str, float]:
    """Count what one document needs on average if no node of the beam is left out."""
    present = sp.csr_array(
        (np.ones(X.n_stored, dtype=np.int64), X.columns, X.starts), shape=X.shape
    )
    ranker = model.ranker_.weights
    assert ranker is not None
    levels = [*model.matcher_.levels, ranker]
    beams = model.matcher_.beams(Documents(X), model.beam_size, Run())
    totals = {"clusters": 0.0, "lookups": 0.0, "rows_found": 0.0, "weights": 0.0, "bytes": 0.0}
    for depth, weights in enumerate(levels):
        visited = beams[depth - 1].to_scipy() if depth else root_visits(X.n_rows)
        visited.data = np.ones_like(visited.data)
        counts = weights_by_cluster(weights)
        used = float((present @ counts).multiply(visited).sum())
        rows = float((present @ (counts > 0).astype(np.int64)).multiply(visited).sum())
        stored_bytes = sum(array.nbytes for array in weights.to_arrays().values())
        totals["clusters"] += visited.nnz
        totals["lookups"] += float(np.diff(X.starts) @ np.diff(visited.indptr))
        totals["rows_found"] += rows
        totals["weights"] += used
        totals["bytes"] += used * stored_bytes / max(1, weights.n_weights)
    totals["bytes"] += 8.0 * X.n_stored  # the document itself: columns and values
    per_document = {name: total / X.n_rows for name, total in totals.items()}
    # Of a record two lines at least (which clusters, and where), and one of each row.
    records = len(levels) * X.n_stored / X.n_rows
    per_document["lines"] = 2 * records + per_document["rows_found"]
    per_document["flops"] = 2 * per_document["weights"]
    return per_document


def root_visits(n_rows: int) -> sp.csr_array:
    """Every document visits the root."""
    starts = np.arange(n_rows + 1)
    return sp.csr_array((np.ones(n_rows), np.zeros(n_rows, int), starts), shape=(n_rows, 1))


def training_pass_counts(model: XRLinear, X: SparseRows, Y: Any) -> dict[str, float]:
    """Count one pass of the solver over all rows of all clusters of the ranker.

    Each entry of a row meets one vector of weights for every group of slots.
    """
    targets = cluster_targets(Y, model.clusters_)
    row_entries = np.repeat(np.diff(X.starts), np.diff(targets.starts)).astype(np.float64)
    n_groups = -(-model.clusters_.sizes // LANES)
    visits = float(row_entries @ n_groups[targets.columns])
    return {
        "visits": visits,
        "flops": visits * 2 * LANES,
        "bytes": visits * (8 + 4 * LANES),
        "bytes_gathered": float(row_entries.sum()) * 8,
    }


def seconds_of_batches(model: XRLinear, X: Any) -> float:
    """Median seconds per document, many documents at once."""
    taken = []
    for _ in range(6):
        start = time.perf_counter()
        model.predict_top_k(X, 5)
        taken.append(time.perf_counter() - start)
    return float(np.median(taken[1:]) / X.shape[0])


def compare(
    data: datasets.Dataset, system: str, limits: dict[str, float], n_threads: int
) -> dict[str, Any]:
    """Set the limits beside what was measured, for prediction and for training the ranker."""
    made = make_system(system, {})
    assert isinstance(made, OurSystem)
    model = XRLinear(n_jobs=n_threads, verbose=0, **made.settings).fit(data.X_train, data.Y_train)
    queries = data.X_train if data.X_test is None else data.X_test
    predicted = prediction_counts(model, check_features(queries[:N_COUNTED]).all_sparse())
    X = check_features(data.X_train).all_sparse()
    Y, _ = check_labels(data.Y_train, X.n_rows)
    trained = training_pass_counts(model, X, Y)
    return {
        "prediction": {
            "counts": predicted,
            "limit_s": {
                "random lines, all from memory": predicted["lines"] / limits["random_lines_per_s"],
                "random lines, all from L2": predicted["lines"] / limits["l2_random_lines_per_s"],
                "bytes from memory": predicted["bytes"] / limits["memory_bytes_per_s"],
                "arithmetic": predicted["flops"] / limits["flops"],
            },
            "measured_s": seconds_of_batches(model, queries),
        },
        "training pass": {
            "counts": trained,
            "limit_s": {
                "rows from memory": trained["bytes_gathered"] / limits["memory_bytes_per_s"],
                "weights from L2": trained["bytes"] / limits["l2_bytes_per_s"],
                "arithmetic": trained["flops"] / limits["flops"],
            },
            # All passes, gathering and pruning included.
            "measured_s": model.phase_seconds_[phases.TRAINING_RANKER],
        },
    }


def as_text(results: dict[str, Any]) -> str:
    """Write the machine, then each job with its limits."""
    limits = results["machine"]
    rows = [["this machine, all threads", "at most"]]
    for name, unit in (
        ("memory_bytes_per_s", "GB/s"),
        ("l2_bytes_per_s", "GB/s"),
        ("random_lines_per_s", "G/s"),
        ("l2_random_lines_per_s", "G/s"),
        ("flops", "GFLOP/s"),
    ):
        rows.append([name.replace("_", " "), f"{limits[name] / 1e9:.2f} {unit}"])
    rows.append(["random latency", f"{limits['random_latency_ns']:.0f} ns"])
    lines = table(rows)
    for model, jobs in results["models"].items():
        lines += ["", model]
        for job, found in jobs.items():
            lines += ["", *table_of_job(job, found)]
    return "\n".join(lines)


def table_of_job(job: str, found: dict[str, Any]) -> list[str]:
    """Return what was counted, and the times that follow beside the one measured."""
    heading = "prediction, per document" if job == "prediction" else "ranker, one pass"
    unit, scale = ("us", 1e6) if job == "prediction" else ("s", 1.0)
    rows = [[heading, "counted"]]
    rows += [[name.replace("_", " "), f"{n:,.0f}"] for name, n in found["counts"].items()]
    lines = [*table(rows), ""]
    rows = [["limit by", unit, "measured is"]]
    for name, seconds in found["limit_s"].items():
        times = found["measured_s"] / seconds if seconds else float("inf")
        rows.append([name, f"{seconds * scale:.3g}", f"{times:.1f}x"])
    rows.append(["measured", f"{found['measured_s'] * scale:.3g}", ""])
    return [*lines, *table(rows)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.roofline", description=__doc__)
    parser.add_argument(
        "--data", type=Path, nargs="+", default=[], help="data sets to train models on"
    )
    parser.add_argument("--threads", type=count, default=2, help="%(default)s by default")
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("build/benchmark"),
        help="folder for roofline.json; %(default)s by default",
    )
    options = parser.parse_args()
    with plain_errors("benchmarks.roofline"):
        make_folder(options.results, "--results")
        measure(options.data, options.threads, options.results)


def measure(folders: list[Path], n_threads: int, to: Path) -> None:
    """Measure this machine and every model; print it and write it as JSON."""
    loaded = {folder.resolve().name: datasets.load(folder) for folder in folders}
    with tempfile.TemporaryDirectory() as temporary:
        try:
            helper = build(Path(temporary))
        except (OSError, subprocess.CalledProcessError) as problem:
            raise ValueError(f"a C++ compiler named c++ is needed ({problem})") from problem
        limits = machine_limits(helper, n_threads)
    results: dict[str, Any] = {
        "processor": processor(),
        "threads": n_threads,
        "machine": limits,
        "models": {
            f"{name}, {title}": compare(data, system, limits, n_threads)
            for name, data in loaded.items()
            for title, system in MODELS.items()
        },
    }
    print(as_text(results))
    file = to / "roofline.json"
    file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"\nwritten: {file}")


if __name__ == "__main__":
    main()
