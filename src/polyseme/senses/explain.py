"""Why a label was suggested: the way through the tree, slots, features, the order, the sense."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.protocols import Descends, Weighs
from polyseme.inputs.documents import Documents
from polyseme.inputs.features import check_features
from polyseme.inputs.names import name_of
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.run import Run
from polyseme.partition.merging import merge_slots
from polyseme.senses.evidence import SenseEvidence, sense_evidence
from polyseme.senses.explain_order import DocumentOrder, OrderExplanation
from polyseme.senses.slots import label_number
from polyseme.training.disentangle import what_the_ranker_sees
from polyseme.training.with_slots import check_has_slots

if TYPE_CHECKING:
    from polyseme.estimators.partitioned import PartitionedClassifier as Model

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

N_WORDS_SHOWN = 6

Entries = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]


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
    """A node that the beam kept; its score is None where the matcher tells only of clusters."""

    node: int
    score: float | None


@dataclass(frozen=True)
class Step:
    """A node on the way from the root to a cluster; level 1 is just below the root.

    The margin is None where the matcher has no weights.
    """

    level: int
    node: int
    score: float | None
    margin: Margin | None


@dataclass(frozen=True)
class SlotExplanation:
    """A slot that was reached; `score` is what it gives to the bare score of its label.

    The last step of `path` is the cluster itself. The margin is None where the ranker has no
    weights.
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
        As `polyseme.XRLinear.predict_top_k` gives it: a probability where the order of labels is
        learned, else the bare score; None for a label that was not reached.
    bare_score : float or None
        What the scores of its slots come to. It is no probability, and may exceed 1.
    order : OrderExplanation or None
        What the learned order made of it, if there is one and the label was reached.
    sense : SenseEvidence or None
        In which sense the document has it; only of a label that has several.
    """

    label: int
    name: str | int
    score: float | None
    bare_score: float | None
    slots: list[SlotExplanation]
    not_reached: list[int]
    order: OrderExplanation | None = None
    sense: SenseEvidence | None = None

    def __repr__(self) -> str:
        return f"<Explanation of {self.name!s} {_shown(self.score)}>"

    def __str__(self) -> str:
        """Say in a line what it is, and which words speak for and against it."""
        meant = "" if self.sense is None else f" ({self.sense.name})"
        margin = self.slots[0].margin if self.slots else None
        words = (
            ""
            if margin is None
            else ", ".join(
                f"{one.name!s} {one.amount:+.2f}" for one in margin.contributions[:N_WORDS_SHOWN]
            )
        )
        return f"{_shown(self.score)} {self.name!s}{meant}{': ' if words else ''}{words}"


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

    def __repr__(self) -> str:
        named = ", ".join(f"{one.name!s} {_shown(one.score)}" for one in self.labels)
        return f"<Explanation of {named or 'no label'}>"

    def __str__(self) -> str:
        return "\n".join(map(str, self.labels)) or "No label was reached."

    def _repr_html_(self) -> str:
        from polyseme.senses.explain_html import as_html

        return as_html(self)


def _shown(score: float | None) -> str:
    return "not reached" if score is None else f"{score:.3f}"


def explain(
    model: Model,
    X: Any,
    labels: Iterable[str | int] | None = None,
    *,
    n_labels: int = 5,
    n_features: int = 20,
) -> Explanation:
    """Explain the labels of one document.

    Only the weights of the document's own features are looked up, in the classifiers that are
    shown, so that this takes milliseconds whatever the number of labels.

    Parameters
    ----------
    model : estimator
    X : sparse matrix or array, shape (1, n_features)
    labels : iterable of str or int, optional
        The labels to explain, by name or number; by default the best ones.
    n_labels : int
        How many of the best.
    n_features : int
        How many features of each classifier to list at most.
    """
    check_has_slots(model)
    document = check_features(X, layout=model.layout_)
    if document.n_rows != 1:
        raise ValueError(f"X has {document.n_rows} rows; one document is explained at a time.")
    way = _Way(model, document, n_features)
    if labels is None:
        if not isinstance(n_labels, int | np.integer) or n_labels < 1:
            raise ValueError(f"n_labels must be a positive whole number, not {n_labels!r}.")
        chosen = list(way.scores)[:n_labels]
    else:
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            raise ValueError(f"labels must be a list of labels, not {labels!r}.")
        chosen = list(dict.fromkeys(_number_of(model, label) for label in labels))
    senses = sense_evidence(model, document, chosen, n_words=n_features)
    return Explanation(
        levels=way.levels,
        labels=[way.label_explanation(label, senses.get(label)) for label in chosen],
    )


def _number_of(model: Model, label: Any) -> int:
    """Return the number of a label that is given by it, or by name; a number is never a name."""
    if isinstance(label, str):
        return label_number(model, label)
    is_whole = isinstance(label, int | np.integer) and not isinstance(label, bool)
    if not is_whole or not 0 <= label < model.n_labels_:
        raise ValueError(
            f"no label {label!r}: labels are numbered from 0 to {model.n_labels_ - 1}"
        )
    return int(label)


class _Way:
    """The way of a document, with all that prediction throws away."""

    def __init__(self, model: Model, document: Documents, n_features: int) -> None:
        self._model, self._n_features = model, n_features
        run = model._run()
        self._beams = _beams(model, document, run)
        seen = what_the_ranker_sees(model.matcher_, document, run)
        of_path = seen if getattr(model.matcher_, "weighs_encoded", False) else document
        self._features, self._seen_features = _entries(of_path), _entries(seen)
        slots = model.ranker_.score(seen, self._beams[-1], model.clusters_, run)
        self._slot_scores = dict(zip(*(part.tolist() for part in slots.row(0)), strict=True))
        labels, merged = merge_slots(slots, model.clusters_, model.merge).row(0)
        best = np.lexsort((labels, -merged))
        self._bare_scores = dict(zip(labels[best].tolist(), merged[best].tolist(), strict=True))
        counted = model._counted()
        self._order = (
            None
            if counted is None
            else DocumentOrder(model, counted, document, self._beams[-1], slots)
        )
        self._node_scores = [
            dict(zip(*(part.tolist() for part in beam.row(0)), strict=True))
            for beam in self._beams
        ]
        self._step = cache(self._find_step)  # labels share the upper part of their paths

    @property
    def scores(self) -> dict[int, float]:
        """The scores of all labels that were reached, best first."""
        return self._bare_scores if self._order is None else self._order.scores

    @property
    def levels(self) -> list[list[ReachedNode]]:
        """The nodes of each level below the root, best first."""
        tree = self._model.tree_
        if tree.n_levels == 0:
            return []
        clusters = self._beams[-1].row(0)[0]
        untold = [
            [
                ReachedNode(node, None)
                for node in np.unique(tree.nodes_above(level)[clusters]).tolist()
            ]
            for level in range(1, tree.n_levels - len(self._beams) + 1)
        ]
        return untold + [_best_first(beam) for beam in self._beams]

    def label_explanation(self, label: int, sense: SenseEvidence | None) -> LabelExplanation:
        model = self._model
        reached, not_reached = [], []
        for slot in model.clusters_.slots_of(label).tolist():
            cluster = int(model.clusters_.cluster_of_slot[slot])
            if slot not in self._slot_scores:
                not_reached.append(cluster)
                continue
            path = model.tree_.path_to(cluster)
            reached.append(
                SlotExplanation(
                    slot,
                    cluster,
                    self._slot_scores[slot],
                    self._margin(model.ranker_, self._seen_features, slot),
                    [self._step(level, node) for level, node in enumerate(path, start=1)],
                )
            )
        reached.sort(key=lambda slot: (-slot.score, slot.slot))
        return LabelExplanation(
            label,
            name_of(model.label_names_, label),
            self.scores.get(label),
            self._bare_scores.get(label),
            reached,
            not_reached,
            self._order.explanation(label) if self._order is not None and reached else None,
            sense,
        )

    def _find_step(self, level: int, node: int) -> Step:
        # Nothing is known of levels that the matcher does not tell about.
        behind = self._model.tree_.n_levels - len(self._node_scores)
        scores = self._node_scores[level - 1 - behind] if level > behind else {}
        margin = self._margin(self._model.matcher_, self._features, node, level)
        return Step(level, node, scores.get(node), margin)

    def _margin(self, part: Any, entries: Entries, number: int, level: int = 0) -> Margin | None:
        if not isinstance(part, Weighs):
            return None
        columns, values = entries
        features, found, bias = part.weights_of(number, level, columns)
        own = values[np.searchsorted(columns, features)]
        amounts = own.astype(np.float64) * found
        order = np.lexsort((features, -np.abs(amounts)))
        names = self._model.feature_names_
        listed = [
            Contribution(
                feature=int(features[i]),
                name=name_of(names, int(features[i])),
                value=float(own[i]),
                weight=float(found[i]),
                amount=float(amounts[i]),
            )
            for i in order[: self._n_features]
        ]
        rest = float(amounts[order[self._n_features :]].sum())
        return Margin(bias + float(amounts.sum()), bias, listed, rest)


def _beams(model: Model, document: Documents, run: Run) -> list[SparseRows]:
    """Return the kept nodes of the levels that the matcher tells about; the last are clusters."""
    matcher = model.matcher_
    if isinstance(matcher, Descends) and model.tree_.n_levels > 0:
        return matcher.beams(document, model.beam_of_all_trees, run)
    return [matcher.match(document, model.beam_of_all_trees, run)]


def _best_first(beam: SparseRows) -> list[ReachedNode]:
    nodes, scores = beam.row(0)
    order = np.lexsort((nodes, -scores))
    pairs = zip(nodes[order].tolist(), scores[order].tolist(), strict=True)
    return [ReachedNode(node, score) for node, score in pairs]


def _entries(document: Documents) -> Entries:
    """Return the features of one document and their values, sparse and dense."""
    return document.all_sparse().row(0)
