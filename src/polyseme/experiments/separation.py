"""How well the slots of a fused label tell its parts apart.

Every document of a fused label has a part (the label that it had before the fusion) and goes to a
slot. For each fused label this is a table of parts against slots, and there are three figures of
how much slots say about parts:

- *variation of information*, in bits: how much is not known of one from the other; 0 is best;
- *normalised mutual information*, by the mean of both entropies: 1 is best, 0 is nothing;
- *purity*: how often a document has the part that is most frequent in its slot; 1 is best.

Few documents look separated by chance alone. So each figure stands beside the one that would be
expected if the documents of a label were dealt out to its slots at random, with as many to each
slot as there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.inputs.labels import check_labels
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.partition.label_clusters import LabelClusters
from polyseme.senses.best_slots import best_slots

__all__ = ["FIGURES", "GoneTo", "Separation", "judge_separation", "where_documents_go"]

FIGURES = ("variation_of_information", "normalised_mutual_information", "purity")

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class GoneTo:
    """Pairs of a document and a fused label: the part it has, and the slot it goes to.

    Left out are labels with a single slot, and pairs with several parts at once: these belong to
    no single one.

    Attributes
    ----------
    document, fused_label, part, slot : ndarray of int64, shape (n_pairs,)
        The slot is that of the label's cluster which the matcher scores best for the document.
    score : ndarray of float64, shape (n_pairs,)
        Of that cluster.
    n_unreached : int
        Further pairs, of which no slot's cluster was matched.
    """

    document: Ints
    fused_label: Ints
    part: Ints
    slot: Ints
    score: Floats
    n_unreached: int = 0

    def only(self, kept: npt.NDArray[np.bool_]) -> GoneTo:
        """Return some of the pairs."""
        return GoneTo(
            document=self.document[kept],
            fused_label=self.fused_label[kept],
            part=self.part[kept],
            slot=self.slot[kept],
            score=self.score[kept],
        )


@dataclass(frozen=True)
class Separation:
    """Figures of the fused labels that have several slots and several parts.

    Attributes
    ----------
    fused_labels, n_documents : ndarray of int64, shape (n_judged,)
        The labels, ascending, and how many documents each was judged by.
    seen, by_chance : dict of str to ndarray of float64, shape (n_judged,)
        The figures of each label, and those of documents dealt out at random.
    """

    fused_labels: Ints
    n_documents: Ints
    seen: dict[str, Floats]
    by_chance: dict[str, Floats]

    @property
    def excess(self) -> Floats:
        """Normalised mutual information beyond chance, of each label."""
        name = "normalised_mutual_information"
        return self.seen[name] - self.by_chance[name]

    def means(self) -> dict[str, float]:
        """Return the means over labels, and those in which a label counts by its documents.

        Returns
        -------
        dict of str to float
            Under each name in `FIGURES`, and with ``_by_chance``, ``_weighted`` and
            ``_weighted_by_chance`` after it; not a number where no label could be judged.
        """
        found = {"n_judged": float(len(self.fused_labels))}
        for suffix, weights in (("", None), ("_weighted", self.n_documents)):
            for name in FIGURES:
                found[name + suffix] = _mean(self.seen[name], weights)
                found[name + suffix + "_by_chance"] = _mean(self.by_chance[name], weights)
        return found


def where_documents_go(
    matched: SparseRows, clusters: LabelClusters, Y: Any, fused_label: npt.ArrayLike
) -> GoneTo:
    """Find the slot of every pair of a document and one of its fused labels.

    Parameters
    ----------
    matched : SparseRows, shape (n_documents, n_clusters)
        The matcher's scores of the clusters in the beam.
    clusters : LabelClusters
        The slots of the fused labels.
    Y : sparse 0/1 matrix, shape (n_documents, n_labels)
        The labels before fusion.
    fused_label : array of int, shape (n_labels,)
        The fused label of each label.
    """
    numbers = np.asarray(fused_label, dtype=np.int64)
    parts, _ = check_labels(Y, matched.n_rows)
    document = np.repeat(np.arange(parts.n_rows), np.diff(parts.starts))
    part = parts.columns.astype(np.int64)
    pair = document * clusters.n_labels + numbers[part]
    pair, first, n_parts = np.unique(pair, return_index=True, return_counts=True)
    several = clusters.copies[pair % clusters.n_labels] > 1
    kept = several & (n_parts == 1)
    pair, part = pair[kept], part[first[kept]]

    document, label = np.divmod(pair, clusters.n_labels)
    slot, score = best_slots(matched, clusters, document, label)
    reached = slot >= 0
    return GoneTo(
        document=document[reached],
        fused_label=label[reached],
        part=part[reached],
        slot=slot[reached],
        score=score[reached],
        n_unreached=int(np.count_nonzero(~reached)),
    )


def judge_separation(
    gone: GoneTo, *, min_documents: int = 2, n_permutations: int = 20, seed: int = 0
) -> Separation:
    """Compare the parts of documents with the slots that they go to, label by label.

    Parameters
    ----------
    gone : GoneTo
    min_documents : int
        Labels with fewer documents are left out, and so are those with one part only.
    n_permutations : int
        How often documents are dealt out at random to find what chance would do.
    """
    known, label, n_documents = np.unique(
        gone.fused_label, return_inverse=True, return_counts=True
    )
    several_parts = np.bincount(_cells(label, gone.part)[0][0], minlength=len(known)) > 1
    chosen = several_parts & (n_documents >= min_documents)
    kept = chosen[label]
    label = (np.cumsum(chosen) - 1)[label[kept]]
    part, slot = gone.part[kept], gone.slot[kept]

    seen = _figures(label, part, slot)
    total = {name: np.zeros_like(values) for name, values in seen.items()}
    rng = np.random.default_rng(seed)
    in_order = np.argsort(label, kind="stable")
    for _ in range(n_permutations):
        dealt = np.empty_like(slot)
        dealt[in_order] = slot[np.lexsort((rng.random(len(slot)), label))]
        for name, values in _figures(label, part, dealt).items():
            total[name] += values
    return Separation(
        fused_labels=known[chosen],
        n_documents=n_documents[chosen],
        seen=seen,
        by_chance={name: values / n_permutations for name, values in total.items()},
    )


def _figures(label: Ints, part: Ints, slot: Ints) -> dict[str, Floats]:
    """Return the three figures of labels numbered from 0, each of which has several parts."""
    n_labels = int(label.max(initial=-1)) + 1
    n_documents = np.bincount(label, minlength=n_labels).astype(np.float64)

    def entropy(*keys: Ints) -> Floats:
        cells, counts = _cells(label, *keys)
        share = counts / n_documents[cells[0]]
        return _sum_by(cells[0], -share * np.log2(share), n_labels)

    def n_in_largest_parts() -> Floats:
        cells, counts = _cells(label, slot, part)
        starts = _starts_of_runs(cells[:2])
        largest = np.maximum.reduceat(counts, starts) if len(starts) else counts
        return _sum_by(cells[0, starts], largest, n_labels)

    of_parts, of_slots, of_both = entropy(part), entropy(slot), entropy(part, slot)
    shared = np.maximum(0, of_parts + of_slots - of_both)
    return {
        "variation_of_information": np.maximum(0, 2 * of_both - of_parts - of_slots),
        "normalised_mutual_information": np.minimum(1, shared / ((of_parts + of_slots) / 2)),
        "purity": n_in_largest_parts() / n_documents,
    }


def _cells(*keys: Ints) -> tuple[Ints, Ints]:
    """Return the different combinations of keys, in order, and how often each occurs.

    Returns
    -------
    cells : ndarray of int64, shape (n_keys, n_cells)
    counts : ndarray of int64, shape (n_cells,)
    """
    rows = np.stack(keys)
    rows = rows[:, np.lexsort(rows[::-1])]
    starts = _starts_of_runs(rows)
    return rows[:, starts], np.diff(np.append(starts, rows.shape[1]))


def _starts_of_runs(rows: Ints) -> Ints:
    """Return the columns that differ from the one before."""
    is_new = np.ones(rows.shape[1], dtype=bool)
    is_new[1:] = np.any(rows[:, 1:] != rows[:, :-1], axis=0)
    return np.flatnonzero(is_new)


def _sum_by(group: Ints, values: npt.NDArray[Any], n_groups: int) -> Floats:
    return np.bincount(group, values, n_groups).astype(np.float64)


def _mean(values: Floats, weights: Ints | None) -> float:
    return float(np.average(values, weights=weights)) if len(values) else float("nan")
