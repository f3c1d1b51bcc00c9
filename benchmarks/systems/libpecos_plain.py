# ruff: noqa: D102 (what the methods do stands in base.py)
"""libpecos XR-Linear, served in its fastest mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pecos.xmc import Indexer, LabelEmbeddingFactory  # type: ignore[import-not-found]
from pecos.xmc.base import HierarchicalKMeans, HierarchicalMLModel, MLModel  # type: ignore[import-not-found]
from pecos.xmc.xlinear.model import XLinearModel  # type: ignore[import-not-found]
from scipy.sparse import csc_matrix, csr_matrix

from benchmarks.datasets import read_matrix
from benchmarks.systems.base import (
    BEAM_SIZE,
    BRANCHING,
    MAX_LEAF_SIZE,
    THRESHOLD,
    System,
    top_k_of_csr,
)

PREDICTION = {"beam_size": BEAM_SIZE, "only_topk": 10, "post_processor": "l3-hinge"}


class LibpecosPlain(System):
    """PIFA label features, hierarchical 2-means, squared hinge, teacher forcing."""

    def hold(self, data: Path) -> None:
        self.X = read_matrix(data, "X.trn")
        # libpecos' own reader gives the labels by column.
        self.Y = read_matrix(data, "Y.trn").tocsc()

    def train(self) -> None:
        self.model = self.train_tree(self.Y, self.cluster_labels())

    def cluster_labels(self) -> Any:
        """Build the chain of cluster matrices, from the root down."""
        with self.phase("label features"):
            features = LabelEmbeddingFactory.create(
                self.Y, self.X, method="pifa", threads=self.n_threads
            )
        with self.phase("tree"):
            settings = HierarchicalKMeans.TrainParams(
                nr_splits=BRANCHING, max_leaf_size=MAX_LEAF_SIZE, seed=0, threads=self.n_threads
            )
            return Indexer.gen(features, train_params=settings)

    def train_tree(self, Y: csc_matrix, chain: Any, phase: str = "training") -> Any:
        """Train all levels of a chain of cluster matrices."""
        solver = MLModel.TrainParams(
            threshold=THRESHOLD, solver_type="L2R_L2LOSS_SVC_DUAL", threads=self.n_threads
        )
        settings = XLinearModel.TrainParams(
            nr_splits=BRANCHING,
            hlm_args=HierarchicalMLModel.TrainParams(neg_mining_chain="tfn", model_chain=solver),
        )
        with self.phase(phase):
            return XLinearModel.train(
                self.X, Y, C=chain, train_params=settings, pred_kwargs=PREDICTION
            )

    def save(self, model: Path) -> None:
        self.model.save(str(model))

    def load(self, model: Path) -> None:
        self.model = load_fastest(str(model))

    def predict(self, queries: csr_matrix, k: int) -> Any:
        # A second thread hardly helps one row, and on a busy machine waiting for it costs much.
        n_threads = 1 if queries.shape[0] == 1 else self.n_threads
        return self.model.predict(queries, only_topk=k, threads=n_threads)

    def top_labels(self, prediction: csr_matrix, k: int) -> np.ndarray[Any, Any]:
        return top_k_of_csr(prediction, k)


def load_fastest(folder: str) -> Any:
    """Read a model in the mode that predicts fastest."""
    return XLinearModel.load(folder, is_predict_only=True, weight_matrix_type="HASH_CHUNKED")
