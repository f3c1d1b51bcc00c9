"""Labels that are made up for the judge to learn from: two fused, or with documents at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.senses.splits import MAX_DOCUMENTS, SenseSpace, groups_of

__all__ = ["coherence_by_chance", "fuse_on_purpose"]

N_FUSED = 600
N_SHUFFLED = 200  # labels with documents at random
SELDOM = 0.95
FEWEST_TO_FUSE = 5  # documents of a label that is fused with another


def fuse_on_purpose(
    counts: npt.NDArray[Any], labels: npt.NDArray[Any], rng: np.random.Generator
) -> list[list[int]]:
    """Choose pairs of labels that have as many documents together as labels have at large.

    Parameters
    ----------
    counts : ndarray of int, shape (n_labels,)
        Documents of all labels.
    labels : ndarray of int
        Those that are judged; their sizes are wanted. Others of them, and smaller ones, are fused.
    """
    if len(labels) < 2:
        return []
    smaller = np.flatnonzero((counts >= FEWEST_TO_FUSE) & (counts < counts[labels].min()))
    known = np.concatenate([smaller, labels])
    known = known[np.lexsort((known, counts[known]))]
    sizes = counts[known]

    def some_label_of(least: float, most: float) -> int:
        first, last = np.searchsorted(sizes, [least, most + 1])
        if sizes[0] > most:  # all are larger
            return int(rng.choice(known))
        place = rng.integers(first, max(first + 1, last))
        return int(known[min(place, len(known) - 1)])

    pairs = []
    for size in rng.choice(counts[labels], N_FUSED // 2):
        least = max(FEWEST_TO_FUSE, size // 8)
        one = some_label_of(least, max(least, size - least))
        rest = max(FEWEST_TO_FUSE, size - counts[one])
        other = some_label_of(0.8 * rest, 1.25 * rest)
        if one != other:
            pairs.append(sorted((one, other)))
    return pairs


def coherence_by_chance(
    space: SenseSpace, labels: npt.NDArray[Any], rng: np.random.Generator
) -> dict[str, Any]:
    """Return how much the parts of labels with documents at random seldom have in common."""
    if len(labels) == 0:
        return {}
    n_documents, n_labels = space.labels_of.shape
    counts_of = np.minimum(space.counts[labels], MAX_DOCUMENTS)
    smallest, largest = np.log([counts_of.min(), counts_of.max()])
    found, sizes = [], []
    for _ in range(-(-N_SHUFFLED // len(labels))):
        chosen = np.sort(rng.choice(labels, min(len(labels), N_SHUFFLED), replace=False))
        counts = np.zeros(n_labels, dtype=np.int64)
        # Of all sizes alike, since large ones have less in common by chance.
        counts[chosen] = np.exp(rng.uniform(smallest, largest, len(chosen)))
        drawn = [np.sort(rng.choice(n_documents, n, replace=False)) for n in counts[chosen]]
        shuffled = SparsePattern(
            np.append(0, np.cumsum(counts)), np.concatenate(drawn).astype(np.int32), n_documents
        )
        groups = groups_of([[label] for label in chosen.tolist()], n_labels)
        splits = space.split(groups, shuffled)
        found.append(splits.coherence)
        sizes.append(splits.sizes)
    coherence, size = np.concatenate(found), np.concatenate(sizes)
    borders = np.unique(np.quantile(size, np.arange(8) / 8, method="lower"))  # none is empty
    place = np.searchsorted(borders, size, side="right") - 1
    least = [np.quantile(coherence[place == i], SELDOM) for i in range(len(borders))]
    return {"sizes": tuple(borders.tolist()), "least_coherent": tuple(map(float, least))}
