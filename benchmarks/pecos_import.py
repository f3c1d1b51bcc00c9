"""An imported PECOS model beside PECOS itself: the same scores, and the time for one document.

`python -m benchmarks.pecos_import --data FOLDER` needs libpecos and polyseme in one environment,
so NumPy 1, and a folder with X.trn.npz, Y.trn.npz and X.tst.npz.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.options import count, make_folder, plain_errors
from benchmarks.processors import processor
from polyseme.adapters.pecos import PecosXRLinear, read_pecos

BEAM_SIZE, K = 10, 10


def main() -> None:
    """Train or load, compare, measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pecos_import", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, help="PECOS' folder; trained if it is not there")
    parser.add_argument("--documents", type=count, default=1000, help="%(default)s by default")
    parser.add_argument("--rounds", type=count, default=5, help="%(default)s by default")
    parser.add_argument("--results", type=Path, default=Path("build/benchmark"))
    options = parser.parse_args()
    with (
        plain_errors("benchmarks.pecos_import"),
        tempfile.TemporaryDirectory() as temporary,
    ):
        make_folder(options.results, "--results")
        folder = options.model or Path(temporary) / "pecos"
        if not folder.exists():
            train(options.data, folder)
        X = read(options.data / "X.tst.npz")[: options.documents]
        found = compare(folder, X, options.rounds)
        text = json.dumps({"data": options.data.resolve().name} | found, indent=1)
        file = options.results / "pecos-import.json"
        file.write_text(f"{text}\n", encoding="utf-8")
        print(f"{text}\nwritten: {file}")


def train(data: Path, folder: Path) -> None:
    """Train by libpecos, and save its folder."""
    X, Y = read(data / "X.trn.npz"), read(data / "Y.trn.npz")
    PecosXRLinear(beam_size=BEAM_SIZE).fit(X, Y).save(folder)


def compare(folder: Path, X: sp.csr_matrix, n_rounds: int) -> dict[str, Any]:
    """Return differences of scores, and microseconds per document, of both.

    Parameters
    ----------
    folder : Path
    X : csr_matrix, shape (n_documents, n_features)
    n_rounds : int
        All documents are asked for so often, by turns.
    """
    from pecos.xmc.xlinear.model import XLinearModel  # type: ignore[import-not-found]

    theirs = XLinearModel.load(
        str(folder), is_predict_only=True, weight_matrix_type="HASH_CHUNKED"
    )
    started = time.perf_counter()
    ours = read_pecos(folder, beam_size=BEAM_SIZE, n_jobs=1)
    seconds_to_import = time.perf_counter() - started
    settings = {"beam_size": BEAM_SIZE, "only_topk": K, "threads": 1}
    wanted = theirs.predict(X, **settings)
    scores = ours.decision_function(X)
    labels, _ = ours.predict_top_k(X, K)
    found = np.asarray(sp.csr_matrix(scores)[wanted.nonzero()]).ravel()
    difference = np.abs(found - wanted[wanted.nonzero()].A1)
    same = [set(wanted[i].indices) == set(labels[i][labels[i] >= 0]) for i in range(len(labels))]

    rows = [X[i] for i in range(X.shape[0])]
    ask: dict[str, Callable[[Any], Any]] = {
        "libpecos": lambda row: theirs.predict(row, **settings),
        "polyseme": lambda row: ours.predict_top_k(row, K),
    }
    taken: dict[str, list[float]] = {name: [] for name in ask}
    for _ in range(n_rounds):
        for row in rows:
            for name, answer in ask.items():
                before = time.perf_counter()
                answer(row)
                taken[name].append(time.perf_counter() - before)
    return {
        "processor": processor(),
        "libpecos": version("libpecos"),
        "n_rounds": n_rounds,
        "k": K,
        "beam_size": BEAM_SIZE,
        "n_labels": ours.n_labels_,
        "n_documents": len(rows),
        "n_scores": int(wanted.nnz),
        "largest_difference": float(difference.max()),
        "documents_with_the_same_labels": int(np.sum(same)),
        "seconds_to_import": round(seconds_to_import, 2),
        "median_microseconds": {
            name: round(1e6 * float(np.median(some)), 1) for name, some in taken.items()
        },
    }


def read(file: Path) -> sp.csr_matrix:
    """Read a matrix, as libpecos takes it."""
    matrix = sp.csr_matrix(sp.load_npz(file), dtype=np.float32)
    matrix.sort_indices()
    return matrix


if __name__ == "__main__":
    main()
