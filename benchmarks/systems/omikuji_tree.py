# ruff: noqa: D102 (what the methods do stands in base.py)
"""omikuji with one tree: Parabel-style by default, Bonsai-style by its settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import omikuji  # type: ignore[import-not-found]
from scipy.sparse import csr_matrix

from benchmarks.datasets import TEXT_FILE
from benchmarks.systems.base import BEAM_SIZE, MAX_LEAF_SIZE, THRESHOLD, System, top_k_of_lists


class OmikujiTree(System):
    """Trains from a text file only, and predicts one document a call."""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.settings = settings

    def hold(self, data: Path) -> None:
        # Its Python function reads the file and trains in one go; held apart, reading is free.
        self.pool = omikuji._ThreadPoolHandle(self.n_threads)
        path = omikuji.ffi.new("char[]", str(data / TEXT_FILE).encode())
        self.data = omikuji.lib.load_omikuji_data_set(path, self.pool.ptr)
        if self.data == omikuji.ffi.NULL:
            raise RuntimeError(f"omikuji cannot read {data / TEXT_FILE}")

    def train(self) -> None:
        settings = omikuji.Model.default_hyper_param()
        settings.n_trees = 1
        settings.min_branch_size = MAX_LEAF_SIZE
        settings.linear_weight_threshold = THRESHOLD
        for name, value in self.settings.items():
            setattr(settings, name, value)
        with self.phase("training"):
            pointer = omikuji.lib.train_omikuji_model(self.data, settings, self.pool.ptr)
        self.model = omikuji.Model(pointer)

    def save(self, model: Path) -> None:
        self.model.save(str(model))

    def load(self, model: Path) -> None:
        self.model = omikuji.Model.load(str(model))
        self.model.init_prediction_thread_pool(self.n_threads)
        # Its command line does this before it predicts, with this density.
        self.model.densify_weights(0.1, self.n_threads)

    def prepare_row(self, row: csr_matrix) -> list[tuple[int, float]]:
        return list(zip(row.indices.tolist(), row.data.tolist(), strict=True))

    def prepare_batch(self, X: csr_matrix) -> list[list[tuple[int, float]]]:
        return [self.prepare_row(X[i]) for i in range(X.shape[0])]

    def predict(self, queries: list[Any], k: int) -> list[list[tuple[int, float]]]:
        is_row = not queries or isinstance(queries[0], tuple)
        rows = [queries] if is_row else queries
        return [self.model.predict(row, beam_size=BEAM_SIZE, top_k=k) for row in rows]

    def top_labels(
        self, prediction: list[list[tuple[int, float]]], k: int
    ) -> np.ndarray[Any, Any]:
        return top_k_of_lists([[label for label, _ in row] for row in prediction], k)
