"""The label trees by name."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree
from polyseme.partition.trees import balanced, huffman, k_means, shuffled

__all__ = ["TREES", "TreeBuilder", "TreeKind", "TreeShape"]


class TreeBuilder(Protocol):
    """A way to build a tree and its first clusters, with every label in exactly one."""

    def __call__(
        self,
        documents: Documents,
        Y: SparsePattern,
        branching: int,
        max_leaf_size: int,
        run: Run,
    ) -> tuple[LabelTree, LabelClusters]:
        """Build the tree; what it does not need it ignores."""


class TreeShape(Protocol):
    """The shape that a tree will have, or about that: estimates go by it."""

    def __call__(
        self, label_counts: npt.NDArray[np.int64], branching: int, max_leaf_size: int
    ) -> LabelTree:
        """Return the shape, from the number of documents of each label."""


class TreeKind(NamedTuple):
    """How a tree is built, and what to expect of it."""

    build: TreeBuilder
    expected_shape: TreeShape


TREES: dict[str, TreeKind] = {
    "balanced": TreeKind(balanced.build, balanced.expected_shape),
    "parabel": TreeKind(balanced.build_for_seen, balanced.expected_shape_for_seen),
    "k-means": TreeKind(k_means.build, k_means.expected_shape),
    "bonsai": TreeKind(k_means.build_shallow, k_means.expected_shape),
    "huffman": TreeKind(huffman.build, huffman.expected_shape),
    "random": TreeKind(shuffled.build, balanced.expected_shape),
}
