"""Other predictors in the place of a polyseme model, so that all are behind the same server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

Ranked = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


class _FeaturesOnly:
    """What the server asks of a classifier to answer questions about features."""

    feature_names_ = None
    label_names_ = None
    senses_ = None
    n_labels_ = 2**31 - 1  # no request asks for as many

    def __init__(self, n_features: int) -> None:
        self.n_features_in_ = n_features


class LibpecosModel(_FeaturesOnly):
    """A loaded `XLinearModel` of libpecos.

    Parameters
    ----------
    model : XLinearModel
    n_features : int
    n_threads : int
        For several rows; one row is quicker with one thread, as in `systems/libpecos_plain.py`.
    """

    def __init__(self, model: Any, n_features: int, n_threads: int) -> None:
        super().__init__(n_features)
        self._model, self._n_threads = model, n_threads

    def predict_top_k(self, X: Any, k: int) -> Ranked:
        """Return labels and scores of the k best, best first, shape (n, k), padded with -1."""
        n_threads = 1 if X.shape[0] == 1 else self._n_threads
        # libpecos takes no csr_array; nothing is copied here.
        found = self._model.predict(csr_matrix(X, copy=False), only_topk=k, threads=n_threads)
        return ranked_of_csr(found, k)


class NoModel(_FeaturesOnly):
    """Answers at once, and always the same: what is left is the cost of the server."""

    def predict_top_k(self, X: Any, k: int) -> Ranked:
        """Return labels 0 to k - 1 for every row."""
        n_rows = X.shape[0]
        return np.tile(np.arange(k), (n_rows, 1)), np.full((n_rows, k), 0.5, dtype=np.float32)


def ranked_of_csr(found: csr_matrix, k: int) -> Ranked:
    """Return column numbers and values of the k greatest of each row, padded with -1 and 0."""
    n_rows = found.shape[0]
    rows = np.repeat(np.arange(n_rows), np.diff(found.indptr))
    order = np.lexsort((found.indices, -found.data, rows))
    rank = np.arange(len(rows)) - found.indptr[rows]
    kept = rank < k
    labels = np.full((n_rows, k), -1, dtype=np.int64)
    scores = np.zeros((n_rows, k), dtype=np.float32)
    labels[rows[kept], rank[kept]] = found.indices[order[kept]]
    scores[rows[kept], rank[kept]] = found.data[order[kept]]
    return labels, scores


def load_libpecos(path: Path, n_jobs: int | None) -> LibpecosModel:
    """Read a model of libpecos in its fastest mode."""
    from benchmarks.systems.libpecos_plain import load_fastest

    model = load_fastest(str(path))
    return LibpecosModel(model, model.model.nr_features, n_jobs or 1)


def load_no_model(path: Path, n_jobs: int | None) -> NoModel:
    """Return a model that takes any feature of the data."""
    return NoModel(json.loads((path / "shape.json").read_text())["n_features"])
