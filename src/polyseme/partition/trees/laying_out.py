"""From nodes that know their parents, with labels at any of them, to a tree and its clusters."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree

__all__ = ["laid_out", "one_of_a_cycle"]

MOST_LEVELS = 64  # a document passes each of them

_Numbers: TypeAlias = npt.NDArray[np.int64]


def one_of_a_cycle(parents: _Numbers) -> int | None:
    """Return a node that is above itself, if there is one: no way from the top leads to it."""
    is_reached = np.zeros(len(parents), dtype=bool)
    for level in _by_level(parents):
        is_reached[level] = True
    if is_reached.all():
        return None
    node, met = int(np.flatnonzero(~is_reached)[0]), set()
    while node not in met:  # it may lie below the cycle
        met.add(node)
        node = int(parents[node])
    return node


def laid_out(
    parents: _Numbers, columns: _Numbers, nodes: _Numbers, n_labels: int
) -> tuple[LabelTree, LabelClusters]:
    """Return the tree without what holds no labels, and the clusters."""
    by_level = _by_level(parents)
    has_own = np.zeros(len(parents), dtype=bool)
    has_own[nodes] = True
    n_kept = np.zeros(len(parents), dtype=np.int64)  # children that hold labels
    for level in reversed(by_level[1:]):
        holding = level[has_own[level] | (n_kept[level] > 0)]
        np.add.at(n_kept, parents[holding], 1)
    # A node's own labels get a leaf of their own beside the nodes below.
    both = np.flatnonzero(has_own & (n_kept > 0))
    leaf_of = np.arange(len(parents))
    leaf_of[both] = len(parents) + np.arange(len(both))
    n_kept[both] += 1
    is_drawn = np.append(has_own | (n_kept > 0), np.ones(len(both), dtype=bool))
    # What has a single child and nothing else gives its place to it.
    is_drawn[: len(parents)] &= ~(~has_own & (n_kept == 1))
    above = np.concatenate([parents, both])
    place = np.arange(len(above))
    for level in by_level[1:]:
        skipped = level[~is_drawn[above[level]]]
        place[skipped] = place[above[skipped]]
        above[skipped] = above[above[skipped]]
    drawn = np.flatnonzero(is_drawn)
    drawn = drawn[np.argsort(place[drawn], kind="stable")]
    number = np.full(len(above) + 1, -1, dtype=np.int64)  # the last is nobody
    number[drawn] = np.arange(len(drawn))
    tops = number[above[drawn]]
    n_levels = len(_by_level(tops)) - 1
    if n_levels > MOST_LEVELS:
        raise ValueError(f"the hierarchy is {n_levels} levels deep; {MOST_LEVELS} are the most.")
    tree, cluster_of_node = LabelTree.from_parents(tops)
    cluster = cluster_of_node[number[leaf_of[nodes]]]
    slots = sp.coo_array((np.ones(len(cluster)), (columns, cluster)), (n_labels, tree.n_clusters))
    return tree, LabelClusters.from_matrix(slots)


def _by_level(parents: _Numbers) -> list[_Numbers]:
    """Return the nodes of each level, from the root down."""
    by_parent = np.argsort(parents, kind="stable")
    starts = np.searchsorted(parents[by_parent], np.arange(len(parents) + 1))
    levels = [np.flatnonzero(parents == -1)]
    while len(levels[-1]):
        begin, end = starts[levels[-1]], starts[levels[-1] + 1]
        sizes = end - begin
        offsets = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        levels.append(by_parent[np.repeat(begin, sizes) + offsets])
    return levels[:-1]
