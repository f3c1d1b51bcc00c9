"""Linear classifiers for the slots of many clusters: how they are trained and stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows

__all__ = ["LinearTraining", "LinearWeights"]

_NOT_ARRAYS = ("n_features", "is_trusted")


@dataclass(frozen=True)
class LinearTraining:
    """How the weight vectors of slots are found; see `polyseme.XRLinear` for the meaning."""

    loss: str = "squared-hinge"
    cost: float = 1.0
    tolerance: float = 0.03
    max_iter: int = 10
    bias: float = 1.0
    min_weight: float = 0.1
    max_weights_per_label: int | None = None
    weight_bits: int = 32
    seed: int = 0
    n_threads: int = 1


@dataclass(frozen=True, eq=False)
class LinearWeights:
    """The kept weights of all slots, cluster by cluster, in the form that prediction reads.

    The arrays are those of ``native/level_weights.hpp``. They are trusted if they come from
    training and not from a file.
    """

    slot_starts: npt.NDArray[np.int64]
    record_sizes: npt.NDArray[np.unsignedinteger[Any]]
    bytes: npt.NDArray[np.uint8]
    scales: npt.NDArray[np.float32]
    bias: npt.NDArray[np.float32]
    n_features: int
    is_trusted: bool = False

    @classmethod
    def train(
        cls,
        X: SparseRows,
        training_rows: SparsePattern,
        slot_starts: npt.NDArray[np.int64],
        slot_targets: npt.NDArray[np.int32],
        targets: SparsePattern,
        how: LinearTraining,
        *,
        own_documents: SparsePattern | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> LinearWeights:
        """Train every slot of every cluster on the cluster's rows.

        Parameters
        ----------
        X : SparseRows, shape (n_documents, n_features)
        training_rows : SparsePattern, shape (n_documents, n_clusters)
            The documents that each cluster's slots are trained on.
        slot_starts : ndarray, shape (n_clusters + 1,)
        slot_targets : ndarray, shape (n_slots,)
            Which column of `targets` each slot learns.
        targets : SparsePattern, shape (n_documents, n_targets)
        own_documents : SparsePattern, shape (n_documents, n_clusters), optional
            If given, a slot has only those positives that are listed here for its cluster.
        """
        rows = training_rows.transpose()
        positives = targets.transpose()
        own = None if own_documents is None else own_documents.transpose()
        arrays = _native.train_clusters(
            X.starts,
            X.columns,
            X.values,
            X.n_columns,
            rows.starts,
            rows.columns,
            slot_starts,
            slot_targets,
            positives.starts,
            positives.columns,
            None if own is None else own.starts,
            None if own is None else own.columns,
            how.loss,
            how.cost,
            how.tolerance,
            how.max_iter,
            how.bias,
            how.min_weight,
            how.max_weights_per_label or 0,
            how.weight_bits,
            how.seed,
            how.n_threads,
            progress,
        )
        return cls._from_native(slot_starts, arrays, X.n_columns)

    def retrained(
        self,
        is_changed: npt.NDArray[np.bool_],
        X: SparseRows,
        training_rows: SparsePattern,
        slot_starts: npt.NDArray[np.int64],
        slot_targets: npt.NDArray[np.int32],
        targets: SparsePattern,
        how: LinearTraining,
        *,
        own_documents: SparsePattern | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> LinearWeights:
        """Train some clusters anew, as `train` does; the weights of all others stay bit for bit.

        Parameters
        ----------
        is_changed : ndarray of bool, shape (n_clusters,)
            Which clusters to train. Only these may have other slots than before.
        """
        if not is_changed.any():
            return self
        sizes = np.diff(slot_starts)
        starts = np.zeros_like(slot_starts)
        np.cumsum(np.where(is_changed, sizes, 0), out=starts[1:])
        trained = LinearWeights.train(
            X,
            training_rows.only_columns(is_changed),
            starts,
            slot_targets[np.repeat(is_changed, sizes)],
            targets,
            how,
            own_documents=own_documents,
            progress=progress,
        )
        arrays = self.level.replaced(trained.level, is_changed.astype(np.uint8))
        return self._from_native(slot_starts, arrays, X.n_columns)

    @classmethod
    def _from_native(
        cls,
        slot_starts: npt.NDArray[np.int64],
        arrays: dict[str, npt.NDArray[Any]],
        n_features: int,
    ) -> LinearWeights:
        sizes = arrays["record_sizes"]
        if sizes.max(initial=0) <= np.iinfo(np.uint16).max:
            arrays["record_sizes"] = sizes.astype(np.uint16)
        return cls(slot_starts=slot_starts, **arrays, n_features=n_features, is_trusted=True)

    @cached_property
    def level(self) -> _native.LinearLevel:
        """The native object that scores; arrays that come from a file are checked first."""
        sizes = self.record_sizes.astype(np.uint32, copy=False)
        arrays = {**self.to_arrays(), "record_sizes": sizes}
        return _native.linear_level(**arrays, is_trusted=self.is_trusted)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all arrays by name."""
        names = [field.name for field in fields(self) if field.name not in _NOT_ARRAYS]
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], n_features: int) -> LinearWeights:
        """Build from what `to_arrays` gave."""
        fields_of: dict[str, Any] = {**arrays}
        return cls(**fields_of, n_features=n_features)

    @property
    def n_weights(self) -> int:
        """Number of stored weights, biases not counted."""
        return self.level.n_weights

    def to_rows(self) -> SparseRows:
        """Return all weights, shape (n_features, n_slots)."""
        return SparseRows(*self.level.all_weights(), len(self.bias))

    def slot_weights(
        self, cluster: int, slot: int, features: npt.NDArray[np.int32] | None = None
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Return the features of one slot of a cluster and their weights.

        Parameters
        ----------
        cluster : int
        slot : int
            Counted over all clusters.
        features : ndarray of int32, optional
            Look only at these.
        """
        first = int(self.slot_starts[cluster])
        return self.level.slot_weights(cluster, int(slot) - first, features)
