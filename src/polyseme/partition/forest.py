"""Several trees over the same labels, as one: a label has its slots in each of them.

The nodes just below the root are the roots of the trees. Every document goes to all of these, and
each has an equal share of its score, so that what a label gets in all trees together is the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree

__all__ = ["grow_forest", "plant_together"]

Grown = tuple[LabelTree, LabelClusters]
SEED_STEP = 0x9E3779B1  # far apart, so that neighbouring seeds of users do not share trees


def grow_forest(grow: Callable[[int, Run], Grown], n_trees: int, run: Run) -> Grown:
    """Grow trees with seeds of their own; a single one is as it would be without a forest.

    Parameters
    ----------
    grow : callable
        Builds a tree and its clusters, given its number and a run with a seed of its own.
    n_trees : int
    run : Run
        Progress counts the labels of all trees.
    """
    grown: list[Grown] = []
    for number in range(n_trees):
        n_done = sum(clusters.n_labels for _, clusters in grown)
        seed = (run.seed + number * SEED_STEP) % 2**31 if number else run.seed
        grown.append(grow(number, replace(run.counting_from(n_done), seed=seed)))
    trees, clusters = zip(*grown, strict=True)
    return plant_together(trees), LabelClusters.stack(clusters)


def plant_together(trees: Sequence[LabelTree]) -> LabelTree:
    """Return trees over the same labels as one; a single tree as it is."""
    if len(trees) == 1:
        return trees[0]
    n_levels = max(tree.n_levels for tree in trees)
    trees = [_deepened(tree, n_levels) for tree in trees]
    levels = [np.array([0, len(trees)], dtype=np.int64)]
    for level in range(n_levels):
        sizes = [np.diff(tree.levels[level]) for tree in trees]
        levels.append(np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64))
    return LabelTree(tuple(levels), n_trees=len(trees))


def _deepened(tree: LabelTree, n_levels: int) -> LabelTree:
    """Return the tree with leaves so far down: a branch goes on with single children."""
    single = np.arange(tree.n_clusters + 1, dtype=np.int64)
    return LabelTree(tree.levels + (single,) * (n_levels - tree.n_levels))
