# ruff: noqa: D102 (what the methods do stands in base.py)
"""polyseme itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import read_matrix
from benchmarks.systems.base import BEAM_SIZE, BRANCHING, MAX_LEAF_SIZE, THRESHOLD, System

# By name: attributes of the package are imported when used, and imports are no part of training.
from polyseme import XRLinear as Estimator
from polyseme import load

# What measured best for accuracy, whatever it costs; `--best` on the command line replaces it.
BEST = {"copies": 2, "rounds": 1, "training_rows": "both", "merge": "sum"}


class XRLinear(System):
    """`polyseme.XRLinear`; `copies=1, rounds=0` is the plain model."""

    def __init__(self, best: bool = False, **settings: Any) -> None:
        super().__init__()
        self.settings = {
            "beam_size": BEAM_SIZE,
            "branching": BRANCHING,
            "max_leaf_size": MAX_LEAF_SIZE,
            "min_weight": THRESHOLD,
            "C": 1.0,
            "random_state": 0,
            **(BEST if best else {}),
            **settings,
        }

    def hold(self, data: Path) -> None:
        self.X = read_matrix(data, "X.trn")
        self.Y = read_matrix(data, "Y.trn")

    def train(self) -> None:
        self.model = Estimator(n_jobs=self.n_threads, **self.settings)
        self.model.fit(self.X, self.Y)
        self.phase_seconds = dict(self.model.phase_seconds_)

    def save(self, model: Path) -> None:
        self.model.save(model)

    def load(self, model: Path) -> None:
        self.model = load(model, n_jobs=self.n_threads)

    def predict(self, queries: Any, k: int) -> Any:
        return self.model.predict_top_k(queries, k)

    def top_labels(self, prediction: Any, k: int) -> np.ndarray[Any, Any]:
        return np.asarray(prediction[0])
