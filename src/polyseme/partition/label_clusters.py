"""The slot table: which labels are in which cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.inputs.sparse_rows import SparseRows

__all__ = ["LabelClusters"]


@dataclass(frozen=True)
class LabelClusters:
    """An assignment of labels to clusters in which a label may be in several.

    Each stored (cluster, label) pair is a *slot* and owns one weight vector of the ranker.
    The slots of a cluster lie side by side; slot ``s`` holds label ``labels[s]``.
    (The paper's C, kept column by column.)

    Attributes
    ----------
    n_labels : int
    starts : ndarray of int64, shape (n_clusters + 1,)
        The slots of cluster ``j`` are ``starts[j]`` to ``starts[j + 1]``.
    labels : ndarray of int32, shape (n_slots,)
        The label of each slot, ascending within a cluster.
    """

    n_labels: int
    starts: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int32]

    def __post_init__(self) -> None:
        starts, labels = self.starts, self.labels
        if not (
            isinstance(starts, np.ndarray)
            and isinstance(labels, np.ndarray)
            and starts.dtype == np.int64
            and labels.dtype == np.int32
            and starts.ndim == labels.ndim == 1
        ):
            raise ValueError("clusters need starts of int64 and labels of int32, an axis each.")
        if not (
            len(starts) > 0
            and starts[0] == 0
            and starts[-1] == len(labels)
            and (starts[1:] >= starts[:-1]).all()
        ):
            raise ValueError(f"starts of clusters must ascend from 0 to {len(labels)}.")
        if len(labels) and not (labels.min() >= 0 and labels.max() < self.n_labels):
            raise ValueError(f"labels of clusters must be from 0 to {self.n_labels - 1}.")
        follows = labels[1:] > labels[:-1]
        inner = starts[1:-1]
        follows[inner[(inner > 0) & (inner < len(labels))] - 1] = True
        if not follows.all():
            raise ValueError("labels must ascend within a cluster, each of them once.")

    def __repr__(self) -> str:
        return (
            f"<LabelClusters: {self.n_labels:,} labels in {len(self.labels):,} slots of "
            f"{len(self.starts) - 1:,} clusters>"
        )

    @classmethod
    def from_matrix(cls, matrix: sp.spmatrix | sp.sparray) -> LabelClusters:
        """Build the table from a labels x clusters matrix; its stored entries are the slots."""
        columns = sp.csc_array(matrix)
        if not columns.has_canonical_format:
            columns = columns.copy()  # the caller's matrix stays as it is
            columns.sum_duplicates()
        return cls(
            n_labels=int(columns.shape[0]),
            starts=columns.indptr.astype(np.int64),
            labels=columns.indices.astype(np.int32),
        )

    @classmethod
    def from_partition(cls, cluster_of_label: npt.ArrayLike, n_clusters: int) -> LabelClusters:
        """Build the table of an ordinary partition from the cluster of each label."""
        cluster = np.asarray(cluster_of_label, dtype=np.int64)
        labels = np.argsort(cluster, kind="stable").astype(np.int32)
        starts = np.zeros(n_clusters + 1, dtype=np.int64)
        np.cumsum(np.bincount(cluster, minlength=n_clusters), out=starts[1:])
        return cls(n_labels=len(cluster), starts=starts, labels=labels)

    @property
    def n_clusters(self) -> int:
        """Number of clusters, empty ones included."""
        return len(self.starts) - 1

    @property
    def n_slots(self) -> int:
        """Number of (cluster, label) pairs; equals ``n_labels`` without overlap."""
        return len(self.labels)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of slots of each cluster, shape (n_clusters,)."""
        return np.diff(self.starts)

    @cached_property
    def cluster_of_slot(self) -> npt.NDArray[np.int32]:
        """The cluster of each slot, shape (n_slots,)."""
        return np.repeat(np.arange(self.n_clusters, dtype=np.int32), self.sizes)

    @cached_property
    def copies(self) -> npt.NDArray[np.int64]:
        """Number of slots of each label, shape (n_labels,)."""
        return np.bincount(self.labels, minlength=self.n_labels).astype(np.int64)

    def take(self, clusters: slice) -> LabelClusters:
        """Return some neighbouring clusters."""
        starts = self.starts[clusters.start : clusters.stop + 1]
        first, last = starts[[0, -1]]
        return LabelClusters(self.n_labels, starts - first, self.labels[first:last])

    @classmethod
    def stack(cls, parts: Sequence[LabelClusters]) -> LabelClusters:
        """Return the clusters of all parts, which are over the same labels."""
        sizes = np.concatenate([part.sizes for part in parts])
        return cls(
            parts[0].n_labels,
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([part.labels for part in parts]),
        )

    def slots_in(self, matched: SparseRows) -> SparseRows:
        """Return the slots of matched clusters, each with the score of its cluster.

        Parameters
        ----------
        matched : SparseRows, shape (n_documents, n_clusters)

        Returns
        -------
        SparseRows, shape (n_documents, n_slots)
        """
        sizes = self.sizes[matched.columns]
        first = np.repeat(self.starts[:-1][matched.columns], sizes)
        n_before = np.concatenate([[0], np.cumsum(sizes)])
        slots = first + np.arange(n_before[-1]) - np.repeat(n_before[:-1], sizes)
        return SparseRows(
            n_before[matched.starts],
            slots.astype(np.int32),
            np.repeat(matched.values, sizes),
            self.n_slots,
        )

    def slots_of(self, label: int) -> npt.NDArray[np.int64]:
        """Return the slots of one label, ascending."""
        return np.flatnonzero(self.labels == label)

    def to_matrix(self) -> sp.csr_array:
        """Return the labels x clusters 0/1 matrix, rows sorted."""
        ones = np.ones(self.n_slots, dtype=np.float32)
        shape = (self.n_labels, self.n_clusters)
        return sp.csc_array((ones, self.labels, self.starts), shape=shape).tocsr()
