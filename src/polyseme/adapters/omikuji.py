"""omikuji's trees of labels, to compare with and to put into `ExpandedLabels`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from polyseme.adapters.exchange import padded
from polyseme.adapters.other_packages import imported
from polyseme.datasets.xmc_text import write_xmc_text
from polyseme.estimators.predicting import check_k
from polyseme.inputs.features import check_features
from polyseme.machine.threads import count_jobs

__all__ = ["OmikujiTrees"]

TopK = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]
Self = TypeVar("Self", bound="OmikujiTrees")


class OmikujiTrees(BaseEstimator):  # type: ignore[misc]
    """Parabel or Bonsai as omikuji trains them. Needs omikuji.

    It trains from a text file only, which is written for it, and predicts one document a call.

    Parameters
    ----------
    settings : dict, optional
        Hyperparameters by omikuji's names, such as ``{"n_trees": 1}``; for Bonsai
        ``{"cluster_k": 100, "cluster_balanced": False, "max_depth": 3}``.
    beam_size : int, default=10
    n_jobs : int, optional

    Attributes
    ----------
    model_ : omikuji.Model
    """

    def __init__(
        self,
        settings: dict[str, Any] | None = None,
        beam_size: int = 10,
        n_jobs: int | None = None,
    ) -> None:
        self.settings = settings
        self.beam_size = beam_size
        self.n_jobs = n_jobs

    def fit(self: Self, X: Any, Y: Any) -> Self:
        """Train.

        Parameters
        ----------
        X : sparse matrix or array, shape (n_documents, n_features)
        Y : sparse or dense 0/1 matrix, shape (n_documents, n_labels)
        """
        model = imported("omikuji", "omikuji").Model
        wanted = model.default_hyper_param()
        for name, value in (self.settings or {}).items():
            if not hasattr(wanted, name):
                raise ValueError(f"omikuji has no setting {name!r}.")
            setattr(wanted, name, value)
        with tempfile.TemporaryDirectory(prefix="polyseme-") as folder:
            file = Path(folder) / "train.txt"
            write_xmc_text(file, X, Y)
            self.model_ = model.train_on_data(str(file), wanted, count_jobs(self.n_jobs))
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
        k, rows = check_k(k), check_features(X).all_sparse()
        found = []
        for i in range(rows.n_rows):
            features, values = rows.row(i)
            pairs = list(zip(features.tolist(), values.tolist(), strict=True))
            found.append(self.model_.predict(pairs, beam_size=self.beam_size, top_k=k))
        return padded(found, k)
