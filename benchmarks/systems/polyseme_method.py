# ruff: noqa: D102 (what the methods do stands in base.py)
"""Any method of polyseme, with its own defaults but for what is asked."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np

import polyseme
from benchmarks.datasets import read_matrix
from benchmarks.one_vs_rest import labels_of_part
from benchmarks.systems.base import System


class PolysemeMethod(System):
    """An estimator by the name of its class; settings that it does not have are left out.

    With `part`, only some labels are learned, and predictions count within them.
    """

    def __init__(self, method: str, part: dict[str, int] | None = None, **settings: Any) -> None:
        super().__init__()
        self.estimator = getattr(polyseme, method)
        self.part = part
        known = inspect.signature(self.estimator).parameters
        wanted = {"random_state": 0, "verbose": 0, **settings}
        self.settings = {name: value for name, value in wanted.items() if name in known}

    def hold(self, data: Path) -> None:
        self.X = read_matrix(data, "X.trn")
        self.Y = read_matrix(data, "Y.trn")
        if self.part:
            self.Y = self.Y[:, labels_of_part(self.Y, self.part)]

    def train(self) -> None:
        self.model = self.estimator(n_jobs=self.n_threads, **self.settings)
        self.model.fit(self.X, self.Y)
        self.phase_seconds = dict(getattr(self.model, "phase_seconds_", {}))

    def save(self, model: Path) -> None:
        self.model.save(model)

    def load(self, model: Path) -> None:
        self.model = polyseme.load(model, n_jobs=self.n_threads)

    def predict(self, queries: Any, k: int) -> Any:
        return self.model.predict_top_k(queries, k)

    def top_labels(self, prediction: Any, k: int) -> np.ndarray[Any, Any]:
        return np.asarray(prediction[0])
