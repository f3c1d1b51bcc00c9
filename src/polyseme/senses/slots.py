"""The slots of a label: where it is, what speaks for it there, how evenly it is divided.

Slots are chosen for reach. They are no senses: for these see `polyseme.senses.describe`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from polyseme.inputs.name_search import NameSearch
from polyseme.inputs.names import name_of, number_of
from polyseme.senses.words import Word, slot_words

if TYPE_CHECKING:
    from polyseme.estimators.partitioned import PartitionedClassifier as Model

__all__ = [
    "Slot",
    "division_scores",
    "label_name",
    "label_number",
    "largest_labels",
    "largest_slots",
    "slots_of",
    "split_order",
    "split_scores",
]

ENOUGH_TO_SPLIT = 10  # documents; the splits of rarer labels mean little


@dataclass(frozen=True)
class Slot:
    """What is known of one slot of a label.

    Attributes
    ----------
    slot, cluster : int
    share : float
        How many of the label's training documents were matched to the cluster when the slots
        were chosen, from 0 to 1. Shares of two slots may overlap: a document is matched to
        several clusters.
    words : list of Word
        The features that speak most for the label here.
    neighbours : list of int
        The labels beside it in the cluster, those with most training documents first.
    """

    slot: int
    cluster: int
    share: float
    words: list[Word]
    neighbours: list[int]


def label_number(model: Model, label: str | int, *, search: NameSearch | None = None) -> int:
    """Return the number of a label that is given by name, or by its number.

    Names are found in any case, without accents, without what stands in brackets, or by some of
    their words, unless several fit alike; `search` may know more of them.
    """
    return number_of(label, model.label_names_, model.n_labels_, search=search)


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
    return [
        Slot(
            slot=slot,
            cluster=int(model.clusters_.cluster_of_slot[slot]),
            share=float(model.slot_documents_[slot] / n_documents),
            words=slot_words(model, slot, n_words),
            neighbours=_neighbours(model, slot, n_neighbours),
        )
        for slot in largest_slots(model, label)
    ]


def largest_slots(model: Model, label: int) -> list[int]:
    """Return the slots of a label by number, the one that covers most of its documents first."""
    slots = model.clusters_.slots_of(label)
    order = np.lexsort((slots, -model.slot_documents_[slots]))
    found: list[int] = slots[order].tolist()
    return found


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


def split_order(
    model: Model,
    scores: npt.NDArray[np.float64],
    *,
    min_documents: int = ENOUGH_TO_SPLIT,
) -> npt.NDArray[np.int64]:
    """Return the labels with several slots, most divided first, then most frequent first.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_labels,)
        Those of `division_scores`.
    min_documents : int
        Labels with fewer training documents are left out.
    """
    counts = model.label_counts_
    found = np.flatnonzero((model.clusters_.copies > 1) & (counts >= min_documents))
    return found[np.lexsort((found, -counts[found], -scores[found]))]


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
