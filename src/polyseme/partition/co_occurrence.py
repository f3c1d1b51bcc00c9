"""Co-occurrence: how often the documents of a label are matched to each cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme import _native
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.partition.label_clusters import LabelClusters

__all__ = ["CoOccurrence", "co_occurrence", "count_reached"]


@dataclass(frozen=True)
class CoOccurrence:
    """How often, and how surely, the documents of a label are matched to each cluster.

    Attributes
    ----------
    counts : csr_array of int32, shape (n_labels, n_clusters)
        Documents of the label that were matched to the cluster. (The paper's Y^T M.)
    scores : csr_array of float32, shape (n_labels, n_clusters)
        The sum of the matcher's scores of these documents; stored where `counts` is.
    label_rows : csr_array, shape (n_labels, n_documents)
        The documents of each label; the stored entries count, not their values.
    matched : csr_array of float32, shape (n_documents, n_clusters)
        The clusters of each document; the stored entries are the matches.
    """

    counts: sp.csr_array
    scores: sp.csr_array
    label_rows: sp.csr_array
    matched: sp.csr_array

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.counts.shape[0])

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.counts.shape[1])

    @property
    def n_positives(self) -> int:
        """Number of (document, label) pairs."""
        return int(self.label_rows.nnz)

    def take_clusters(self, clusters: slice) -> CoOccurrence:
        """Return what is known of some neighbouring clusters."""
        of_all = self.counts, self.scores, self.matched
        counts, scores, matched = (sp.csr_array(matrix[:, clusters]) for matrix in of_all)
        return CoOccurrence(counts, scores, self.label_rows, matched)

    def count_at(self, clusters: LabelClusters) -> npt.NDArray[np.int64]:
        """Return the count of each slot's label and cluster, shape (n_slots,)."""
        n_clusters = np.int64(self.n_clusters)
        label = np.repeat(np.arange(self.n_labels), np.diff(self.counts.indptr))
        stored = np.append(label * n_clusters + self.counts.indices, np.iinfo(np.int64).max)
        wanted = clusters.labels * n_clusters + clusters.cluster_of_slot
        at = np.searchsorted(stored, wanted)
        counts = np.append(self.counts.data, 0)[at]
        return np.where(stored[at] == wanted, counts, 0).astype(np.int64)

    def count_reached(self, clusters: LabelClusters, *, n_threads: int = 1) -> int:
        """Count the (document, label) pairs that the beam reaches, see `count_reached`."""
        return _count_reached(self.label_rows, self.matched, clusters, n_threads)


def co_occurrence(
    Y: sp.sparray | sp.spmatrix,
    matched: sp.sparray | sp.spmatrix,
    *,
    n_threads: int = 1,
    progress: Callable[[int], object] | None = None,
) -> CoOccurrence:
    """Count how often the documents of each label are matched to each cluster.

    Parameters
    ----------
    Y : sparse matrix, shape (n_documents, n_labels)
        The labels of each document; the stored entries count.
    matched : sparse matrix, shape (n_documents, n_clusters)
        The matcher's result; the stored entries are the matches, their values the scores.
    n_threads : int
        The result does not depend on it.
    progress : callable, optional
        Called now and then with the number of labels done.
    """
    label_rows, matched = _canonical(sp.csr_array(Y).T), _canonical(matched)
    _check_documents(label_rows, matched)
    if not np.isfinite(matched.data).all():
        raise ValueError("matched contains NaN or infinity; matcher scores must be finite.")
    n_clusters = int(matched.shape[1])
    starts, clusters, counts, scores = _native.count_co_occurrence(
        pattern_of(label_rows), rows_of(matched), n_threads, progress
    )
    shape = (int(label_rows.shape[0]), n_clusters)
    return CoOccurrence(
        counts=sp.csr_array((counts, clusters, starts), shape=shape),
        scores=sp.csr_array((scores, clusters, starts), shape=shape),
        label_rows=label_rows,
        matched=matched,
    )


def count_reached(
    Y: sp.sparray | sp.spmatrix,
    matched: sp.sparray | sp.spmatrix,
    clusters: LabelClusters,
    *,
    n_threads: int = 1,
) -> int:
    """Count the positive (document, label) pairs that the beam reaches.

    A pair is reached if the document is matched to at least one cluster of the label. (The paper's
    objective (7), Tr(Y^T Binary(M C^T)), without building any of its matrices.)

    Parameters
    ----------
    Y : sparse matrix, shape (n_documents, n_labels)
    matched : sparse matrix, shape (n_documents, n_clusters)
    clusters : LabelClusters
    n_threads : int
    """
    label_rows, matched = _canonical(sp.csr_array(Y).T), _canonical(matched)
    _check_documents(label_rows, matched)
    return _count_reached(label_rows, matched, clusters, n_threads)


def _count_reached(
    label_rows: sp.csr_array, matched: sp.csr_array, clusters: LabelClusters, n_threads: int
) -> int:
    if (clusters.n_labels, clusters.n_clusters) != (label_rows.shape[0], matched.shape[1]):
        raise ValueError(
            f"clusters has {clusters.n_labels} labels and {clusters.n_clusters} clusters, but Y "
            f"has {label_rows.shape[0]} labels and matched has {matched.shape[1]} clusters."
        )
    return _native.count_reached(
        pattern_of(label_rows), pattern_of(matched), pattern_of(clusters.to_matrix()), n_threads
    )


def _check_documents(label_rows: sp.csr_array, matched: sp.csr_array) -> None:
    if label_rows.shape[1] != matched.shape[0]:
        raise ValueError(
            f"Y has {label_rows.shape[1]} rows and matched has {matched.shape[0]}; "
            "both need one for each document."
        )


def _canonical(matrix: sp.sparray | sp.spmatrix) -> sp.csr_array:
    """Sorted rows without duplicates, as float32; the input stays as it is."""
    rows = sp.csr_array(matrix, dtype=np.float32)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def pattern_of(matrix: sp.csr_array) -> SparsePattern:
    """Return where entries are stored, in the form of the native core."""
    starts = matrix.indptr.astype(np.int64, copy=False)
    return SparsePattern(starts, matrix.indices.astype(np.int32, copy=False), matrix.shape[1])


def rows_of(matrix: sp.csr_array) -> SparseRows:
    """Return a matrix of float32 in the form of the native core, with all stored entries."""
    pattern = pattern_of(matrix)
    return SparseRows(pattern.starts, pattern.columns, matrix.data, pattern.n_columns)
