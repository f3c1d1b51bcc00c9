# ruff: noqa: D102 (what the methods do stands in base.py)
"""napkinXC's probabilistic label tree, with its own defaults."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from napkinxc.models import PLT  # type: ignore[import-not-found]
from scipy.sparse import csr_matrix

from benchmarks.datasets import read_matrix
from benchmarks.systems.base import MAX_LEAF_SIZE, THRESHOLD, System, top_k_of_lists


class NapkinxcPLT(System):
    """Logistic loss, balanced 2-means, exact search: its beam search is the slower one."""

    def hold(self, data: Path) -> None:
        self.X = read_matrix(data, "X.trn")
        self.Y = read_matrix(data, "Y.trn")
        # It writes the model while it trains, so the folder must be known before.
        self.output = Path(tempfile.mkdtemp(dir=data.parent))

    def train(self) -> None:
        self.model = self.make(self.output)
        with self.phase("training"):
            self.model.fit(self.X, self.Y)

    def save(self, model: Path) -> None:
        shutil.move(self.output, model)

    def load(self, model: Path) -> None:
        self.model = self.make(model)
        self.model.load()

    def make(self, folder: Path) -> Any:
        return PLT(
            str(folder),
            max_leaves=MAX_LEAF_SIZE,
            weights_threshold=THRESHOLD,
            threads=self.n_threads,
            seed=1,
        )

    def predict(self, queries: csr_matrix, k: int) -> Any:
        return self.model.predict(queries, top_k=k)

    def top_labels(self, prediction: list[list[int]], k: int) -> np.ndarray[Any, Any]:
        return top_k_of_lists(prediction, k)
