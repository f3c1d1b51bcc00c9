"""Clusters for new labels, beside labels that stay where they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.run import Run
from polyseme.partition.assignment import default_max_cluster_size
from polyseme.partition.co_occurrence import CoOccurrence, co_occurrence, count_reached
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree

__all__ = ["Placing", "place_labels"]

# Popular clusters are filled to the limit by training; new labels need some room there.
ROOM_FOR_NEW_LABELS = 1.25


def place_labels(
    counted: CoOccurrence,
    sizes: npt.NDArray[np.int64],
    copies: int,
    max_cluster_size: int,
) -> tuple[sp.csr_array, int]:
    """Choose clusters for labels that have none yet, beside labels that stay where they are.

    Frequent labels choose first, and all choose a first slot before any chooses a second one.
    The order of choice is that of `polyseme.assignment`: count, sum of scores, lower id. A label
    whose clusters are all full goes where there is most room.

    Parameters
    ----------
    counted : CoOccurrence
        Of the labels to place; those without documents are left out.
    sizes : ndarray of int64, shape (n_clusters,)
        Labels that are in each cluster already.
    copies, max_cluster_size : int

    Returns
    -------
    placed : csr_array of float32, shape (n_labels, n_clusters)
    n_without_room : int
        Labels that went where there was most room.
    """
    sizes = sizes.copy()
    counts, scores = counted.counts, counted.scores.data
    n_documents = np.diff(counted.label_rows.indptr)
    order = [i for i in np.argsort(-n_documents, kind="stable").tolist() if n_documents[i]]
    wanted = {}
    for label in order:
        own = slice(counts.indptr[label], counts.indptr[label + 1])
        best = np.lexsort((counts.indices[own], -scores[own], -counts.data[own]))
        wanted[label] = counts.indices[own][best].tolist()
    pairs: list[tuple[int, int]] = []
    n_without_room = 0
    for copy in range(copies):
        for label in order:
            room = (cluster for cluster in wanted[label] if sizes[cluster] < max_cluster_size)
            cluster = next(room, None)
            if cluster is None:
                if copy > 0:
                    continue
                cluster = int(sizes.argmin())
                n_without_room += 1
            wanted[label] = [other for other in wanted[label] if other != cluster]
            sizes[cluster] += 1
            pairs.append((label, cluster))
    labels, clusters = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    ones = np.ones(len(pairs), dtype=np.float32)
    return sp.csr_array((ones, (labels, clusters)), shape=counts.shape), n_without_room


class Placing:
    """Places new labels by the matches of new documents, and says how well that went."""

    def __init__(
        self,
        clusters: LabelClusters,
        tree: LabelTree,
        matched: SparseRows,
        copies: int,
        max_cluster_size: int | None,
        run: Run,
    ) -> None:
        self._clusters, self._tree, self._matched = clusters, tree, matched.to_scipy()
        self._copies, self._max_cluster_size, self._run = copies, max_cluster_size, run

    def place(self, labels: sp.csr_array, rows: Any = slice(None)) -> tuple[sp.csr_array, int]:
        """Choose clusters by some of the documents, in each tree; see `place_labels`."""
        counted = co_occurrence(labels[rows], self._matched[rows], n_threads=self._run.n_threads)
        n_labels = self._clusters.n_labels + counted.n_labels
        placed, n_without_room = [], 0
        for own in self._tree.clusters_of_trees:
            present = replace(self._clusters.take(own), n_labels=n_labels)
            limit = self._max_cluster_size or int(
                ROOM_FOR_NEW_LABELS * default_max_cluster_size(present, self._copies)
            )
            in_tree, n_more = place_labels(
                counted.take_clusters(own), present.sizes, self._copies, limit
            )
            placed.append(in_tree)
            n_without_room = max(n_without_room, n_more)
        return sp.csr_array(sp.hstack(placed, format="csr")), n_without_room

    def known_reach(self, labels: sp.csr_array) -> float | None:
        """Return the share of pairs of known labels that the beam reaches; None without pairs."""
        if labels.nnz == 0:
            return None
        return count_reached(labels, self._matched, self._clusters) / int(labels.nnz)

    def new_reach(self, labels: sp.csr_array) -> float | None:
        """Return the same for labels placed by one half of the documents, on the other half."""
        n_pairs = n_reached = 0
        in_first_half = np.random.default_rng(self._run.seed).permutation(labels.shape[0]) % 2 == 0
        for is_counted in (in_first_half, ~in_first_half):
            fold, others = np.flatnonzero(is_counted), np.flatnonzero(~is_counted)
            if len(others) == 0 or len(fold) == 0:
                continue
            placed, _ = self.place(labels, others)
            is_placed = np.diff(placed.indptr) > 0
            pairs = SparsePattern.from_scipy(labels[fold]).only_columns(is_placed)
            chosen = LabelClusters.from_matrix(placed)
            n_pairs += pairs.n_stored
            n_reached += count_reached(pairs.to_scipy(), self._matched[fold], chosen)
        return n_reached / n_pairs if n_pairs else None
