"""The senses of a label: what sets its slots apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.protocols import Weighs
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels
from polyseme.inputs.names import name_of, number_of
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.senses.best_slots import best_slots
from polyseme.senses.words import Word, slot_words

if TYPE_CHECKING:
    from polyseme.estimators.partitioned import PartitionedClassifier as Model

__all__ = [
    "Sense",
    "Slot",
    "division_scores",
    "label_name",
    "label_number",
    "largest_labels",
    "most_split",
    "senses_of",
    "slot_similarity",
    "slots_differ",
    "slots_of",
    "split_order",
    "split_scores",
]

ENOUGH_TO_SPLIT = 10  # documents; the splits of rarer labels mean little
# Of slots that are called senses. The demo's labels with two true senses are nearly all below it,
# most of its other labels above.
MOST_SIMILAR_SENSES = 0.9


@dataclass(frozen=True)
class Sense:
    """One slot of a label.

    Attributes
    ----------
    slot, cluster : int
    share : float
        How many of the label's training documents were matched to the cluster when the slots
        were chosen, from 0 to 1. Shares of two senses may overlap: a document is matched to
        several clusters.
    strongest : list of (str or int, float)
        The features that speak most for the label here, by name if the model knows names, with
        their weights.
    neighbours : list of (str or int)
        The labels beside it in the cluster, those with most training documents first.
    documents : list of int
        Rows of the given data that have the label and whose best cluster among the label's is
        this one, surest first; empty if no data was given.
    examples : list of str
        Beginnings of texts that belong to it: those of `documents` where their texts are known,
        else those that the model keeps.
    """

    slot: int
    cluster: int
    share: float
    strongest: list[tuple[str | int, float]]
    neighbours: list[str | int]
    documents: list[int] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Slot:
    """What is known of one slot of a label, in numbers; see `Sense`."""

    slot: int
    cluster: int
    share: float
    words: list[Word]
    neighbours: list[int]


def label_number(model: Model, label: str | int) -> int:
    """Return the number of a label that is given by name, or by its number."""
    return number_of(label, model.label_names_, model.n_labels_)


def label_name(model: Model, label: int) -> str | int:
    """Return the name of a label, or its number where the model knows no names."""
    return name_of(model.label_names_, label)


def slots_of(model: Model, label: int, *, n_words: int, n_neighbours: int) -> list[Slot]:
    """Return the slots of a label, the one that covers most of its documents first.

    Parameters
    ----------
    n_words, n_neighbours : int
        How many of each to list at most.
    """
    n_documents = max(1, int(model.label_counts_[label]))
    slots = [
        Slot(
            slot=slot,
            cluster=int(model.clusters_.cluster_of_slot[slot]),
            share=float(model.slot_documents_[slot] / n_documents),
            words=slot_words(model, slot, n_words),
            neighbours=_neighbours(model, slot, n_neighbours),
        )
        for slot in model.clusters_.slots_of(label).tolist()
    ]
    return sorted(slots, key=lambda slot: (-slot.share, slot.slot))


def senses_of(
    model: Model,
    label: str | int,
    X: Any = None,
    Y: Any = None,
    *,
    n_features: int = 10,
    n_neighbours: int = 8,
    n_documents: int = 5,
) -> list[Sense]:
    """Describe each slot of a label.

    Parameters
    ----------
    model : estimator
    label : str or int
        A name, if the model has names, or a label's number.
    X, Y : optional
        Documents and their labels, usually the training data; if given, each sense lists
        documents of the label that belong to it.
    n_features, n_neighbours, n_documents : int
        How many of each to list at most.

    Returns
    -------
    list of Sense
        The one that covers most of the label first.
    """
    number = label_number(model, label)
    documents: dict[int, list[int]] = {}
    if X is not None and Y is not None:
        documents = _documents_of(model, number, X, Y, n_documents)
    return [
        Sense(
            slot=one.slot,
            cluster=one.cluster,
            share=one.share,
            strongest=[(word.name, word.weight) for word in one.words],
            neighbours=[label_name(model, other) for other in one.neighbours],
            documents=documents.get(one.slot, []),
        )
        for one in slots_of(model, number, n_words=n_features, n_neighbours=n_neighbours)
    ]


def slot_similarity(model: Model, label: int) -> float:
    """Return the cosine between the weights of a label's two slots that are least alike.

    1 for a label with one slot, and for slots without any weights.
    """
    ranker = model.ranker_
    if not isinstance(ranker, Weighs):
        return 1.0
    found = [ranker.weights_of(int(slot))[:2] for slot in model.clusters_.slots_of(label)]
    return min((_cosine(*a, *b) for a, b in combinations(found, 2)), default=1.0)


def slots_differ(model: Model, label: int) -> bool:
    """Return whether the words of a label's slots differ enough to call them senses.

    One word that gives the label away in all its senses can hide that they differ. Where no
    weights are known, nothing speaks against calling several slots senses.
    """
    if not isinstance(model.ranker_, Weighs):
        return bool(model.clusters_.copies[label] > 1)
    return slot_similarity(model, label) < MOST_SIMILAR_SENSES


def _cosine(
    columns_a: npt.NDArray[np.int32],
    values_a: npt.NDArray[np.float32],
    columns_b: npt.NDArray[np.int32],
    values_b: npt.NDArray[np.float32],
) -> float:
    if len(columns_a) == len(columns_b) == 0:
        return 1.0
    _, in_a, in_b = np.intersect1d(columns_a, columns_b, assume_unique=True, return_indices=True)
    lengths = float(np.linalg.norm(values_a) * np.linalg.norm(values_b))
    return float(values_a[in_a] @ values_b[in_b]) / lengths if lengths > 0 else 0.0


def split_scores(model: Model) -> npt.NDArray[np.float64]:
    """Return how evenly each label's documents fall into its slots, shape (n_labels,).

    One minus the share of the label's largest slot among the visits to all its slots: 0 for a
    label with one slot, or one whose documents all go to one; 0.5 for an even split in two.
    """
    clusters = model.clusters_
    visits = np.bincount(
        clusters.labels, weights=model.slot_documents_, minlength=clusters.n_labels
    )
    largest = np.zeros(clusters.n_labels)
    np.maximum.at(largest, clusters.labels, model.slot_documents_)
    return 1 - np.divide(largest, visits, out=np.ones_like(largest), where=visits > 0)


def most_split(
    model: Model, n: int = 10, *, min_documents: int = ENOUGH_TO_SPLIT
) -> list[tuple[str | int, float]]:
    """Return the labels whose documents are divided most between their slots.

    A label counts as divided by the documents that only one of its slots would reach: a label
    whose two clusters always come together in the beam has one sense in two places.

    Parameters
    ----------
    n : int
        How many labels to return.
    min_documents : int
        Labels with fewer training documents are left out: their splits mean little.

    Returns
    -------
    list of (name or number, float)
        With the score of `division_scores`, highest first.
    """
    scores = division_scores(model)
    order = split_order(model, scores, min_documents=min_documents)[:n]
    return [(label_name(model, int(label)), float(scores[label])) for label in order]


def split_order(
    model: Model,
    scores: npt.NDArray[np.float64],
    *,
    min_documents: int = ENOUGH_TO_SPLIT,
) -> npt.NDArray[np.int64]:
    """Return the labels that are divided, most divided first, then most frequent first.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_labels,)
        Those of `division_scores`.
    min_documents : int
        Labels with fewer training documents are left out.
    """
    counts = model.label_counts_
    divided = np.flatnonzero((scores > 0) & (counts >= min_documents))
    return divided[np.lexsort((divided, -counts[divided], -scores[divided]))]


def division_scores(model: Model) -> npt.NDArray[np.float64]:
    """Return `split_scores`, less where one document reaches several slots, shape (n_labels,)."""
    return split_scores(model) * _exclusive_share(model)


def _exclusive_share(model: Model) -> npt.NDArray[np.float64]:
    """Share of a label's documents that are surely not matched to all of its slots, 0 to 1."""
    clusters = model.clusters_
    smallest = np.full(clusters.n_labels, np.inf)
    np.minimum.at(smallest, clusters.labels, model.slot_documents_)
    shared_at_most = smallest / np.maximum(1, model.label_counts_)
    return np.where(clusters.copies > 1, 1 - np.minimum(1, shared_at_most), 0.0)


