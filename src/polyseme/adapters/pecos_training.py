"""PECOS' XR-Linear as libpecos trains it."""

from __future__ import annotations

import os
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from polyseme.adapters.exchange import plain_matrix
from polyseme.adapters.other_packages import imported
from polyseme.estimators.predicting import check_k, top_k_of_rows
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.threads import count_jobs
from polyseme.partition.label_tree import LabelTree

__all__ = ["PecosXRLinear"]

TopK = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]
Self = TypeVar("Self", bound="PecosXRLinear")


class PecosXRLinear(BaseEstimator):  # type: ignore[misc]
    """XR-Linear as libpecos trains it, to compare with and to put into `ExpandedLabels`.

    Needs libpecos. The defaults are those of `polyseme.XRLinear`, where it has the same.

    Parameters
    ----------
    branching : int, default=32
        Children of a node.
    max_leaf_size : int, default=100
        Most labels in a cluster.
    beam_size : int, default=10
    min_weight : float, default=0.1
        Weights of smaller magnitude are dropped.
    C : float, default=1.0
        Weight of the loss against the regularisation.
    n_jobs : int, optional
    random_state : int, default=0

    Attributes
    ----------
    model_ : pecos.xmc.xlinear.model.XLinearModel
    """

    def __init__(
        self,
        branching: int = 32,
        max_leaf_size: int = 100,
        beam_size: int = 10,
        min_weight: float = 0.1,
        C: float = 1.0,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.branching = branching
        self.max_leaf_size = max_leaf_size
        self.beam_size = beam_size
        self.min_weight = min_weight
        self.C = C
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self: Self, X: Any, Y: Any) -> Self:
        """Train, in clusters of PECOS' own.

        Parameters
        ----------
        X : sparse matrix or array, shape (n_documents, n_features)
        Y : sparse or dense 0/1 matrix, shape (n_documents, n_labels)
        """
        xmc, base = _pecos("xmc"), _pecos("xmc.base")
        n_threads = count_jobs(self.n_jobs)
        features, labels = _matrices(X, Y)
        embedded = xmc.LabelEmbeddingFactory.create(
            labels, features, method="pifa", threads=n_threads
        )
        settings = base.HierarchicalKMeans.TrainParams(
            nr_splits=self.branching,
            max_leaf_size=self.max_leaf_size,
            seed=self.random_state,
            threads=n_threads,
        )
        return self._trained(features, labels, xmc.Indexer.gen(embedded, train_params=settings))

    def fit_in_clusters(
        self: Self,
        X: Any,
        Y: Any,
        tree: LabelTree,
        cluster_of_column: npt.NDArray[np.int32],
    ) -> Self:
        """Train, in clusters that are given.

        Parameters
        ----------
        X : sparse matrix or array, shape (n_documents, n_features)
        Y : sparse or dense 0/1 matrix, shape (n_documents, n_columns)
        tree : LabelTree
        cluster_of_column : ndarray of int32, shape (n_columns,)
            A leaf of the tree for each column of Y.
        """
        chain = _pecos("utils.cluster_util").ClusterChain(
            [
                _one_each(above, tree.n_nodes(level))
                for level, above in enumerate([*tree.parents, cluster_of_column])
            ]
        )
        return self._trained(*_matrices(X, Y), chain)

    def _trained(self: Self, X: Any, Y: Any, chain: Any) -> Self:
        base, linear = _pecos("xmc.base"), _pecos("xmc.xlinear.model").XLinearModel
        solver = base.MLModel.TrainParams(
            threshold=self.min_weight,
            Cp=self.C,
            Cn=self.C,
            solver_type="L2R_L2LOSS_SVC_DUAL",
            threads=count_jobs(self.n_jobs),
        )
        settings = linear.TrainParams(
            nr_splits=self.branching,
            hlm_args=base.HierarchicalMLModel.TrainParams(
                neg_mining_chain="tfn", model_chain=solver
            ),
        )
        prediction = {"beam_size": self.beam_size, "post_processor": "l3-hinge"}
        self.model_ = linear.train(X, Y, C=chain, train_params=settings, pred_kwargs=prediction)
        return self

    def predict_top_k(self, X: Any, k: int = 5) -> TopK:
        """Return the k best labels of each document, best first.

        Returns
        -------
        labels : ndarray of int32, shape (n_documents, k)
            -1 where fewer were reached.
        scores : ndarray of float32, shape (n_documents, k)
        """
        check_is_fitted(self, "model_")
        k = check_k(k)
        found = self.model_.predict(
            _rows(X), beam_size=self.beam_size, only_topk=k, threads=count_jobs(self.n_jobs)
        )
        return top_k_of_rows(SparseRows.from_scipy(found), k)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write PECOS' own folder, which `read_pecos` imports."""
        check_is_fitted(self, "model_")
        self.model_.save(str(folder))


def _pecos(module: str) -> Any:
    return imported(f"pecos.{module}", "libpecos", " (which wants numpy before 2)")


def _rows(X: Any) -> sp.csr_matrix:
    return plain_matrix(check_features(X).all_sparse())


def _matrices(X: Any, Y: Any) -> tuple[sp.csr_matrix, sp.csc_matrix]:
    features = _rows(X)
    labels, _ = check_labels(Y, features.shape[0])
    return features, plain_matrix(labels).tocsc()


def _one_each(above: npt.NDArray[np.int32], n_above: int) -> sp.csc_matrix:
    ones, places = np.ones(len(above), dtype=np.float32), (np.arange(len(above)), above)
    return sp.csc_matrix((ones, places), shape=(len(above), n_above))
