"""The label tree: groups of similar labels, level by level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.partition.label_clusters import LabelClusters

__all__ = ["MAX_DOCUMENTS", "MAX_FEATURES", "LabelTree", "fan_outs_for", "most_levels"]

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
    n_trees : int
        With more than one it is a forest: the nodes just below the root are the roots of its
        trees, which every document goes to, and every label has a cluster below each.
    """

    levels: tuple[npt.NDArray[np.int64], ...] = ()
    n_trees: int = 1

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
        if self.n_trees > 1 and (not self.levels or self.levels[0][-1] != self.n_trees):
            raise ValueError(f"a forest must have a node for each of its {self.n_trees} trees.")

    def __repr__(self) -> str:
        sizes = ", ".join(f"{self.n_nodes(level):,}" for level in range(self.n_levels + 1))
        forest = f"{self.n_trees} trees; " if self.n_trees > 1 else ""
        return f"<LabelTree: {forest}nodes per level, from root to clusters: {sizes}>"

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
        return (
            self.n_trees == other.n_trees
            and len(self.levels) == len(other.levels)
            and all(map(np.array_equal, self.levels, other.levels))
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
        return cls.uniform(*fan_outs_for(n_labels, branching, max_leaf_size))

    @classmethod
    def from_parents(
        cls, parents: npt.NDArray[np.int64]
    ) -> tuple[LabelTree, npt.NDArray[np.int64]]:
        """Lay out nodes that know their parents, level by level.

        Parameters
        ----------
        parents : ndarray of int64, shape (n_nodes,)
            The node above each; -1 for one of them, the root, which is above all others. Children
            of a node come in the order of their numbers.

        Returns
        -------
        tree : LabelTree
        cluster_of_node : ndarray of int64, shape (n_nodes,)
            The cluster that a leaf became, whatever its depth; -1 for inner nodes.
        """
        n_children = np.bincount(parents + 1, minlength=len(parents) + 1)
        first_child = np.cumsum(n_children)[:-1]  # in the order of parents, the root at first
        n_children = n_children[1:]
        by_parent = np.argsort(parents, kind="stable")
        nodes, levels = by_parent[:1], []
        while n_children[nodes].any():
            n_below = np.maximum(1, n_children[nodes])  # a leaf goes on with itself
            starts = np.zeros(len(nodes) + 1, dtype=np.int64)
            np.cumsum(n_below, out=starts[1:])
            above = np.repeat(nodes, n_below)
            place = np.arange(starts[-1]) - np.repeat(starts[:-1], n_below)
            child = by_parent[np.minimum(first_child[above] + place, len(parents) - 1)]
            nodes = np.where(n_children[above] > 0, child, above)
            levels.append(starts)
        cluster_of_node = np.full(len(parents), -1, dtype=np.int64)
        cluster_of_node[nodes] = np.arange(len(nodes))
        return cls(tuple(levels)), cluster_of_node

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

    @property
    def clusters_of_trees(self) -> list[slice]:
        """The clusters of each tree of a forest; of a single tree all."""
        if self.n_trees == 1:
            return [slice(0, self.n_clusters)]
        return [slice(*ends) for ends in pairwise(self.clusters_below(1).tolist())]

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

    # To be looked at, and carried away

    def to_nested(self, clusters: LabelClusters, names: Sequence[Any] | None = None) -> list[Any]:
        """Return the tree as nested lists, with a list of labels for each cluster.

        Nodes with a single child are left out. `polyseme.LabelHierarchy.from_nested` reads it.

        Parameters
        ----------
        clusters : LabelClusters
        names : sequence, optional
            What to call the labels; by default their numbers.
        """
        labels: list[Any] = clusters.labels.tolist()
        if names is not None:
            labels = [names[label] for label in labels]
        groups = _cut(labels, clusters.starts)
        for starts in reversed(self.levels):
            groups = [below[0] if len(below) == 1 else below for below in _cut(groups, starts)]
        return list(groups[0])

    def to_cluster_chain(self, clusters: LabelClusters) -> list[sp.csc_array]:
        """Return the tree as a cluster chain of PECOS, top first.

        Returns
        -------
        list of csc_array of float32
            For each level, which nodes are below which, shape (n_nodes_below, n_nodes); at last
            which labels are in which cluster, shape (n_labels, n_clusters).
        """
        chain = [
            sp.csc_array(
                (np.ones(starts[-1], dtype=np.float32), np.arange(starts[-1]), starts),
                shape=(int(starts[-1]), len(starts) - 1),
            )
            for starts in self.levels
        ]
        return [*chain, clusters.to_matrix().tocsc()]


def _cut(items: list[Any], starts: npt.NDArray[np.int64]) -> list[list[Any]]:
    bounds = starts.tolist()
    return [items[begin:end] for begin, end in pairwise(bounds)]


def most_levels(n_leaves: int, branching: int) -> int:
    """Return how deep an uneven tree may be: twice as deep as an even one, and a level more.

    Every level is one more for a document to pass, and a branch that ends early is drawn out to
    the last one.
    """
    n_levels = 0
    while branching**n_levels < n_leaves:
        n_levels += 1
    return 2 * n_levels + 1


def fan_outs_for(n_labels: int, branching: int, max_leaf_size: int) -> tuple[int, ...]:
    """Return the children of a node, by level from the root."""
    n_cuts = math.ceil(math.log2(max(1.0, n_labels / max_leaf_size)))
    cuts_per_level = max(1, int(math.log2(branching)))
    n_full, rest = divmod(n_cuts, cuts_per_level)
    return (2**rest,) * (rest > 0) + (2**cuts_per_level,) * n_full
