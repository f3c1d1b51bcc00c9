"""A matcher that asks the nearest training documents for their labels (AnnexML's idea)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from polyseme.backbones.nearest.index import NeighbourIndex, needed_library
from polyseme.backbones.nearest.space import DocumentSpace, product, unit_rows
from polyseme.backbones.protocols import ModelShape
from polyseme.backbones.tasks import MatchingTask, RankingTask
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters

__all__ = ["NearestDocumentsMatcher", "Partition", "TakenAtItsWord"]

ROWS_AT_ONCE = 1024
RIDGE = 10.0  # documents' worth of doubt in what directions say about labels
SHARPNESS = 8  # the power of a similarity that a neighbour's vote weighs
LEAST_SIMILARITY = 1e-3

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Partition:
    """Documents that are near each other, turned so that those of like labels are nearer still.

    Attributes
    ----------
    turn : ndarray of float32, shape (n_dimensions, n_dimensions)
        Documents times it are as similar as the labels that a ridge regression gives them.
    index : NeighbourIndex
    labels : SparsePattern, shape (n_documents of the partition, n_labels)
    """

    turn: Floats
    index: NeighbourIndex
    labels: SparsePattern

    @classmethod
    def of(cls, placed: Floats, labels: SparsePattern, run: Run) -> Partition:
        """Learn the turn, and index the documents."""
        with threadpool_limits(limits=1):  # sums must not depend on the number of threads
            turn = _turn_to_labels(placed, labels)
        index = NeighbourIndex.of(unit_rows(product(Documents(dense=placed), turn, run)))
        return cls(turn, index, labels)


def _turn_to_labels(placed: Floats, labels: SparsePattern) -> Floats:
    wide = placed.astype(np.float64)
    doubt = RIDGE * np.eye(wide.shape[1])
    found = np.linalg.solve(wide.T @ wide + doubt, (labels.to_scipy().T @ wide).T)
    squares, directions = np.linalg.eigh(found @ found.T)
    # A tenth of the plain likeness stays, for what labels say nothing about.
    roots = np.sqrt(squares.clip(0))
    turn: Floats = (directions * (roots + 0.1 * roots.max(initial=0))).astype(np.float32)
    return turn


@dataclass
class NearestDocumentsMatcher:
    """The labels of the nearest training documents, as their votes have it. Clusters are labels.

    Parameters
    ----------
    n_neighbours : int
    n_dimensions : int
        Directions that sparse features are projected to; dense features stay as they are.
    partition_size : int
        About how many documents are in a partition.
    n_partitions_searched : int
    """

    n_neighbours: int = 15
    n_dimensions: int = 256
    partition_size: int = 20_000
    n_partitions_searched: int = 2
    space: DocumentSpace | None = None
    centres: Floats | None = None
    partitions: tuple[Partition, ...] = ()

    @cached_property
    def labels(self) -> sp.csr_array:
        """The labels of all documents, one partition after the other."""
        own = [part.labels for part in self.partitions]
        return SparsePattern.stack(own, own[0].n_columns).to_scipy()

    def fit(self, documents: Documents, task: MatchingTask, run: Run) -> NearestDocumentsMatcher:
        """Partition the documents that have labels, and index each part."""
        needed_library()  # before the work begins
        has_labels = np.flatnonzero(np.diff(task.targets.starts))
        known, labels = documents.take(has_labels), task.targets.take(has_labels)
        self.space = DocumentSpace.of(known, self.n_dimensions, run, labels)
        placed = self.space.place(known, run)
        n = max(1, round(len(placed) / self.partition_size))
        with threadpool_limits(limits=1):
            self.centres, partition_of = _partitioned(placed, n, run.seed)
        self.partitions = tuple(
            Partition.of(np.ascontiguousarray(placed[own]), labels.take(own), run)
            for own in (np.flatnonzero(partition_of == i) for i in range(len(self.centres)))
        )
        if run.progress is not None:
            run.progress(task.tree.n_nodes_below_root)
        return self

    def match(self, documents: Documents, beam_size: int, run: Run) -> SparseRows:
        """Return the labels with most votes of neighbours; scores are their shares.

        Returns
        -------
        SparseRows, shape (n_documents, n_labels)
            Fewer than `beam_size` where neighbours have fewer labels.
        """
        parts = []
        for block in documents.blocks(ROWS_AT_ONCE):
            parts.append(_best(self._votes(block, run), beam_size))
            if run.progress is not None:
                run.progress(sum(part.n_rows for part in parts))
        return SparseRows.stack(parts)

    def _votes(self, documents: Documents, run: Run) -> sp.csr_array:
        if self.space is None or self.centres is None:
            raise ValueError("this matcher has not been trained; call fit first")
        placed = self.space.place(documents, run)
        ids, similar = self._neighbours(placed, run)
        weights = np.where(ids >= 0, similar.clip(LEAST_SIMILARITY, 1) ** SHARPNESS, 0)
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        starts = np.arange(len(ids) + 1) * ids.shape[1]
        votes = sp.csr_array(
            (weights.ravel(), np.maximum(ids, 0).ravel(), starts),
            shape=(len(ids), self.labels.shape[0]),
        )
        return sp.csr_array(votes @ self.labels)

    def _neighbours(
        self, placed: Floats, run: Run
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return the nearest documents, counted over all partitions, of those searched."""
        assert self.centres is not None
        n_searched = min(self.n_partitions_searched, len(self.partitions))
        near_centres = product(Documents(dense=placed), self.centres.T, run)
        searched = np.argsort(-near_centres, axis=1, kind="stable")[:, :n_searched]
        shape = len(placed), n_searched * self.n_neighbours
        ids = np.full(shape, -1, dtype=np.int64)
        similar = np.full(shape, -1.0)
        first = 0
        for number, partition in enumerate(self.partitions):
            rows, places = np.nonzero(searched == number)
            own = np.ascontiguousarray(placed[rows])
            turned = unit_rows(product(Documents(dense=own), partition.turn, run))
            found, how_similar = partition.index.nearest(turned, self.n_neighbours, run)
            columns = places[:, None] * self.n_neighbours + np.arange(found.shape[1])
            ids[rows[:, None], columns] = np.where(found >= 0, found + first, -1)
            similar[rows[:, None], columns] = how_similar
            first += partition.labels.n_rows
        best = np.argsort(-similar, axis=1, kind="stable")[:, : self.n_neighbours]
        return np.take_along_axis(ids, best, axis=1), np.take_along_axis(similar, best, axis=1)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return directions and centres, and of each partition its turn, index and labels."""
        if self.space is None or self.centres is None:
            raise ValueError("this matcher has not been trained; call fit first")
        arrays: dict[str, npt.NDArray[Any]] = {**self.space.to_arrays(), "centres": self.centres}
        for number, part in enumerate(self.partitions):
            own: dict[str, npt.NDArray[Any]] = {
                "turn": part.turn,
                "starts": part.labels.starts,
                "columns": part.labels.columns,
                **part.index.to_arrays(),
            }
            arrays.update({f"{number}.{name}": array for name, array in own.items()})
        return arrays

    def restore(self, stored: StoredModel, shape: ModelShape) -> None:
        """Take over the arrays of a saved matcher."""
        self.space = DocumentSpace.restored(stored, shape.n_sparse, shape.n_dense)
        n = self.space.n_dimensions
        self.centres = stored.array("centres", np.float32, (None, n))
        stored.finite("centres")
        if len(self.centres) == 0:
            raise stored.damaged("it has no partition of documents")
        partitions = []
        for number in range(len(self.centres)):
            own = stored.part(str(number))
            turn = own.array("turn", np.float32, (n, n))
            own.finite("turn")
            n_documents = len(own.array("starts", np.int64, (None,))) - 1
            labels = own.pattern(n_documents, shape.tree.n_clusters)
            if not labels.ascends():
                raise stored.damaged("labels of its documents do not ascend")
            index = NeighbourIndex.restored(own, n_documents, n)
            partitions.append(Partition(turn, index, labels))
        self.partitions = tuple(partitions)


def _partitioned(placed: Floats, n: int, seed: int) -> tuple[Floats, npt.NDArray[np.integer[Any]]]:
    """Return centres of partitions, and which of them each document is in; none is empty."""
    if n == 1:
        return np.zeros((1, placed.shape[1]), dtype=np.float32), np.zeros(len(placed), np.int64)
    found = KMeans(n, n_init=1, random_state=seed).fit(placed)
    kept, partition_of = np.unique(found.labels_, return_inverse=True)
    return unit_rows(found.cluster_centers_[kept]), partition_of


def _best(votes: sp.csr_array, n: int) -> SparseRows:
    """Return the n columns with most votes in each row, ascending; the first of equal ones."""
    votes.sort_indices()
    row = np.repeat(np.arange(votes.shape[0]), np.diff(votes.indptr))
    order = np.lexsort((votes.indices, -votes.data, row))
    place = np.arange(len(order)) - votes.indptr[row]
    kept = np.sort(order[(place < n) & (votes.data[order] > 0)])
    starts = np.concatenate([[0], np.cumsum(np.bincount(row[kept], minlength=votes.shape[0]))])
    return SparseRows(
        starts.astype(np.int64),
        votes.indices[kept].astype(np.int32),
        votes.data[kept].clip(0, 1).astype(np.float32),
        int(votes.shape[1]),
    )


class TakenAtItsWord:
    """A ranker that learns nothing: labels have the score of the cluster they are in."""

    def fit(self, documents: Documents, task: RankingTask, run: Run) -> TakenAtItsWord:
        """Learn nothing."""
        if run.progress is not None:
            run.progress(task.clusters.n_slots)
        return self

    def score(
        self, documents: Documents, matched: SparseRows, clusters: LabelClusters, run: Run
    ) -> SparseRows:
        """Return the score of its cluster for each slot, shape (n_documents, n_slots)."""
        sizes = clusters.sizes[matched.columns]
        before = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        slots = np.arange(before[-1]) - np.repeat(before[:-1], sizes)
        slots += np.repeat(clusters.starts[matched.columns], sizes)
        if run.progress is not None:
            run.progress(matched.n_rows)
        return SparseRows(
            before[matched.starts],
            slots.astype(np.int32),
            np.repeat(matched.values, sizes),
            clusters.n_slots,
        )

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return nothing."""
        return {}

    def restore(self, stored: StoredModel, shape: ModelShape) -> None:
        """Take over nothing."""
