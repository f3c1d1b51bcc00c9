# ruff: noqa: D102 (what the methods do stands in base.py)
"""The paper's method the reference way, on libpecos, with two copies per label."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from pecos.utils.cluster_util import ClusterChain  # type: ignore[import-not-found]
from pecos.xmc.base import HierarchicalMLModel  # type: ignore[import-not-found]
from pecos.xmc.xlinear.model import XLinearModel  # type: ignore[import-not-found]
from scipy.sparse import csc_matrix, csr_matrix

from benchmarks.systems.base import BEAM_SIZE
from benchmarks.systems.libpecos_plain import LibpecosPlain, load_fastest

N_COPIES = 2
# Columns ranked before copies are averaged: on tibkat-core P@k is within 0.1 from 10 to 1000.
N_RANKED_COLUMNS = 20


class LibpecosCopies(LibpecosPlain):
    """Train, match, duplicate the columns of Y, train the whole tree again, average copies."""

    def train(self) -> None:
        chain = self.cluster_labels()
        first = self.train_tree(self.Y, chain, "first training")
        with self.phase("matching"):
            matched = self.match(first)
        with self.phase("assignment"):
            self.label_of_column, clusters = choose_clusters(self.Y, matched, chain[-1])
            Y = self.Y[:, self.label_of_column].tocsc()
            chain = ClusterChain([*chain[:-1], clusters])
        self.model = self.train_tree(Y, chain, "second training")

    def match(self, model: Any) -> csr_matrix:
        """Find the clusters in the beam of each training document."""
        matcher = XLinearModel(HierarchicalMLModel(model.model.model_chain[:-1]))
        with tempfile.TemporaryDirectory() as folder:
            # Written and read again it is served by the native code, many times faster.
            matcher.save(folder)
            matcher = load_fastest(folder)
        return matcher.predict(
            self.X, beam_size=BEAM_SIZE, only_topk=BEAM_SIZE, threads=self.n_threads
        )

    def save(self, model: Path) -> None:
        super().save(model)
        np.save(model / "label_of_column.npy", self.label_of_column)

    def load(self, model: Path) -> None:
        super().load(model)
        self.label_of_column = np.load(model / "label_of_column.npy")

    def predict(self, queries: csr_matrix, k: int) -> Any:
        scores = super().predict(queries, N_RANKED_COLUMNS)
        # Both matrices get the same pattern, so the mean is a division of their data.
        labels = self.label_of_column[scores.indices]
        shape = (scores.shape[0], int(self.label_of_column.max()) + 1)
        total = csr_matrix((scores.data, labels, scores.indptr), shape)
        count = csr_matrix((np.ones_like(scores.data), labels, scores.indptr), shape)
        total.sum_duplicates()
        count.sum_duplicates()
        total.data /= count.data
        return super().top_labels(total, k)

    def top_labels(self, prediction: np.ndarray[Any, Any], k: int) -> np.ndarray[Any, Any]:
        return prediction


def choose_clusters(
    Y: csc_matrix, matched: csr_matrix, present: csc_matrix
) -> tuple[np.ndarray[Any, Any], csc_matrix]:
    """Put each label into the clusters that its documents are matched to most often.

    Counts decide, then the sum of scores; a label that was never matched keeps its cluster.

    Parameters
    ----------
    Y : csc_matrix of shape (n_documents, n_labels)
    matched : csr_matrix of shape (n_documents, n_clusters)
    present : csc_matrix of shape (n_labels, n_clusters)

    Returns
    -------
    label_of_column : ndarray of shape (n_columns,)
        The label behind each column of the widened Y.
    clusters : csc_matrix of shape (n_columns, n_clusters)
    """
    binary = csr_matrix(
        (np.ones_like(matched.data), matched.indices, matched.indptr), matched.shape
    )
    counts = (Y.T @ binary).tocsr()
    scores = (Y.T @ matched).tocsr()
    counts.sort_indices()
    scores.sort_indices()
    n_labels = counts.shape[0]
    label = np.repeat(np.arange(n_labels), np.diff(counts.indptr))
    order = np.lexsort((-scores.data, -counts.data, label))
    rank = np.arange(len(label)) - counts.indptr[label]
    chosen = rank < N_COPIES
    never = np.flatnonzero(np.diff(counts.indptr) == 0)
    present_rows = present.tocsr()[never]
    label_of_column = np.concatenate([label[chosen], never])
    cluster_of_column = np.concatenate([counts.indices[order[chosen]], present_rows.indices])
    n_columns = len(label_of_column)
    clusters = csc_matrix(
        (np.ones(n_columns, dtype=np.float32), (np.arange(n_columns), cluster_of_column)),
        shape=(n_columns, present.shape[1]),
    )
    return label_of_column, clusters
