"""Linear classifiers for the slots of many clusters: how they are trained and stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.backbones.protocols import ModelShape, SlotWeights
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.brief import briefly
from polyseme.machine.run import Run

__all__ = ["LinearTraining", "LinearWeights"]

_STORED = ("record_sizes", "bytes", "scales", "bias")


@dataclass(frozen=True)
class LinearTraining:
    """How the weight vectors of slots are found; see `polyseme.XRLinear` for the meaning."""

    loss: str = "squared-hinge"
    penalty: str = "l2"  # 'l1' has a solver of its own, for squared hinge only
    cost: float = 1.0
    tolerance: float = 0.03
    max_iter: int = 10
    bias: float = 1.0
    min_weight: float = 0.1
    max_weights_per_label: int | None = None
    weight_bits: int = 32
    max_entries_whole: int = 1 << 20  # a cluster with more is trained in pieces


@dataclass(frozen=True, eq=False)
class LinearWeights:
    """The kept weights of all slots, cluster by cluster, in the form that prediction reads.

    The arrays are those of ``native/level_weights.hpp``, `dense` that of
    ``native/dense_weights.hpp``: of dense features every slot keeps all weights. They are trusted
    if they come from training and not from a file.
    """

    slot_starts: npt.NDArray[np.int64]
    record_sizes: npt.NDArray[np.unsignedinteger[Any]]
    bytes: npt.NDArray[np.uint8]
    scales: npt.NDArray[np.float32]
    bias: npt.NDArray[np.float32]
    dense: npt.NDArray[np.uint8]
    n_features: int
    is_trusted: bool = False

    __repr__ = briefly

    @classmethod
    def train(
        cls,
        documents: Documents,
        training_rows: SparsePattern,
        slot_starts: npt.NDArray[np.int64],
        slot_targets: npt.NDArray[np.int32],
        targets: SparsePattern,
        how: LinearTraining,
        run: Run,
        *,
        own_documents: SparsePattern | None = None,
        target_weights: npt.NDArray[np.float32] | None = None,
        only: npt.NDArray[np.bool_] | None = None,
        held_out: npt.NDArray[np.bool_] | None = None,
        draft_how: LinearTraining | None = None,
    ) -> tuple[LinearWeights, LinearWeights | None]:
        """Train the slots of clusters on the clusters' rows; return them, and a draft if wanted.

        Parameters
        ----------
        documents : Documents
        training_rows : SparsePattern, shape (n_documents, n_clusters)
            The documents that each cluster's slots are trained on.
        slot_starts : ndarray, shape (n_clusters + 1,)
        slot_targets : ndarray, shape (n_slots,)
            Which column of `targets` each slot learns.
        targets : SparsePattern, shape (n_documents, n_targets)
        own_documents : SparsePattern, shape (n_documents, n_clusters), optional
            If given, a slot has only those positives that are listed here for its cluster.
        target_weights : ndarray of float32, shape (n_targets,), optional
            What a positive of each target counts, 1 or more.
        only : ndarray of bool, shape (n_clusters,), optional
            Train these clusters, and return only them: each bit for bit as if all were trained
            together. `join` puts such parts together.
        held_out : ndarray of bool, shape (n_documents,), optional
            If given, a draft is trained first, by `draft_how`, that does not see these documents;
            what is trained with all of them goes on from there.
        draft_how : LinearTraining, optional
        """
        numbers = None
        if only is not None:
            numbers = np.flatnonzero(only).astype(np.int32)
            sizes = np.diff(slot_starts)
            slot_targets = slot_targets[np.repeat(only, sizes)]
            slot_starts = _starts_of(sizes[numbers])
            training_rows = training_rows.take_columns(numbers)
            own_documents = own_documents and own_documents.take_columns(numbers)
        arrays, draft = _native.train_clusters(
            documents,
            training_rows.transpose(),
            SparsePattern(slot_starts, slot_targets, targets.n_columns),
            targets.transpose(),
            how,
            run,
            own_documents=own_documents and own_documents.transpose(),
            cluster_numbers=numbers,
            target_weights=target_weights,
            held_out=held_out,
            draft_how=draft_how,
        )
        # A solution that grew beyond all numbers shows in its bias, whatever was pruned.
        if not np.isfinite(arrays["bias"]).all():
            raise ValueError(
                "Training went beyond what numbers can hold; bring the rows of X to a length near "
                "1, or lower C."
            )
        return (
            cls._from_native(slot_starts, arrays, documents.n_features),
            None if draft is None else cls._from_native(slot_starts, draft, documents.n_features),
        )

    @classmethod
    def from_rows(
        cls,
        weights: SparseRows,
        bias: npt.NDArray[np.float32],
        slot_starts: npt.NDArray[np.int64],
        weight_bits: int = 32,
    ) -> LinearWeights:
        """Build from weights that were trained elsewhere; what is stored is kept, and no more.

        Parameters
        ----------
        weights : SparseRows, shape (n_features, n_slots)
        bias : ndarray of float32, shape (n_slots,)
        slot_starts : ndarray of int64, shape (n_clusters + 1,)
        weight_bits : int
            32 for the very weights, 8 for a byte each.
        """
        arrays = _native.pack_level(slot_starts, weights, bias, weight_bits == 8)
        return cls._from_native(slot_starts, arrays, weights.n_rows)

    @classmethod
    def untrained(
        cls,
        documents: Documents,
        slot_starts: npt.NDArray[np.int64],
        margin: float,
        how: LinearTraining,
        run: Run,
    ) -> LinearWeights:
        """Return slots without weights, whose margin is the same for every document."""
        n_slots, n_clusters = int(slot_starts[-1]), len(slot_starts) - 1
        no_row, nothing = np.zeros(documents.n_rows + 1, np.int64), np.zeros(0, np.int32)
        weights, _ = cls.train(
            documents,
            SparsePattern(no_row, nothing, n_clusters),
            slot_starts,
            np.arange(n_slots, dtype=np.int32),
            SparsePattern(no_row, nothing, n_slots),
            how,
            run.reporting_to(None),
        )
        return replace(weights, bias=np.full(n_slots, margin, dtype=np.float32))

    def with_clusters(
        self, trained: LinearWeights, is_replaced: npt.NDArray[np.bool_]
    ) -> LinearWeights:
        """Return these weights with some clusters of others; the rest stays bit for bit.

        Parameters
        ----------
        trained : LinearWeights
            All clusters, or only those to be taken; these may have other slots than before.
        is_replaced : ndarray of bool, shape (n_clusters,)
        """
        return self.join([self, trained], is_replaced) if is_replaced.any() else self

    @classmethod
    def join(
        cls, parts: Sequence[LinearWeights], part_of_cluster: npt.NDArray[Any]
    ) -> LinearWeights:
        """Return a level whose clusters come from the given parts, bit for bit as they are there.

        Parameters
        ----------
        parts : sequence of LinearWeights
            Each has either all clusters of the level, or only those that come from it, in their
            order.
        part_of_cluster : ndarray of int, shape (n_clusters,)
            Which part each cluster comes from.
        """
        part_of = part_of_cluster.astype(np.int32)
        arrays = _native.join_levels([part.level for part in parts], part_of)
        n_slots = np.zeros(len(part_of), dtype=np.int64)
        for number, part in enumerate(parts):
            is_own, sizes = part_of == number, np.diff(part.slot_starts)
            n_slots[is_own] = sizes[is_own] if len(sizes) == len(is_own) else sizes
        return cls._from_native(_starts_of(n_slots), arrays, parts[0].n_features)

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
        arrays = {**self.to_arrays(), "record_sizes": sizes, "dense": self.dense}
        return _native.linear_level(
            self.slot_starts,
            **arrays,
            n_features=self.n_features,
            is_trusted=self.is_trusted,
            n_dense=self.n_dense,
        )

    @property
    def n_dense(self) -> int:
        """Number of dense features; their numbers follow those of the sparse ones."""
        return self.n_features - len(self.record_sizes)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what is stored; where slots start, the tree or the clusters know."""
        arrays = {name: getattr(self, name) for name in _STORED}
        return {**arrays, "dense": self.dense} if self.n_dense > 0 else arrays

    @classmethod
    def restored(
        cls, stored: StoredModel, slot_starts: npt.NDArray[np.int64], shape: ModelShape
    ) -> LinearWeights:
        """Build from stored arrays, after checking all of them."""
        n_slots = int(slot_starts[-1])
        sizes = stored.arrays.get("record_sizes")
        is_short = sizes is not None and sizes.dtype == np.uint16
        weights = cls(
            slot_starts=slot_starts,
            record_sizes=stored.array(
                "record_sizes", np.uint16 if is_short else np.uint32, (shape.n_sparse,)
            ),
            bytes=stored.array("bytes", np.uint8, (None,)),
            scales=stored.array("scales", np.float32, (None,)),
            bias=stored.array("bias", np.float32, (n_slots,)),
            dense=(
                stored.array("dense", np.uint8, (None,))
                if shape.n_dense > 0
                else np.zeros(0, dtype=np.uint8)
            ),
            n_features=shape.n_features,
        )
        stored.finite("scales")
        stored.finite("bias")
        try:
            _ = weights.level  # the native side checks all that could lead outside an array
        except ValueError as error:
            raise stored.damaged(f"in {stored.within.rstrip('.')}, {error}") from None
        return weights

    @property
    def n_weights(self) -> int:
        """Number of stored weights, biases not counted."""
        return self.level.n_weights

    def to_rows(self) -> SparseRows:
        """Return all weights, shape (n_features, n_slots)."""
        return SparseRows(*self.level.all_weights(), len(self.bias))

    def weights_of(self, slot: int, features: npt.NDArray[np.int32] | None = None) -> SlotWeights:
        """Return the classifier of a slot, counted over all clusters.

        Parameters
        ----------
        slot : int
        features : ndarray of int32, optional
            Look only at these.
        """
        cluster = int(np.searchsorted(self.slot_starts, slot, side="right")) - 1
        first = int(self.slot_starts[cluster])
        found = self.level.slot_weights(cluster, slot - first, features)
        return SlotWeights(*found, float(self.bias[slot]))

    def __getstate__(self) -> dict[str, Any]:
        # Copies and processes get the arrays; the native object is made again from them.
        return {name: value for name, value in vars(self).items() if name != "level"}


def _starts_of(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
