"""The words of slots and nodes: the features that speak most for them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from polyseme.backbones.protocols import Weighs
from polyseme.inputs.names import name_of

if TYPE_CHECKING:
    from polyseme.estimators.partitioned import PartitionedClassifier as Model

__all__ = [
    "Word",
    "level_words",
    "node_words",
    "slot_words",
]


class Word(NamedTuple):
    """A feature and its weight; `name` is its number where the model knows no names."""

    feature: int
    name: str | int
    weight: float


def slot_words(model: Model, slot: int, n: int) -> list[Word]:
    """Return the features that speak most for a slot, strongest first.

    None where the ranker has no weights to show.
    """
    if not isinstance(model.ranker_, Weighs):
        return []
    features, weights, _ = model.ranker_.weights_of(slot)
    return _strongest(model, features, weights, n)


def node_words(model: Model, level: int, node: int, n: int) -> list[Word]:
    """Return the features that speak most for a node of the tree; level 1 is below the root.

    None where the matcher has no weights to show.
    """
    if not isinstance(model.matcher_, Weighs):
        return []
    features, weights, _ = model.matcher_.weights_of(node, level)
    return _strongest(model, features, weights, n)


def level_words(model: Model, level: int, n: int) -> list[list[Word]]:
    """Return `node_words` of every node of a level; all at once are quickest."""
    tree = model.tree_
    if not isinstance(model.matcher_, Weighs) or not 0 < level <= tree.n_levels:
        return [[] for _ in range(tree.n_nodes(min(level, tree.n_levels)))]
    weights = model.matcher_.all_weights(level).to_scipy().tocsc()
    ends = weights.indptr
    return [
        _strongest(model, weights.indices[first:last], weights.data[first:last], n)
        for first, last in pairwise(ends)
    ]


def _strongest(
    model: Model, features: npt.NDArray[np.int32], values: npt.NDArray[np.float32], n: int
) -> list[Word]:
    if 0 < n < len(values):  # most are too weak to be worth sorting
        is_strong = values >= np.partition(values, -n)[-n]
        features, values = features[is_strong], values[is_strong]
    order = np.lexsort((features, -values))[:n]
    return [
        Word(feature, name_of(model.feature_names_, feature), weight)
        for feature, weight in zip(features[order].tolist(), values[order].tolist(), strict=True)
        if weight > 0
    ]
