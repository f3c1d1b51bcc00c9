# ruff: noqa: D102 (what the methods do stands in base.py)
"""One-vs-rest by liblinear, through scikit-learn: a label a call, on a part of the labels."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.svm import LinearSVC

from benchmarks.datasets import read_matrix
from benchmarks.one_vs_rest import labels_of_part
from benchmarks.systems.base import System

TOLERANCE = 0.01  # as of `polyseme.OneVsRest`
WEIGHTS = "weights.npz"


class LiblinearPart(System):
    """Squared hinge, C = 1; all weights are kept, in double precision, as it has them."""

    def __init__(self, part: dict[str, int]) -> None:
        super().__init__()
        self.part = part

    def hold(self, data: Path) -> None:
        self.X = read_matrix(data, "X.trn").astype(np.float64)
        Y = read_matrix(data, "Y.trn")
        Y = Y[:, labels_of_part(Y, self.part)].tocsc()
        self.targets = [Y[:, [label]].toarray().ravel() for label in range(Y.shape[1])]

    def train(self) -> None:
        def solve(target: np.ndarray[Any, Any]) -> LinearSVC:
            return LinearSVC(C=1.0, loss="squared_hinge", dual=True, tol=TOLERANCE).fit(
                self.X, target
            )

        with self.phase("training"), ThreadPoolExecutor(self.n_threads) as pool:
            models = list(pool.map(solve, self.targets))
        self.weights = np.stack([model.coef_[0] for model in models], axis=1)
        self.bias = np.array([model.intercept_[0] for model in models])

    def save(self, model: Path) -> None:
        model.mkdir()
        np.savez(model / WEIGHTS, weights=self.weights, bias=self.bias)

    def load(self, model: Path) -> None:
        with np.load(model / WEIGHTS) as stored:
            self.weights, self.bias = stored["weights"], stored["bias"]

    def prepare_row(self, row: csr_matrix) -> csr_matrix:
        return row.astype(np.float64)

    def prepare_batch(self, X: csr_matrix) -> csr_matrix:
        return X.astype(np.float64)

    def predict(self, queries: csr_matrix, k: int) -> np.ndarray[Any, Any]:
        margins = queries @ self.weights + self.bias
        return np.argsort(-margins, axis=1, kind="stable")[:, :k]

    def top_labels(self, prediction: np.ndarray[Any, Any], k: int) -> np.ndarray[Any, Any]:
        return prediction
