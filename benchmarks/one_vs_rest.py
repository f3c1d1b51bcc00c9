"""`OneVsRest` beside liblinear: `python -m benchmarks.one_vs_rest --data D`.

Both train the same labels of a data set against all of its documents, with the same loss, C and
bias: the most frequent labels, and some rare ones by chance. They are the whole label set of the
measures. They come in parts, and the two take turns, part by part. liblinear is asked through
scikit-learn, a label a call, as many side by side as there are threads.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import logit
from sklearn.svm import LinearSVC

from benchmarks.accuracy import precision_at
from benchmarks.options import amount, count
from benchmarks.report import table
from polyseme import OneVsRest

RARE = (2, 10)  # training documents of a rare label
Margins = npt.NDArray[np.float64]


def chosen_labels(Y: sp.csc_array, n_frequent: int, n_rare: int) -> npt.NDArray[np.int64]:
    """Return the most frequent labels and some of the rare ones, in the order of chance."""
    counts = np.diff(Y.indptr)
    rng = np.random.default_rng(0)
    by_count = np.argsort(-counts, kind="stable")
    rare = np.setdiff1d(
        np.flatnonzero((counts >= RARE[0]) & (counts <= RARE[1])), by_count[:n_frequent]
    )
    some = rng.choice(rare, min(n_rare, len(rare)), replace=False)
    return rng.permutation(np.concatenate([by_count[:n_frequent], some]))


def labels_of_part(Y: Any, part: dict[str, int]) -> npt.NDArray[np.int64]:
    """Return the labels of a part such as ``{"frequent": 50, "rare": 50}``."""
    return chosen_labels(sp.csc_array(Y), part["frequent"], part["rare"])


def margins_of_polyseme(
    X: sp.csr_matrix, Y: sp.csc_array, X_test: sp.csr_matrix, n_threads: int
) -> tuple[float, Margins]:
    """Return the seconds of training and the margins, shape (n_test_documents, n_labels)."""
    model = OneVsRest(ordering="product", senses="none", n_jobs=n_threads, verbose=0)
    began = time.perf_counter()
    model.fit(X, Y)
    taken = time.perf_counter() - began
    scores = model.decision_function(X_test).toarray().astype(np.float64)
    return taken, logit(np.clip(scores, 1e-30, 1 - 1e-7))


def margins_of_liblinear(
    X: sp.csr_matrix, Y: sp.csc_array, X_test: sp.csr_matrix, n_threads: int, tol: float
) -> tuple[float, Margins]:
    """Return the same of liblinear, in double precision; the conversion is not timed."""
    X, X_test = X.astype(np.float64), X_test.astype(np.float64)
    targets = [Y[:, [label]].toarray().ravel() for label in range(Y.shape[1])]

    def train(target: npt.NDArray[Any]) -> LinearSVC:
        return LinearSVC(C=1.0, loss="squared_hinge", dual=True, tol=tol).fit(X, target)

    began = time.perf_counter()
    with ThreadPoolExecutor(n_threads) as pool:
        models = list(pool.map(train, targets))
    taken = time.perf_counter() - began
    return taken, np.stack([model.decision_function(X_test) for model in models], axis=1)


def precision(margins: Margins, truth: sp.csr_matrix) -> dict[str, float]:
    """Return P@1, P@3 and P@5 in percent."""
    return precision_at(np.argsort(-margins, axis=1, kind="stable")[:, :5], truth)


def main() -> None:
    """Measure, print a table, and write the figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--frequent", type=count, default=300)
    parser.add_argument("--rare", type=count, default=300)
    parser.add_argument("--parts", type=count, default=4)
    parser.add_argument("--threads", type=count, default=2)
    parser.add_argument("--tol", type=amount, default=1e-3, help="of liblinear")
    parser.add_argument("--output", type=Path, help="a JSON file")
    asked = parser.parse_args()

    X, X_test = (
        sp.csr_matrix(sp.load_npz(asked.data / f"X.{part}.npz"), dtype=np.float32)
        for part in ("trn", "tst")
    )
    Y, Y_test = (
        sp.csc_array(sp.load_npz(asked.data / f"Y.{part}.npz")) for part in ("trn", "tst")
    )
    labels = chosen_labels(Y, asked.frequent, asked.rare)
    truth = sp.csr_matrix(Y_test[:, labels])
    has_label = np.diff(truth.indptr) > 0
    X_test, truth = X_test[has_label], truth[has_label]

    systems: dict[str, Callable[[sp.csc_array], tuple[float, Margins]]] = {
        "polyseme": lambda part: margins_of_polyseme(X, part, X_test, asked.threads),
        "liblinear": lambda part: margins_of_liblinear(X, part, X_test, asked.threads, asked.tol),
    }
    seconds = dict.fromkeys(systems, 0.0)
    margins: dict[str, list[Margins]] = {name: [] for name in systems}
    for part in np.array_split(labels, asked.parts):
        for name, measure in systems.items():
            taken, found = measure(Y[:, part])
            seconds[name] += taken
            margins[name].append(found)
    joined = {name: np.concatenate(found, axis=1) for name, found in margins.items()}
    apart = np.abs(joined["polyseme"] - joined["liblinear"])

    figures: dict[str, dict[str, float]] = {
        name: {"train_s": seconds[name], **precision(joined[name], truth)} for name in systems
    }
    rows = [
        [name, f"{row['train_s']:.1f}", *(f"{row[f'P@{k}']:.2f}" for k in (1, 3, 5))]
        for name, row in figures.items()
    ]
    print("\n".join(table([["", "train s", "P@1", "P@3", "P@5"], *rows])))
    ratio = seconds["liblinear"] / seconds["polyseme"]
    print(
        f"{len(labels)} labels, {X.shape[0]} documents: {ratio:.1f} times as fast; margins are "
        f"{apart.mean():.4f} apart on average, {apart.max():.3f} at most."
    )
    if asked.output is not None:
        summary = {
            "data": asked.data.name,
            "n_labels": len(labels),
            "systems": figures,
            "ratio": ratio,
            "mean_margin_apart": float(apart.mean()),
            "largest_margin_apart": float(apart.max()),
        }
        asked.output.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
