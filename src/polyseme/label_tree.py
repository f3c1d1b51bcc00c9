"""The label tree: equal groups of similar labels, level by level."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.label_clusters import LabelClusters
from polyseme.sparse_rows import SparsePattern, SparseRows

__all__ = ["LabelTree"]


@dataclass(frozen=True)
class LabelTree:
    """A tree in which all nodes of a level have the same number of children.

    The nodes of a level are numbered from left to right, so the children of node ``j`` are
    ``j * fan_out`` to ``(j + 1) * fan_out`` of the next level. The leaves are the clusters.
    The tree stays as it is when labels are re-assigned to its clusters.

    Attributes
    ----------
    fan_outs : tuple of int
        Children of a node, by level from the root; empty where all labels are one cluster.
    """

    fan_outs: tuple[int, ...]

    @classmethod
    def shape_for(cls, n_labels: int, branching: int, max_leaf_size: int) -> LabelTree:
        """Choose the fan-outs: at most `branching`, and leaves of at most `max_leaf_size` labels.

        The number of leaves is a power of two, so that every cut is into halves, and the levels
        share it as evenly as they can. (A `branching` that is no power of two counts as the
        next smaller one.)
        """
        n_cuts = math.ceil(math.log2(max(1.0, n_labels / max_leaf_size)))
        cuts_per_level = max(1, int(math.log2(branching)))
        n_levels = math.ceil(n_cuts / cuts_per_level)
        cuts = [n_cuts // n_levels + (level < n_cuts % n_levels) for level in range(n_levels)]
        return cls(tuple(2**n for n in reversed(cuts)))

    @classmethod
    def build(
        cls,
        features: SparseRows,
        *,
        branching: int = 32,
        max_leaf_size: int = 100,
        max_iter: int = 10,
        seed: int = 0,
        n_threads: int = 1,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[LabelTree, LabelClusters]:
        """Split the labels by recursive balanced k-means on their features.

        Parameters
        ----------
        features : SparseRows, shape (n_labels, n_features)
            Rows of unit length, or empty.

        Returns
        -------
        tree : LabelTree
        clusters : LabelClusters
            The leaves: every label in exactly one cluster.
        """
        tree = cls.shape_for(features.n_rows, branching, max_leaf_size)
        starts, labels = _native.partition_labels(
            features.starts,
            features.columns,
            features.values,
            features.n_columns,
            list(tree.fan_outs),
            max_iter,
            seed,
            n_threads,
            progress,
        )
        return tree, LabelClusters(features.n_rows, starts, labels)

    @property
    def n_levels(self) -> int:
        """Number of levels below the root."""
        return len(self.fan_outs)

    @property
    def n_clusters(self) -> int:
        """Number of leaves."""
        return math.prod(self.fan_outs)

    def n_nodes(self, level: int) -> int:
        """Return the number of nodes of a level; level 0 is the root alone."""
        return math.prod(self.fan_outs[:level])

    def child_starts(self, level: int) -> npt.NDArray[np.int64]:
        """Return where the children of each node of a level start, shape (n_nodes + 1,)."""
        return np.arange(self.n_nodes(level) + 1, dtype=np.int64) * self.fan_outs[level]

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
        nodes = targets.columns // math.prod(self.fan_outs[level:])
        first = np.ones(len(nodes), dtype=bool)
        first[1:] = nodes[1:] != nodes[:-1]
        row_starts = targets.starts[:-1]
        first[row_starts[row_starts < len(nodes)]] = True
        n_before = np.zeros(len(nodes) + 1, dtype=np.int64)
        np.cumsum(first, out=n_before[1:])
        return SparsePattern(n_before[targets.starts], nodes[first], self.n_nodes(level))
