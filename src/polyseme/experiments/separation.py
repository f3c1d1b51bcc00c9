"""How well the slots of a fused label tell its parts apart.

Every document of a fused label has a part (the label that it had before the fusion) and goes to a
slot. For each fused label this is a table of parts against slots, and there are three figures of
how much slots say about parts:

- *variation of information*, in bits: how much is not known of one from the other; 0 is best;
- *normalised mutual information*, by the mean of both entropies: 1 is best, 0 is nothing;
- *purity*: how often a document has the part that is most frequent in its slot; 1 is best.

Few documents look separated by chance alone. So each figure stands beside the one that would be
expected if the documents of a label were dealt out to its slots at random, with as many to each
slot as there are. Senses are judged by the same figures, and by how often they are the right ones.
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

__all__ = [
    "FIGURES",
    "GoneTo",
    "Separation",
    "judge_naming",
    "judge_separation",
    "pairs_with_one_part",
    "where_documents_go",
]

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
        Where senses are judged, it is the sense.
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
    document, label, part = pairs_with_one_part(Y, fused_label)
    several = clusters.copies[label] > 1
    document, label, part = document[several], label[several], part[several]
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


def pairs_with_one_part(Y: Any, fused_label: npt.ArrayLike) -> tuple[Ints, Ints, Ints]:
    """Return the pairs of a document and a fused label of which it has exactly one part.

    Parameters
    ----------
    Y : sparse 0/1 matrix, shape (n_documents, n_labels)
        The labels before fusion.
    fused_label : array of int, shape (n_labels,)
        The fused label of each label.

    Returns
    -------
    document, fused_label, part : ndarray of int64, shape (n_pairs,)
        In the order of documents, then of fused labels.
    """
    numbers = np.asarray(fused_label, dtype=np.int64)
    parts, _ = check_labels(Y, int(Y.shape[0]))
    document = np.repeat(np.arange(parts.n_rows), np.diff(parts.starts))
    part = parts.columns.astype(np.int64)
    n_labels = int(numbers.max(initial=-1)) + 1
    pair, first, n_parts = np.unique(
        document * n_labels + numbers[part], return_index=True, return_counts=True
    )
    alone = n_parts == 1
    document, label = np.divmod(pair[alone], n_labels)
    return document, label, part[first[alone]]


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


def judge_naming(train: GoneTo, test: GoneTo) -> dict[str, float]:
    """Count how often the sense of a test document is that of its part.

    Senses stand for parts one to one, so that most training documents are right; a sense that is
    left over stands for none, and a label that was left whole for its largest part.

    Parameters
    ----------
    train, test : GoneTo
        Their `slot` is the sense.

    Returns
    -------
    dict of str to float
        ``right`` is the mean over the labels with test documents, ``right_by_chance`` what it
        would be with these documents dealt out to the senses at random, and
        ``right_by_documents`` counts every document alike.
    """
    labels = np.unique(test.fused_label)
    right, by_chance, n_documents = (np.zeros(len(labels)) for _ in range(3))
    of_train = np.split(*_by_label(train.fused_label, labels))[1::2]
    of_test = np.split(*_by_label(test.fused_label, labels))[1::2]
    for i, (known, new) in enumerate(zip(of_train, of_test, strict=True)):
        stands_for = _parts_of_senses(train.part[known], train.slot[known])
        named = np.array([stands_for.get(sense, -1) for sense in test.slot[new].tolist()])
        part, n_documents[i] = test.part[new], len(new)
        right[i] = np.mean(named == part)
        by_chance[i] = sum(np.mean(named == p) * np.mean(part == p) for p in np.unique(part))
    return {
        "right": _mean(right, None),
        "right_by_chance": _mean(by_chance, None),
        "right_by_documents": _mean(right, n_documents),
    }


def _by_label(label: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Return pairs in the order of labels, and where those of each wanted label begin and end."""
    order = np.argsort(label, kind="stable")
    ends = [np.searchsorted(label[order], wanted, side=side) for side in ("left", "right")]
    return order, np.stack(ends, axis=1).ravel()


def _parts_of_senses(part: Ints, sense: Ints) -> dict[int, int]:
    """Return the part that each sense of a label stands for, so that most documents are right."""
    from scipy.optimize import linear_sum_assignment

    (parts, row), (senses, column) = (np.unique(of, return_inverse=True) for of in (part, sense))
    table = np.zeros((len(parts), len(senses)))
    np.add.at(table, (row, column), 1)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return dict(zip(senses[columns].tolist(), parts[rows].tolist(), strict=True))


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


def _mean(values: Floats, weights: npt.NDArray[Any] | None) -> float:
    return float(np.average(values, weights=weights)) if len(values) else float("nan")