def _neighbours(model: Model, slot: int, n: int) -> list[int]:
    labels = largest_labels(model, int(model.clusters_.cluster_of_slot[slot]), n + 1)
    own = int(model.clusters_.labels[slot])
    return [label for label in labels if label != own][:n]


def largest_labels(model: Model, cluster: int, n: int) -> list[int]:
    """Return the labels of a cluster that have most training documents."""
    clusters = model.clusters_
    labels = clusters.labels[clusters.starts[cluster] : clusters.starts[cluster + 1]]
    order = np.lexsort((labels, -model.label_counts_[labels]))[:n]
    found: list[int] = labels[order].tolist()
    return found


def _documents_of(model: Model, label: int, X: Any, Y: Any, n: int) -> dict[int, list[int]]:
    """Return the rows with the label, surest first, under the slot that each goes to."""
    features = check_features(X, layout=model.layout_)
    if features.n_rows == 0:
        return {}
    known = None if model.label_names_ is None else list(model.label_names_)
    labels, _ = check_labels(Y, features.n_rows, label_names=known)
    rows = _rows_with(labels, label)
    if len(rows) == 0:
        return {}
    matched = model.match(features.take(rows))
    documents = np.arange(len(rows))
    slots, scores = best_slots(matched, model.clusters_, documents, np.full(len(rows), label))
    order = np.argsort(-scores, kind="stable")
    return {
        int(slot): rows[order[slots[order] == slot][:n]].tolist()
        for slot in np.unique(slots[slots >= 0])
    }


def _rows_with(labels: SparsePattern, label: int) -> npt.NDArray[np.int64]:
    entries = np.flatnonzero(labels.columns == label)
    return np.searchsorted(labels.starts, entries, side="right") - 1
