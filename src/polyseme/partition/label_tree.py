"""The label tree: groups of similar labels, level by level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters

__all__ = ["MAX_DOCUMENTS", "MAX_FEATURES", "LabelTree"]

# What counts of a label when it is compared with others.
MAX_FEATURES = 256
MAX_DOCUMENTS = 64


@dataclass(frozen=True, eq=False)
class LabelTree:
    """A tree of any shape above the clusters, which are its leaves.

    The nodes of a level are numbered from left to right, and all leaves lie on the last level: a
    branch that ends earlier goes on with single children. The tree stays as it is when labels are
    re-assigned to its clusters.

    Attributes
    ----------
    levels : tuple of ndarray of int64
        For each level but the last, where the children of its nodes start, shape (n_nodes + 1,):
        those of node ``j`` are nodes ``starts[j]`` to ``starts[j + 1]`` of the next level. Empty
        where all labels are one cluster.
    """

    levels: tuple[npt.NDArray[np.int64], ...] = ()

    def __post_init__(self) -> None:
        n_nodes = 1
        for level, starts in enumerate(self.levels):
            if not isinstance(starts, np.ndarray) or starts.dtype != np.int64:
                raise ValueError(f"level {level} of the tree must be an array of int64.")
            if not (
                starts.dtype == np.int64
                and starts.shape == (n_nodes + 1,)
                and starts[0] == 0
                and (starts[1:] >= starts[:-1]).all()
                and starts[-1] >= 1
            ):
                raise ValueError(
                    f"level {level} of the tree does not say where the children of its {n_nodes} "
                    "nodes start."
                )
            n_nodes = int(starts[-1])

    @classmethod
    def uniform(cls, *fan_outs: int) -> LabelTree:
        """Return the tree in which all nodes of a level have the same number of children."""
        n_nodes = [math.prod(fan_outs[:level]) for level in range(len(fan_outs))]
        return cls(
            tuple(
                np.arange(n + 1, dtype=np.int64) * fan_out
                for n, fan_out in zip(n_nodes, fan_outs, strict=True)
            )
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelTree):
            return NotImplemented
        return len(self.levels) == len(other.levels) and all(
            map(np.array_equal, self.levels, other.levels)
        )

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def shape_for(cls, n_labels: int, branching: int, max_leaf_size: int) -> LabelTree:
        """Choose a shape: at most `branching` children, leaves of at most `max_leaf_size` labels.

        All nodes of a level have the same number of children, and the number of leaves is a power
        of two, so that every cut is into halves. Lower levels branch fully, the top level as far
        as is left: telling many siblings apart in one go measured better than two small steps. (A
        `branching` that is no power of two counts as the next smaller one.)
        """
        return cls.uniform(*_fan_outs_for(n_labels, branching, max_leaf_size))

    @classmethod
    def build(
        cls,
        documents: Documents,
        Y: SparsePattern,
        *,
        branching: int = 32,
        max_leaf_size: int = 100,
        max_features: int = MAX_FEATURES,
        max_documents: int = MAX_DOCUMENTS,
        sample_size: int = 1024,
        max_iter: int = 10,
        run: Run | None = None,
    ) -> tuple[LabelTree, LabelClusters]:
        """Split the labels by recursive balanced 2-means on their features.

        A label's features are the normalised sum of the features of its documents: a row of
        ``Y^T X`` (the paper's positive instance feature aggregation). The limits below cost no
        measurable accuracy and save most of the work.

        Parameters
        ----------
        documents : Documents
        Y : SparsePattern, shape (n_documents, n_labels)
        branching, max_leaf_size : int
            See `shape_for`.
        max_features : int
            Only a label's largest features count.
        max_documents : int
            Only so many of a label's documents count, evenly spread over all.
        sample_size : int
            Where more labels are to be split, an even sample of so many finds the two centroids,
            which two rounds with all labels then improve.
        max_iter : int
            Most iterations of a split.
        run : Run, optional
            Each split has a random stream of its own; progress counts labels.

        Returns
        -------
        tree : LabelTree
        clusters : LabelClusters
            The leaves: every label in exactly one cluster.
        """
        fan_outs = _fan_outs_for(Y.n_columns, branching, max_leaf_size)
        run = run or Run()
        starts, labels = _native.partition_labels(
            documents,
            Y.transpose(),
            fan_outs=list(fan_outs),
            max_features=max_features,
            max_documents=max_documents,
            sample_size=sample_size,
            max_iter=max_iter,
            seed=run.seed,
            n_threads=run.n_threads,
            progress=run.progress,
        )
        return cls.uniform(*fan_outs), LabelClusters(Y.n_columns, starts, labels)

    @property
    def n_levels(self) -> int:
        """Number of levels below the root."""
        return len(self.levels)

    @property
    def n_clusters(self) -> int:
        """Number of leaves."""
        return self.n_nodes(self.n_levels)

    def n_nodes(self, level: int) -> int:
        """Return the number of nodes of a level; level 0 is the root alone."""
        return int(self.levels[level - 1][-1]) if level else 1

    @property
    def n_nodes_below_root(self) -> int:
        """Number of nodes of all levels but the root."""
        return sum(self.n_nodes(level) for level in range(1, self.n_levels + 1))

    @cached_property
    def parents(self) -> tuple[npt.NDArray[np.int32], ...]:
        """For each level below the root, the node above each of its nodes."""
        return tuple(
            np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
            for starts in self.levels
        )

    def nodes_above(self, level: int) -> npt.NDArray[np.int32]:
        """Return the node of a level that lies above each cluster, shape (n_clusters,)."""
        nodes = np.arange(self.n_clusters, dtype=np.int32)
        for parents in reversed(self.parents[level:]):
            nodes = parents[nodes]
        return nodes

    def clusters_below(self, level: int) -> npt.NDArray[np.int64]:
        """Return where the clusters below each node of a level start, shape (n_nodes + 1,)."""
        starts = np.arange(self.n_nodes(min(level, self.n_levels)) + 1, dtype=np.int64)
        for below in self.levels[level:]:
            starts = below[starts]
        return starts

    def path_to(self, cluster: int) -> list[int]:
        """Return the nodes from the level below the root down to a cluster, itself included."""
        if not 0 <= cluster < self.n_clusters:
            raise IndexError(f"there is no cluster {cluster}; the last is {self.n_clusters - 1}.")
        path = [cluster]
        for parents in reversed(self.parents[1:]):
            path.append(int(parents[path[-1]]))
        return path[::-1] if self.n_levels else []

    def ancestors(self, targets: SparsePattern, level: int) -> SparsePattern:
        """Return the nodes of a level that lie above given clusters.

        Parameters
        ----------
        targets : SparsePattern, shape (n_documents, n_clusters)

        Returns
        -------
        SparsePattern, shape (n_documents, n_nodes)
        """
        if level == self.n_levels:
            return targets
        nodes = self.nodes_above(level)[targets.columns]
        first = np.ones(len(nodes), dtype=bool)
        first[1:] = nodes[1:] != nodes[:-1]
        row_starts = targets.starts[:-1]
        first[row_starts[row_starts < len(nodes)]] = True
        n_before = np.zeros(len(nodes) + 1, dtype=np.int64)
        np.cumsum(first, out=n_before[1:])
        return SparsePattern(n_before[targets.starts], nodes[first], self.n_nodes(level))


def _fan_outs_for(n_labels: int, branching: int, max_leaf_size: int) -> tuple[int, ...]:
    """Return the children of a node, by level from the root."""
    n_cuts = math.ceil(math.log2(max(1.0, n_labels / max_leaf_size)))
    cuts_per_level = max(1, int(math.log2(branching)))
    n_full, rest = divmod(n_cuts, cuts_per_level)
    return (2**rest,) * (rest > 0) + (2**cuts_per_level,) * n_full
