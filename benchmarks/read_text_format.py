"""Reading the text format: polyseme beside scikit-learn, on generated data.

python -m benchmarks.read_text_format [--documents 20000] [--repeats 5] [--threads 2]

Both read the same files in turn, several times; the medians and their ratio are printed.
scikit-learn reads the same lines without the header, which it does not know.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from benchmarks.options import count
from polyseme.datasets import read_xmc_text, write_xmc_text


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.read_text_format", description=__doc__
    )
    parser.add_argument(
        "--documents", type=count, default=20_000, help="how many to read; %(default)s by default"
    )
    parser.add_argument(
        "--repeats",
        type=count,
        default=5,
        help="rounds; medians are printed; %(default)s by default",
    )
    parser.add_argument(
        "--threads", type=count, default=2, help="of polyseme; %(default)s by default"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("data.txt", "data.txt.gz"):
            compare(Path(folder) / name, options.documents, options.repeats, options.threads)


def compare(path: Path, n_documents: int, n_repeats: int, n_threads: int) -> None:
    n_features = 100_000
    X, Y = generated(n_documents, n_features, n_labels=30_000)
    write_xmc_text(path, X, Y)
    headless = path.with_name(f"headless-{path.name}")
    reader, writer = (gzip.open, gzip.open) if path.suffix == ".gz" else (open, open)
    with reader(path, "rb") as source, writer(headless, "wb") as target:
        source.readline()
        while block := source.read(1 << 24):
            target.write(block)

    def ours() -> None:
        read_xmc_text(path, n_threads=n_threads)

    def theirs() -> None:
        load_svmlight_file(
            str(headless),
            n_features=n_features,
            multilabel=True,
            zero_based=True,
            dtype=np.float32,
        )

    times: dict[Callable[[], None], list[float]] = {ours: [], theirs: []}
    for _ in range(n_repeats):
        for read, taken in times.items():
            started = time.perf_counter()
            read()
            taken.append(time.perf_counter() - started)
    our_time, their_time = (statistics.median(taken) for taken in times.values())
    size = path.stat().st_size / 1e6
    print(
        f"{path.name} ({size:.0f} MB, {X.nnz:,} values, {n_threads} threads): "
        f"polyseme {our_time:.3f} s, scikit-learn {their_time:.3f} s, "
        f"ratio {their_time / our_time:.1f}"
    )


def generated(
    n_documents: int, n_features: int, n_labels: int
) -> tuple[sp.csr_array, sp.csr_array]:
    rng = np.random.default_rng(0)

    def random_rows(n_columns: int, n_stored: int) -> sp.csr_array:
        columns = rng.integers(0, n_columns, n_documents * n_stored)
        values = rng.random(n_documents * n_stored, dtype=np.float32) + np.float32(1e-3)
        starts = np.arange(0, len(columns) + 1, n_stored)
        rows = sp.csr_array((values, columns, starts), shape=(n_documents, n_columns))
        rows.sum_duplicates()
        return rows

    X, Y = random_rows(n_features, 150), random_rows(n_labels, 4)
    Y.data[:] = 1
    return X, Y


if __name__ == "__main__":
    main()
