"""Why a label was suggested: the way through the tree, the slots, and what each feature added."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.backbones.linear.weights import LinearWeights
from polyseme.inputs.features import check_features
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.partition.merging import merge_slots

if TYPE_CHECKING:
    from polyseme.estimators.xr_linear import XRLinear

__all__ = [
    "Contribution",
    "Explanation",
    "LabelExplanation",
    "Margin",
    "ReachedNode",
    "SlotExplanation",
    "Step",
    "explain",
]


@dataclass(frozen=True)
class Contribution:
    """What one feature of the document added to a margin: its value times its weight."""

    feature: int
    name: str | int
    value: float
    weight: float
    amount: float


@dataclass(frozen=True)
class Margin:
    """A classifier's answer: ``bias``, plus all amounts listed, plus ``rest``, is ``total``.

    Attributes
    ----------
    contributions : list of Contribution
        Those of largest magnitude first.
    rest : float
        What the features added that are not listed.
    """

    total: float
    bias: float
    contributions: list[Contribution]
    rest: float


@dataclass(frozen=True)
class ReachedNode:
    """A node that the beam kept."""

    node: int
    score: float


@dataclass(frozen=True)
class Step:
    """A node on the way from the root to a cluster; level 1 is just below the root."""

    level: int
    node: int
    score: float
    margin: Margin


@dataclass(frozen=True)
class SlotExplanation:
    """A slot that was reached; `score` is what it gives to the score of its label.

    The last step of `path` is the cluster itself.
    """

    slot: int
    cluster: int
    score: float
    margin: Margin
    path: list[Step]


@dataclass(frozen=True)
class LabelExplanation:
    """A label, its reached slots (best first), and its clusters that the beam did not keep.

    Attributes
    ----------
    score : float or None
        As `polyseme.XRLinear.predict_top_k` gives it; None for a label that was not reached.
    """

    label: int
    name: str | int
    score: float | None
    slots: list[SlotExplanation]
    not_reached: list[int]


@dataclass(frozen=True)
class Explanation:
    """What happened to one document.

    Attributes
    ----------
    levels : list of list of ReachedNode
        The nodes kept on each level below the root, best first; the last are the clusters. Empty
        where all labels are one cluster.
    labels : list of LabelExplanation
    """

    levels: list[list[ReachedNode]]
    labels: list[LabelExplanation]


def explain(
    model: XRLinear,
    X: Any,
    labels: Iterable[int] | None = None,
    *,
    n_labels: int = 5,
    n_features: int = 20,
) -> Explanation:
    """Explain the labels of one document.

    Only the weights of the document's own features are looked up, in the classifiers that are
    shown, so that this takes milliseconds whatever the number of labels.

    Parameters
    ----------
    model : XRLinear
    X : sparse matrix or array, shape (1, n_features)
    labels : iterable of int, optional
        The labels to explain; by default the best ones.
    n_labels : int
        How many of the best.
    n_features : int
        How many features of each classifier to list at most.
    """
    document = check_features(X, n_features=model.n_features_in_).all_sparse()
    if document.n_rows != 1:
        raise ValueError(f"X has {document.n_rows} rows; one document is explained at a time.")
    walk = _Walk(model, document)
    if labels is None:
        order = np.lexsort((walk.labels, -walk.label_scores))[:n_labels]
        chosen = walk.labels[order].tolist()
    else:
        chosen = list(dict.fromkeys(int(label) for label in labels))
        for label in chosen:
            if not 0 <= label < model.n_labels_:
                raise ValueError(
                    f"no label {label}: labels are numbered from 0 to {model.n_labels_ - 1}"
                )
    return Explanation(
        levels=[beam.best_first() for beam in walk.beams[1:]],
        labels=[walk.label_explanation(label, n_features) for label in chosen],
    )


@dataclass(frozen=True)
class _Scored:
    """Nodes of one level (or slots), ascending, with their scores and margins."""

    nodes: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]
    margins: npt.NDArray[np.float32]

    def best(self, n: int) -> _Scored:
        kept = np.sort(np.lexsort((self.nodes, -self.scores))[:n])
        return _Scored(self.nodes[kept], self.scores[kept], self.margins[kept])

    def best_first(self) -> list[ReachedNode]:
        order = np.lexsort((self.nodes, -self.scores))
        pairs = zip(self.nodes[order].tolist(), self.scores[order].tolist(), strict=True)
        return [ReachedNode(node, score) for node, score in pairs]

    def at(self, node: int) -> tuple[float, float] | None:
        """Return score and margin of a node, or None if it is not there."""
        i = int(np.searchsorted(self.nodes, node))
        if i == len(self.nodes) or self.nodes[i] != node:
            return None
        return float(self.scores[i]), float(self.margins[i])


class _Walk:
    """A document on its way down the tree, with everything that prediction throws away."""

    def __init__(self, model: XRLinear, document: SparseRows) -> None:
        self._model, self._document = model, document
        ranker = model.ranker_.weights
        assert ranker is not None
        self._ranker = ranker
        one = np.ones(1, dtype=np.float32)
        self.beams = [_Scored(np.zeros(1, dtype=np.int32), one, one)]
        for weights in model.matcher_.levels:
            self.beams.append(self._below(weights, self.beams[-1]).best(model.beam_size))
        self.slots = self._below(ranker, self.beams[-1])
        starts = np.array([0, len(self.slots.nodes)], dtype=np.int64)
        visited = SparseRows(starts, self.slots.nodes, self.slots.scores, model.clusters_.n_slots)
        merged = merge_slots(visited, model.clusters_, model.merge)
        self.labels, self.label_scores = merged.row(0)
        self._margin = cache(self._find_margin)  # labels share the upper part of their paths

    def _below(self, weights: LinearWeights, parents: _Scored) -> _Scored:
        """Score all children of some nodes."""

        def scored(activation: str) -> tuple[Any, Any]:
            starts = np.array([0, len(parents.nodes)], dtype=np.int64)
            reached = SparseRows(starts, parents.nodes, parents.scores, weights.level.n_clusters)
            _, nodes, scores = _native.score_matched(
                weights.level, self._document, reached, activation, 1, None
            )
            return nodes, scores

        nodes, scores = scored(self._model.activation)
        return _Scored(nodes, scores, scored("none")[1])

    def label_explanation(self, label: int, n_features: int) -> LabelExplanation:
        model = self._model
        reached, not_reached = [], []
        for slot in model.clusters_.slots_of(label).tolist():
            cluster = int(model.clusters_.cluster_of_slot[slot])
            found = self.slots.at(slot)
            if found is None:
                not_reached.append(cluster)
                continue
            score, total = found
            margin = self._margin(self._ranker, cluster, slot, total, n_features)
            path = self._path_to(cluster, n_features)
            reached.append(SlotExplanation(slot, cluster, score, margin, path))
        reached.sort(key=lambda slot: (-slot.score, slot.slot))
        i = int(np.searchsorted(self.labels, label))
        merged = float(self.label_scores[i]) if reached else None
        name = label if model.label_names_ is None else model.label_names_[label]
        return LabelExplanation(label, name, merged, reached, not_reached)

    def _path_to(self, cluster: int, n_features: int) -> list[Step]:
        tree, steps, node = self._model.tree_, [], cluster
        for level in range(tree.n_levels, 0, -1):
            parent = node // tree.fan_outs[level - 1]
            found = self.beams[level].at(node)
            assert found is not None  # a cluster is reached through its own ancestors
            score, total = found
            weights = self._model.matcher_.levels[level - 1]
            margin = self._margin(weights, parent, node, total, n_features)
            steps.append(Step(level, node, score, margin))
            node = parent
        return steps[::-1]

    def _find_margin(
        self, weights: LinearWeights, cluster: int, slot: int, total: float, n_features: int
    ) -> Margin:
        columns, values = self._document.row(0)
        features, found = weights.slot_weights(cluster, slot, columns)
        own = values[np.searchsorted(columns, features)]
        amounts = own.astype(np.float64) * found
        order = np.lexsort((features, -np.abs(amounts)))
        names = self._model.feature_names_
        listed = [
            Contribution(
                feature=int(features[i]),
                name=int(features[i]) if names is None else names[int(features[i])],
                value=float(own[i]),
                weight=float(found[i]),
                amount=float(amounts[i]),
            )
            for i in order[:n_features]
        ]
        rest = float(amounts[order[n_features:]].sum())
        return Margin(total, float(weights.bias[slot]), listed, rest)
