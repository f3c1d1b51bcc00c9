"""napkinXC's probabilistic label tree, to compare with and to put into `ExpandedLabels`."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from polyseme.adapters.exchange import padded, plain_matrix
from polyseme.adapters.other_packages import imported
from polyseme.estimators.predicting import check_k
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels
from polyseme.machine.threads import count_jobs

__all__ = ["NapkinTree"]

TopK = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]
Self = TypeVar("Self", bound="NapkinTree")


class NapkinTree(BaseEstimator):  # type: ignore[misc]
    """A probabilistic label tree as napkinXC trains it. Needs napkinxc.

    It writes its model while it trains, into a folder that is there as long as this object is.

    Parameters
    ----------
    settings : dict, optional
        Parameters by the names of ``napkinxc.models.PLT``, such as ``{"max_leaves": 100}``.
    n_jobs : int, optional
    random_state : int, default=0

    Attributes
    ----------
    model_ : napkinxc.models.PLT
    """

    def __init__(
        self,
        settings: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.settings = settings
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self: Self, X: Any, Y: Any) -> Self:
        """Train.

        Parameters
        ----------
        X : sparse matrix or array, shape (n_documents, n_features)
        Y : sparse or dense 0/1 matrix, shape (n_documents, n_labels)
        """
        tree = imported("napkinxc.models", "napkinxc").PLT
        features = plain_matrix(check_features(X).all_sparse())
        labels, _ = check_labels(Y, features.shape[0])
        folder = tempfile.mkdtemp(prefix="polyseme-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        model = tree(
            folder,
            threads=count_jobs(self.n_jobs),
            seed=self.random_state,
            **(self.settings or {}),
        )
        model.fit(features, plain_matrix(labels))
        self.model_ = model
        return self

    def predict_top_k(self, X: Any, k: int = 5) -> TopK:
        """Return the k best labels of each document, best first.

        Returns
        -------
        labels : ndarray of int32, shape (n_documents, k)
            -1 where there are fewer.
        scores : ndarray of float32, shape (n_documents, k)
        """
        check_is_fitted(self, "model_")
        k = check_k(k)
        features = plain_matrix(check_features(X).all_sparse())
        return padded(self.model_.predict_proba(features, top_k=k), k)
