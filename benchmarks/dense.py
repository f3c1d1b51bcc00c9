"""What dense columns beside sparse entries cost: time and memory against the sparse part alone."""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import multiprocessing
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyseme import XRLinear

Array = np.ndarray[Any, Any]


def main() -> None:
    """Measure in turns, print a table, and write JSON if asked to."""
    options = parse_options()
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in FORMS}
    for _ in range(options.repeat):
        for name in FORMS:
            # A process each, so that memory that was freed before does not count.
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
                runs[name].append(process.submit(measure, name, options).result())
    results: dict[str, Any] = {
        name: {key: statistics.median(run[key] for run in of) for key in of[0]}
        for name, of in runs.items()
    }
    block = 4 * (options.documents * 9 // 10) * options.dense
    header = ["", "train s", "batch us", "single us", "MiB beyond X", "score"]
    print("{:14}{:>10}{:>10}{:>10}{:>14}{:>8}".format(*header))
    for name, of in results.items():
        print(
            f"{name:14}{of['train_s']:10.2f}{of['batch_us']:10.1f}{of['single_us']:10.1f}"
            f"{of['memory'] / 2**20:14.1f}{of['score']:8.3f}"
        )
    print(f"the dense block has {block / 2**20:.1f} MiB")
    for name in ("sparse+dense", "all sparse"):
        ratios = {
            key: results[name][key] / results["sparse"][key]
            for key in ("train_s", "batch_us", "single_us")
        }
        # The block itself is X and was there before.
        extra = results[name]["memory"] - results["sparse"]["memory"]
        ratios["block_and_more"] = 1 + extra / block
        results[name]["ratios"] = ratios
        shown = ", ".join(f"{key} {value:.2f}" for key, value in ratios.items())
        print(f"{name} against sparse alone: {shown}")
    if options.output:
        shape = {key: getattr(options, key) for key in ("documents", "labels", "dense", "threads")}
        options.output.write_text(
            json.dumps({"shape": shape, "results": results}, indent=2) + "\n"
        )


class Data:
    """Documents whose labels show both in their words and in the direction of a dense vector."""

    n_words, words_each, topic_words = 30_000, 80, 5

    def __init__(self, n_documents: int, n_labels: int, n_dense: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        first = (n_labels * rng.random(n_documents) ** 2).astype(np.int64)
        second = (first + rng.integers(1, n_labels, n_documents)) % n_labels
        vocabulary = rng.integers(self.n_words, size=(n_labels, 30))
        picked = rng.integers(30, size=(n_documents, 2, self.topic_words))
        topical = vocabulary[np.stack([first, second], axis=1)[:, :, None], picked]
        n_other = self.words_each - 2 * self.topic_words
        other = (self.n_words * rng.random((n_documents, n_other)) ** 3).astype(np.int64)
        columns = np.hstack([topical.reshape(n_documents, -1), other])
        rows = np.repeat(np.arange(n_documents), self.words_each)
        counts = sp.csr_matrix(
            (np.ones(columns.size), (rows, columns.ravel())), (n_documents, self.n_words)
        )
        lengths = np.sqrt(counts.multiply(counts).sum(axis=1)).A1
        self.words = sp.csr_matrix(sp.diags(1 / lengths) @ counts, dtype=np.float32)
        directions = rng.standard_normal((n_labels, n_dense), dtype=np.float32)
        dense = directions[first] + directions[second]
        dense += 2.5 * rng.standard_normal(dense.shape, dtype=np.float32)
        dense /= np.linalg.norm(dense, axis=1, keepdims=True)
        self.dense: Array = np.ascontiguousarray(dense)
        pairs = np.stack([first, second], axis=1)
        self.labels = sp.csr_matrix(
            (np.ones(pairs.size), (np.repeat(np.arange(n_documents), 2), pairs.ravel())),
            (n_documents, n_labels),
        )


def as_entries(data: Data) -> sp.csr_matrix:
    """Return words and dense columns in one sparse matrix."""
    return sp.csr_matrix(sp.hstack([data.words, sp.csr_matrix(data.dense)]))


FORMS: dict[str, Callable[[Data], Any]] = {
    "sparse": lambda data: data.words,
    "sparse+dense": lambda data: (data.words, data.dense),
    "all sparse": as_entries,
}


def measure(name: str, options: argparse.Namespace) -> dict[str, float]:
    """Train on nine documents of ten, predict the others in one call and one by one."""
    data = Data(options.documents, options.labels, options.dense, options.seed)
    X, Y = FORMS[name](data), data.labels
    n_documents = Y.shape[0]
    n_train = n_documents * 9 // 10

    def rows(first: int, last: int) -> Any:
        parts = X if isinstance(X, tuple) else (X,)
        cut = tuple(part[first:last] for part in parts)
        return cut if isinstance(X, tuple) else cut[0]

    X_train, Y_train = rows(0, n_train), Y[:n_train]
    gc.collect()
    reset_peak()
    before = memory("VmRSS")
    start = time.perf_counter()
    model = XRLinear(n_jobs=options.threads, verbose=0).fit(X_train, Y_train)
    train_s = time.perf_counter() - start
    used = memory("VmHWM") - before

    test = rows(n_train, n_documents)
    model.predict_top_k(test, k=5)
    batches = [seconds(lambda: model.predict_top_k(test, k=5)) for _ in range(5)]
    singles = [rows(i, i + 1) for i in range(n_train, min(n_documents, n_train + 600))]
    times = [seconds(lambda one=one: model.predict_top_k(one, k=5)) for one in singles]
    return {
        "train_s": train_s,
        "batch_us": 1e6 * min(batches) / (n_documents - n_train),
        "single_us": 1e6 * statistics.median(times[60:]),
        "memory": float(used),
        "score": float(model.score(test, Y[n_train:])),
    }


def seconds(call: Any) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def reset_peak() -> None:
    """Let Linux forget the peak of memory so far, where it may."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def memory(name: str) -> int:
    """Return a number of bytes from /proc/self/status."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return 1024 * int(line.split()[1])
    return 0


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dense", description=__doc__)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--labels", type=int, default=2_000)
    parser.add_argument("--dense", type=int, default=384, help="columns of the block")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="write the results there as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
