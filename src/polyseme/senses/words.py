"""The words of slots and nodes: the features that speak most for them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from polyseme.inputs.names import name_of
from polyseme.senses.tree_paths import parent_of

if TYPE_CHECKING:
    from polyseme.backbones.linear.weights import LinearWeights
    from polyseme.estimators.xr_linear import XRLinear

__all__ = [
    "Word",
    "level_words",
    "matcher_weights",
    "node_words",
    "ranker_weights",
    "slot_words",
]


class Word(NamedTuple):
    """A feature and its weight; `name` is its number where the model knows no names."""

    feature: int
    name: str | int
    weight: float


def slot_words(model: XRLinear, slot: int, n: int) -> list[Word]:
    """Return the features that speak most for a slot, strongest first.

    None where the ranker has no weights to show.
    """
    weights = ranker_weights(model)
    if weights is None:
        return []
    cluster = int(model.clusters_.cluster_of_slot[slot])
    return _strongest(model, *weights.slot_weights(cluster, slot), n)


def node_words(model: XRLinear, level: int, node: int, n: int) -> list[Word]:
    """Return the features that speak most for a node of the tree; level 1 is below the root.

    None where the matcher has no weights to show.
    """
    levels = matcher_weights(model)
    if levels is None:
        return []
    parent = parent_of(model.tree_, level, node)
    return _strongest(model, *levels[level - 1].slot_weights(parent, node), n)


def level_words(model: XRLinear, level: int, n: int) -> list[list[Word]]:
    """Return `node_words` of every node of a level; all at once are quickest."""
    levels = matcher_weights(model)
    if levels is None or not 0 < level <= len(levels):
        return [[] for _ in range(model.tree_.n_nodes(level))]
    weights = levels[level - 1].to_rows().to_scipy().tocsc()
    ends = weights.indptr
    return [
        _strongest(model, weights.indices[first:last], weights.data[first:last], n)
        for first, last in pairwise(ends)
    ]


def ranker_weights(model: XRLinear) -> LinearWeights | None:
    """Return the weights of the slots, if the ranker has any to show."""
    return getattr(model.ranker_, "weights", None)


def matcher_weights(model: XRLinear) -> list[LinearWeights] | None:
    """Return the weights of the nodes, a level of the tree each, if the matcher has any."""
    return getattr(model.matcher_, "levels", None)


def _strongest(
    model: XRLinear, features: npt.NDArray[np.int32], values: npt.NDArray[np.float32], n: int
) -> list[Word]:
    order = np.lexsort((features, -values))[:n]
    return [
        Word(feature, name_of(model.feature_names_, feature), weight)
        for feature, weight in zip(features[order].tolist(), values[order].tolist(), strict=True)
        if weight > 0
    ]
