"""Why a label was suggested: the way through the tree, the slots, and what each feature added."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.inputs.features import check_features
from polyseme.inputs.names import name_of, number_of
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.partition.merging import merge_slots
from polyseme.senses.describe import label_name
from polyseme.senses.tree_paths import parent_of, path_to
from polyseme.senses.words import matcher_weights, ranker_weights

if TYPE_CHECKING:
    from polyseme.backbones.linear.weights import LinearWeights
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
    """A node that the beam kept; without `score` where the matcher does not tell it."""

    node: int
    score: float | None


@dataclass(frozen=True)
class Step:
    """A node on the way from the root to a cluster; level 1 is just below the root.

    `score` and `margin` are None where the matcher does not tell them.
    """

    level: int
    node: int
    score: float | None
    margin: Margin | None


@dataclass(frozen=True)
class SlotExplanation:
    """A slot that was reached; `score` is what it gives to the score of its label.

    The last step of `path` is the cluster itself. `margin` is None where the ranker has no
    weights to show.
    """

    slot: int
    cluster: int
    score: float
    margin: Margin | None
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
    document = check_features(X, n_features=model.n_features_in_)
    if document.n_rows != 1:
        raise ValueError(f"X has {document.n_rows} rows; one document is explained at a time.")
    walk = _Walk(model, document)
    if labels is None:
        order = np.lexsort((walk.labels, -walk.label_scores))[:n_labels]
        chosen = walk.labels[order].tolist()
    else:
        chosen = list(dict.fromkeys(number_of(label, None, model.n_labels_) for label in labels))
    return Explanation(
        levels=[beam.best_first() for beam in walk.beams[1:]],
        labels=[walk.label_explanation(label, n_features) for label in chosen],
    )


@dataclass(frozen=True)
class _Scored:
    """Nodes of one level (or slots), ascending, with scores and margins as far as known."""

    nodes: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32] | None = None
    margins: npt.NDArray[np.float32] | None = None

    def best(self, n: int) -> _Scored:
        kept = np.sort(self._order()[:n])
        return _Scored(
            self.nodes[kept], *(_at(part, kept) for part in (self.scores, self.margins))
        )

    def best_first(self) -> list[ReachedNode]:
        return [
            ReachedNode(int(self.nodes[i]), _number(self.scores, i))
            for i in self._order().tolist()
        ]

    def _order(self) -> npt.NDArray[np.int64]:
        return np.lexsort((self.nodes,) if self.scores is None else (self.nodes, -self.scores))

    def at(self, node: int) -> tuple[float | None, float | None] | None:
        """Return score and margin of a node, or None if it is not there."""
        i = int(np.searchsorted(self.nodes, node))
        if i == len(self.nodes) or self.nodes[i] != node:
            return None
        return _number(self.scores, i), _number(self.margins, i)


def _at(part: npt.NDArray[Any] | None, places: npt.NDArray[np.int64]) -> npt.NDArray[Any] | None:
    return None if part is None else part[places]


def _number(part: npt.NDArray[Any] | None, i: int) -> float | None:
    return None if part is None else float(part[i])


class _Walk:
    """A document on its way down the tree, with everything that prediction throws away.

    Without weights there is what matcher and ranker themselves say: the clusters, the slots and
    their scores.
    """

    def __init__(self, model: XRLinear, document: SparseRows) -> None:
        self._model, self._document = model, document
        self._levels, self._ranker = matcher_weights(model), ranker_weights(model)
        self.beams = self._beams()
        self.slots = self._slots()
        assert self.slots.scores is not None
        starts = np.array([0, len(self.slots.nodes)], dtype=np.int64)
        visited = SparseRows(starts, self.slots.nodes, self.slots.scores, model.clusters_.n_slots)
        merged = merge_slots(visited, model.clusters_, model.merge)
        self.labels, self.label_scores = merged.row(0)
        self._margin = cache(self._find_margin)  # labels share the upper part of their paths

    def _beams(self) -> list[_Scored]:
        """Return the nodes that are kept on each level, the root included."""
        model, tree = self._model, self._model.tree_
        one = np.ones(1, dtype=np.float32)
        root = _Scored(np.zeros(1, dtype=np.int32), one, one)
        if self._levels is not None:
            beams = [root]
            for weights in self._levels:
                beams.append(self._below(weights, beams[-1]).best(model.beam_size))
            return beams
        matched = model.matcher_.match(self._document, model.beam_size)
        beams = [_Scored(*matched.row(0))]
        for level in range(tree.n_levels, 1, -1):
            above = {parent_of(tree, level, node) for node in beams[0].nodes.tolist()}
            beams.insert(0, _Scored(np.array(sorted(above), dtype=np.int32)))
        return [root, *beams] if tree.n_levels else beams

    def _slots(self) -> _Scored:
        matched = self.beams[-1]
        if self._ranker is not None:
            return self._below(self._ranker, matched)
        assert matched.scores is not None
        starts = np.array([0, len(matched.nodes)], dtype=np.int64)
        clusters = self._model.clusters_
        beam = SparseRows(starts, matched.nodes, matched.scores, clusters.n_clusters)
        return _Scored(*self._model.ranker_.score(self._document, beam, clusters).row(0))

    def _below(self, weights: LinearWeights, parents: _Scored) -> _Scored:
        """Score all children of some nodes."""
        assert parents.scores is not None
        parent_scores = parents.scores

        def scored(activation: str) -> tuple[Any, Any]:
            document = self._document
            _, nodes, scores = _native.score_matched(
                weights.level,
                document.starts,
                document.columns,
                document.values,
                document.n_columns,
                np.array([0, len(parents.nodes)], dtype=np.int64),
                parents.nodes,
                parent_scores,
                activation,
                1,
                None,
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
            assert score is not None
            margin = self._margin(self._ranker, cluster, slot, total, n_features)
            path = self._path_to(cluster, n_features)
            reached.append(SlotExplanation(slot, cluster, score, margin, path))
        reached.sort(key=lambda slot: (-slot.score, slot.slot))
        i = int(np.searchsorted(self.labels, label))
        merged = float(self.label_scores[i]) if reached else None
        return LabelExplanation(label, label_name(model, label), merged, reached, not_reached)

    def _path_to(self, cluster: int, n_features: int) -> list[Step]:
        steps, parent = [], 0
        if self._model.tree_.n_levels == 0:
            return []
        for level, node in enumerate(path_to(self._model.tree_, cluster), start=1):
            found = self.beams[level].at(node)
            assert found is not None  # a cluster is reached through its own ancestors
            score, total = found
            weights = None if self._levels is None else self._levels[level - 1]
            margin = self._margin(weights, parent, node, total, n_features)
            steps.append(Step(level, node, score, margin))
            parent = node
        return steps

    def _find_margin(
        self,
        weights: LinearWeights | None,
        cluster: int,
        slot: int,
        total: float | None,
        n_features: int,
    ) -> Margin | None:
        if weights is None or total is None:
            return None
        columns, values = self._document.row(0)
        features, found = weights.slot_weights(cluster, slot, columns)
        own = values[np.searchsorted(columns, features)]
        amounts = own.astype(np.float64) * found
        order = np.lexsort((features, -np.abs(amounts)))
        listed = [
            Contribution(
                feature=int(features[i]),
                name=name_of(self._model.feature_names_, int(features[i])),
                value=float(own[i]),
                weight=float(found[i]),
                amount=float(amounts[i]),
            )
            for i in order[:n_features]
        ]
        rest = float(amounts[order[n_features:]].sum())
        return Margin(total, float(weights.bias[slot]), listed, rest)
