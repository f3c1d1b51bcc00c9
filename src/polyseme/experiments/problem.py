"""The data of an experiment, ready to train on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyseme.datasets import Dataset, recognise
from polyseme.estimators.xr_linear import XRLinear
from polyseme.metrics import Propensities, propensities

__all__ = ["Problem", "all_parameters"]

# How to use a machine, chance, and what only lies over a model are no part of a method.
NOT_OF_METHOD = ("random_state", "n_jobs", "verbose", "senses")

# Whatever came after the paper is asked for by name. What it does not know of, as it was then, is
# left out of a method's name.
UNKNOWN_TO_THE_PAPER = {
    "ordering": "product",
    "favour_rare": 0.0,
    "tree": "balanced",
    "tree_features": "documents",
    "n_trees": 1,
    "slot_weights": "own",
}
AS_IN_THE_PAPER = {"copies": 2, "C": 1.0, **UNKNOWN_TO_THE_PAPER}

USUAL_A, USUAL_B = 0.55, 1.5  # of propensities


def all_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of an estimator with its defaults filled in.

    What is as in the paper is left out: cells from before there was another way still count.
    """
    found: dict[str, Any] = XRLinear(**{**AS_IN_THE_PAPER, **parameters}).get_params()
    return {
        name: value
        for name, value in found.items()
        if name not in NOT_OF_METHOD and (name, value) not in UNKNOWN_TO_THE_PAPER.items()
    }


@dataclass(frozen=True, eq=False)
class Problem:
    """Documents to train and to test on.

    Attributes
    ----------
    name : str
        For titles.
    X_train, X_test : csr_array of float32, shape (n_documents, n_features)
    Y_train, Y_test : csr_array of 0/1, shape (n_documents, n_labels)
    dataset : Dataset
        Where they come from, with names and texts.
    n_threads : int or None
    propensity_a, propensity_b : float
        Constants of the propensities.
    """

    name: str
    X_train: sp.csr_array
    Y_train: sp.csr_array
    X_test: sp.csr_array
    Y_test: sp.csr_array
    dataset: Dataset
    n_threads: int | None = None
    propensity_a: float = USUAL_A
    propensity_b: float = USUAL_B

    @classmethod
    def of(
        cls,
        name: str,
        dataset: Dataset,
        *,
        n_threads: int | None = None,
        propensity_a: float | None = None,
        propensity_b: float | None = None,
    ) -> Problem:
        """Make a problem of a data set that has a test part.

        Constants that are not given are those of the public data set that it is, if it is one.
        """
        if dataset.X_test is None or dataset.Y_test is None:
            raise ValueError(
                f"{name} has no test documents; an experiment needs X.tst.npz and Y.tst.npz "
                "(or test.txt) to measure on."
            )
        parts = (dataset.X_train, dataset.Y_train, dataset.X_test, dataset.Y_test)
        known = recognise(
            n_train=dataset.X_train.shape[0],
            n_test=dataset.X_test.shape[0],
            n_labels=dataset.Y_train.shape[1],
            n_features=dataset.X_train.shape[1],
        )
        if propensity_a is None:
            propensity_a = USUAL_A if known is None else known.propensity_a
        if propensity_b is None:
            propensity_b = USUAL_B if known is None else known.propensity_b
        return cls(name, *parts, dataset, n_threads, propensity_a, propensity_b)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.Y_train.shape[1])

    @cached_property
    def propensities(self) -> Propensities:
        """Propensities of the labels, from the training documents."""
        counts = np.bincount(self.Y_train.indices, minlength=self.n_labels)
        return propensities(
            counts, self.Y_train.shape[0], a=self.propensity_a, b=self.propensity_b
        )

    @cached_property
    def description(self) -> dict[str, Any]:
        """What results are kept with: they belong to data that agree in all of it."""
        return {
            "name": self.name,
            "fingerprint": self._fingerprint(),
            "n_train": int(self.X_train.shape[0]),
            "n_test": int(self.X_test.shape[0]),
            "n_features": int(self.X_train.shape[1]),
            "n_labels": self.n_labels,
            "propensity_a": self.propensity_a,
            "propensity_b": self.propensity_b,
        }

    def _fingerprint(self) -> str:
        digest = hashlib.sha256()
        for matrix in (self.X_train, self.Y_train, self.X_test, self.Y_test):
            digest.update(str(matrix.shape).encode())
            for array in (
                matrix.indptr.astype(np.int64),
                matrix.indices.astype(np.int32, copy=False),
                matrix.data.astype(np.float32, copy=False),
            ):
                digest.update(memoryview(array))
        return digest.hexdigest()[:32]

    def with_labels(self, Y_train: sp.csr_array, Y_test: sp.csr_array) -> Problem:
        """Return the same documents with other labels."""
        return replace(self, Y_train=Y_train, Y_test=Y_test)

    def fit(self, parameters: Mapping[str, Any], seed: int) -> XRLinear:
        """Train an estimator on the training documents."""
        return self.estimator(parameters, seed).fit(self.X_train, self.Y_train)

    def estimator(self, parameters: Mapping[str, Any], seed: int = 0) -> XRLinear:
        """Return an estimator to be trained; without senses, unless these are asked for."""
        how = {"random_state": seed, "n_jobs": self.n_threads, "verbose": 0, "senses": "none"}
        return XRLinear(**{**AS_IN_THE_PAPER, **how, **parameters})
