"""What the harness asks of a system."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

BEAM_SIZE = 10
BRANCHING = 32
MAX_LEAF_SIZE = 100
THRESHOLD = 0.1


class System(ABC):
    """One way to train and to serve a model.

    What a method does is measured, but for `hold`, `prepare_row`, `prepare_batch` and
    `top_labels`: there a system may bring data into the form it likes best, free of charge.
    """

    def __init__(self) -> None:
        self.phase_seconds: dict[str, float] = {}
        self.n_threads = 1

    @abstractmethod
    def hold(self, data: Path) -> None:
        """Load the training data of a prepared folder (not measured)."""

    @abstractmethod
    def train(self) -> None:
        """Train from the data held, and fill `phase_seconds`."""

    @abstractmethod
    def save(self, model: Path) -> None:
        """Write the model."""

    @abstractmethod
    def load(self, model: Path) -> None:
        """Read a model for prediction, in the system's fastest mode."""

    @abstractmethod
    def predict(self, queries: Any, k: int) -> Any:
        """Predict `k` labels for a prepared row or a prepared batch."""

    @abstractmethod
    def top_labels(self, prediction: Any, k: int) -> np.ndarray[Any, Any]:
        """Label ids of a prediction, best first, shape (n, k), padded with -1 (not measured)."""

    def prepare_row(self, row: csr_matrix) -> Any:
        """Bring one sparse row of shape (1, n_features) into the system's form."""
        return row

    def prepare_batch(self, X: csr_matrix) -> Any:
        """Bring many rows into the system's form."""
        return X

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time a phase of training."""
        start = perf_counter()
        yield
        seconds = perf_counter() - start
        self.phase_seconds[name] = self.phase_seconds.get(name, 0.0) + seconds


def top_k_of_csr(scores: csr_matrix, k: int) -> np.ndarray[Any, Any]:
    """Give the k best column ids of each row, best first, shape (n, k), padded with -1."""
    n_rows = scores.shape[0]
    rows = np.repeat(np.arange(n_rows), np.diff(scores.indptr))
    order = np.lexsort((scores.indices, -scores.data, rows))
    rank = np.arange(len(rows)) - scores.indptr[rows]
    keep = rank < k
    top = np.full((n_rows, k), -1, dtype=np.int64)
    top[rows[keep], rank[keep]] = scores.indices[order[keep]]
    return top


def top_k_of_lists(lists: list[list[int]], k: int) -> np.ndarray[Any, Any]:
    """Turn lists of label ids, best first, into an array of shape (n, k), padded with -1."""
    top = np.full((len(lists), k), -1, dtype=np.int64)
    for row, labels in enumerate(lists):
        top[row, : min(k, len(labels))] = labels[:k]
    return top
