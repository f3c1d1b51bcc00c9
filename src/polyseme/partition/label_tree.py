"""The label tree: equal groups of similar labels, level by level."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.partition.label_clusters import LabelClusters

__all__ = ["MAX_DOCUMENTS", "MAX_FEATURES", "LabelTree"]

# What counts of a label when it is compared with others.
MAX_FEATURES = 256
MAX_DOCUMENTS = 64


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

        The number of leaves is a power of two, so that every cut is into halves. Lower levels
        branch fully, the top level as far as is left: telling many siblings apart in one go
        measured better than two small steps. (A `branching` that is no power of two counts as
        the next smaller one.)
        """
        n_cuts = math.ceil(math.log2(max(1.0, n_labels / max_leaf_size)))
        cuts_per_level = max(1, int(math.log2(branching)))
        n_full, rest = divmod(n_cuts, cuts_per_level)
        return cls((2**rest,) * (rest > 0) + (2**cuts_per_level,) * n_full)

    @classmethod
    def build(
        cls,
        X: SparseRows,
        Y: SparsePattern,
        *,
        branching: int = 32,
        max_leaf_size: int = 100,
        max_features: int = MAX_FEATURES,
        max_documents: int = MAX_DOCUMENTS,
        sample_size: int = 1024,
        max_iter: int = 10,
        seed: int = 0,
        n_threads: int = 1,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[LabelTree, LabelClusters]:
        """Split the labels by recursive balanced 2-means on their features.

        A label's features are the normalised sum of the features of its documents: a row of
        ``Y^T X`` (the paper's positive instance feature aggregation). The limits below cost no
        measurable accuracy and save most of the work.

        Parameters
        ----------
        X : SparseRows, shape (n_documents, n_features)
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

        Returns
        -------
        tree : LabelTree
        clusters : LabelClusters
            The leaves: every label in exactly one cluster.
        """
        tree = cls.shape_for(Y.n_columns, branching, max_leaf_size)
        starts, labels = _native.partition_labels(
            X,
            Y.transpose(),
            fan_outs=list(tree.fan_outs),
            max_features=max_features,
            max_documents=max_documents,
            sample_size=sample_size,
            max_iter=max_iter,
            seed=seed,
            n_threads=n_threads,
            progress=progress,
        )
        return tree, LabelClusters(Y.n_columns, starts, labels)

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

    @property
    def n_nodes_below_root(self) -> int:
        """Number of nodes of all levels but the root."""
        return sum(self.n_nodes(level) for level in range(1, self.n_levels + 1))

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
