"""How good a ranking of labels is. Every figure is a percentage, as in published tables.

The predictions are the label array of ``predict_top_k``: one row per document, best label first,
padded with -1. The truth is a documents x labels matrix: SciPy sparse, dense, or anything with
``indptr``, ``indices`` and ``shape``; what is not zero is true.

A document without a true label counts as 0 in P@k and nDCG@k, as in published tools; recall and
F1 are means over the documents that have labels. Where there is nothing to measure, a figure is 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.inputs.sound_matrices import sound_matrix
from polyseme.partition.co_occurrence import count_reached
from polyseme.partition.label_clusters import LabelClusters

__all__ = [
    "Propensities",
    "evaluate",
    "f1_at_k",
    "hierarchical_scores",
    "hits",
    "ndcg_at_k",
    "precision_at_k",
    "propensities",
    "psndcg_at_k",
    "psp_at_k",
    "reach",
    "recall_at_k",
]

ROWS_AT_ONCE = 4096

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Propensities:
    """How likely a true label is to be in the data at all; rare labels are forgotten more often.

    Attributes
    ----------
    inverse : ndarray of float64, shape (n_labels,)
        1 / propensity: the gain of a hit.
    a, b : float
        The constants they were computed with.
    n_documents : int
        Number of training documents.
    """

    inverse: Floats
    a: float
    b: float
    n_documents: int

    def __str__(self) -> str:
        return f"propensities with A={self.a:g}, B={self.b:g}, N={self.n_documents}"


def propensities(
    label_counts: npt.ArrayLike, n_documents: int, *, a: float = 0.55, b: float = 1.5
) -> Propensities:
    """Estimate propensities from the training set (the model of Jain et al., 2016).

    1 / p_l = 1 + C (N_l + B)^-A with C = (ln N - 1)(B + 1)^A.

    Parameters
    ----------
    label_counts : array of shape (n_labels,)
        In how many training documents each label occurs (N_l).
    n_documents : int
        Number of training documents (N).
    a, b : float
        0.6 and 2.6 for Amazon-670K and Amazon-3M, 0.5 and 0.4 for WikiLSHTC-325K and
        Wikipedia-500K, 0.55 and 1.5 for everything else.
    """
    counts = np.asarray(label_counts, dtype=np.float64)
    if counts.ndim != 1 or not np.all(counts >= 0):
        raise ValueError("label_counts must be one array of counts, none of them negative")
    if n_documents < 1 or np.any(counts > n_documents):
        raise ValueError(f"n_documents is {n_documents}, less than a label occurs or less than 1")
    if not (np.isfinite([a, b]).all() and a >= 0 and b > 0):
        raise ValueError(f"propensities need a >= 0 and b > 0, not a={a} and b={b}")
    # Below e documents the formula turns negative; then all labels count the same.
    scale = max(np.log(n_documents) - 1, 0.0) * (b + 1) ** a
    return Propensities(1 + scale * (counts + b) ** -a, float(a), float(b), int(n_documents))


def evaluate(
    top_labels: npt.ArrayLike,
    Y_true: Any,
    *,
    ks: Iterable[int] = (1, 3, 5),
    recall_ks: Iterable[int] | None = None,
    propensities: Propensities | None = None,
) -> dict[str, float]:
    """Measure predictions by the metrics of published tables.

    Parameters
    ----------
    top_labels : array of int, shape (n_documents, at least the largest k)
        Best label first, padded with -1.
    Y_true : documents x labels matrix
    ks : iterable of int
        Where to cut the ranking.
    recall_ks : iterable of int, optional
        Where to cut it for recall; `ks`, and 10 if `top_labels` has that many columns.
    propensities : Propensities, optional
        With them PSP@k and PSnDCG@k are measured too.

    Returns
    -------
    dict of str to float
        Percentages under ``P@k``, ``nDCG@k``, ``R@k``, ``PSP@k``, ``PSnDCG@k``.
    """
    ranking = _Ranking.judge(top_labels, Y_true)
    ks = list(ks)
    if recall_ks is None:
        recall_ks = [*ks, 10] if ranking.n_columns >= 10 and 10 not in ks else ks
    figures = {f"P@{k}": ranking.precision(k) for k in ks}
    figures |= {f"nDCG@{k}": ranking.ndcg(k) for k in ks}
    figures |= {f"R@{k}": ranking.recall(k) for k in recall_ks}
    if propensities is not None:
        weighted = _WeightedRanking.weigh(ranking, propensities)
        figures |= {f"PSP@{k}": weighted.psp(k) for k in ks}
        figures |= {f"PSnDCG@{k}": weighted.psndcg(k) for k in ks}
    return figures


def precision_at_k(top_labels: npt.ArrayLike, Y_true: Any, k: int) -> float:
    """Return the mean share of true labels among the first `k`."""
    return _Ranking.judge(top_labels, Y_true).precision(k)


def recall_at_k(top_labels: npt.ArrayLike, Y_true: Any, k: int) -> float:
    """Return the mean share of a document's labels that are among the first `k`."""
    return _Ranking.judge(top_labels, Y_true).recall(k)


def f1_at_k(top_labels: npt.ArrayLike, Y_true: Any, k: int) -> float:
    """Return the mean F1 of the first `k`, each document's own, all `k` taken as suggested."""
    return _Ranking.judge(top_labels, Y_true).f1(k)


def ndcg_at_k(top_labels: npt.ArrayLike, Y_true: Any, k: int) -> float:
    """Return the mean discounted gain of the first `k`, each relative to its best possible one.

    A hit at place i gains 1 / log2(i + 1); a document with fewer than `k` labels can be perfect.
    """
    return _Ranking.judge(top_labels, Y_true).ndcg(k)


def psp_at_k(top_labels: npt.ArrayLike, Y_true: Any, k: int, propensities: Propensities) -> float:
    """Return propensity-scored precision: hits gain 1 / propensity.

    It is a ratio of means: the mean gain of the first `k` over documents, divided by the mean
    gain of the best possible rankings.
    """
    ranking = _Ranking.judge(top_labels, Y_true)
    return _WeightedRanking.weigh(ranking, propensities).psp(k)


def psndcg_at_k(
    top_labels: npt.ArrayLike, Y_true: Any, k: int, propensities: Propensities
) -> float:
    """Return propensity-scored nDCG, like PSP a ratio of means.

    Both means are of discounted gains, each divided by the largest sum of discounts that a
    document with so many labels can reach.
    """
    ranking = _Ranking.judge(top_labels, Y_true)
    return _WeightedRanking.weigh(ranking, propensities).psndcg(k)


def reach(matched: Any, clusters: LabelClusters, Y_true: Any, *, n_threads: int = 1) -> float:
    """Return how many of the true labels the ranker gets to see.

    Parameters
    ----------
    matched : sparse matrix, shape (n_documents, n_clusters)
        What is stored is matched.
    clusters : LabelClusters
    Y_true : documents x labels matrix
    n_threads : int

    Returns
    -------
    float
        Percentage of the true (document, label) pairs that are reached: the label has a cluster
        among those that the document was matched to.
    """
    Y = _truth(Y_true)
    return _percentage(count_reached(Y, matched, clusters, n_threads=n_threads), Y.nnz)


def hierarchical_scores(Y_suggested: Any, Y_true: Any, ancestors: Any) -> dict[str, float]:
    """Compare labels together with all that is broader, so that a near miss counts in part.

    The sets of each document, suggested and true, are joined by the ancestors of their labels,
    and pairs of document and concept are counted over all documents (the hierarchical precision
    and recall of Kiritchenko et al., 2006).

    Parameters
    ----------
    Y_suggested, Y_true : documents x labels matrices
    ancestors : labels x concepts matrix
        Which concepts each label stands for: itself, and all above it.

    Returns
    -------
    dict of str to float
        Percentages under ``precision``, ``recall`` and ``f1``.
    """
    suggested, truth, above = map(_truth, (Y_suggested, Y_true, ancestors))
    if suggested.shape != truth.shape or truth.shape[1] != above.shape[0]:
        raise ValueError(
            f"suggested labels have shape {suggested.shape}, true ones {truth.shape}, and there "
            f"are ancestors of {above.shape[0]} labels; they do not belong together"
        )
    n_both = n_suggested = n_true = 0
    for first in range(0, truth.shape[0], ROWS_AT_ONCE):
        rows = slice(first, first + ROWS_AT_ONCE)
        wide, right = ((part[rows] @ above).astype(bool) for part in (suggested, truth))
        n_both += wide.multiply(right).nnz
        n_suggested, n_true = n_suggested + wide.nnz, n_true + right.nnz
    return {
        "precision": _percentage(n_both, n_suggested),
        "recall": _percentage(n_both, n_true),
        "f1": _percentage(2 * n_both, n_suggested + n_true),
    }


def hits(top_labels: npt.ArrayLike, Y_true: Any) -> npt.NDArray[np.bool_]:
    """Return which predictions are right.

    Parameters
    ----------
    top_labels : array of int, shape (n_documents, k)
        Best label first, padded with -1.
    Y_true : documents x labels matrix

    Returns
    -------
    ndarray of bool, shape (n_documents, k)
    """
    return _Ranking.judge(top_labels, Y_true).hits


@dataclass(frozen=True)
class _Ranking:
    """Predictions held against the truth."""

    top_labels: npt.NDArray[np.int64]
    hits: npt.NDArray[np.bool_]
    Y: sp.csr_array

    @classmethod
    def judge(cls, top_labels: npt.ArrayLike, Y_true: Any) -> _Ranking:
        top = np.asarray(top_labels)
        Y = _truth(Y_true)
        _check(top, Y)
        top = top.astype(np.int64, copy=False)
        documents = np.arange(Y.shape[0], dtype=np.int64)[:, np.newaxis]
        true_keys = _row_of_entry(Y) * Y.shape[1] + Y.indices
        hits = _is_in(documents * Y.shape[1] + top, true_keys) & (top >= 0)
        return cls(top, hits, Y)

    @property
    def n_columns(self) -> int:
        return int(self.top_labels.shape[1])

    @property
    def n_documents(self) -> int:
        return int(self.top_labels.shape[0])

    @cached_property
    def n_true(self) -> npt.NDArray[np.int64]:
        counts: npt.NDArray[np.int64] = np.diff(self.Y.indptr).astype(np.int64)
        return counts

    def precision(self, k: int) -> float:
        return _percentage(np.count_nonzero(self.first_hits(k)), self.n_documents * k)

    def recall(self, k: int) -> float:
        found = self.first_hits(k).sum(axis=1) / np.maximum(self.n_true, 1)
        return _percentage(found.sum(), np.count_nonzero(self.n_true))

    def f1(self, k: int) -> float:
        n_hits = self.first_hits(k).sum(axis=1)
        return _percentage((2 * n_hits / (k + self.n_true)).sum(), np.count_nonzero(self.n_true))

    def ndcg(self, k: int) -> float:
        gains = self.first_hits(k) @ _discounts(k) / self.largest_discounts(k)
        return _percentage(gains.sum(), self.n_documents)

    def largest_discounts(self, k: int) -> Floats:
        """Sum of discounts of a ranking that has all labels of a document first."""
        sums: Floats = np.cumsum(_discounts(k))
        return sums[np.clip(self.n_true, 1, k) - 1]

    def first_hits(self, k: int) -> npt.NDArray[np.bool_]:
        self.check_k(k)
        return self.hits[:, :k]

    def check_k(self, k: int) -> None:
        if not 1 <= k <= self.n_columns:
            raise ValueError(
                f"k is {k}, but top_labels has {self.n_columns} columns; k must be at least 1,"
                " and the predictions must be made with at least the same k"
            )


@dataclass(frozen=True)
class _WeightedRanking:
    """A judged ranking whose hits gain 1 / propensity."""

    ranking: _Ranking
    gains: Floats  # of the predictions, zero for a miss
    best_gains: Floats  # of all true pairs, in the order of the best ranking of each document
    best_document: npt.NDArray[np.int64]
    best_place: npt.NDArray[np.int64]

    @classmethod
    def weigh(cls, ranking: _Ranking, propensities: Propensities) -> _WeightedRanking:
        Y, inverse = ranking.Y, propensities.inverse
        if len(inverse) != Y.shape[1]:
            raise ValueError(f"propensities are of {len(inverse)} labels, Y_true of {Y.shape[1]}")
        document = _row_of_entry(Y)
        best_gains = inverse[Y.indices]
        best_gains = best_gains[np.lexsort((-best_gains, document))]
        place = np.arange(len(document)) - np.asarray(Y.indptr)[document]
        gains = ranking.hits * inverse[ranking.top_labels]
        return cls(ranking, gains, best_gains, document, place)

    def psp(self, k: int) -> float:
        found = self._first_gains(k)
        return _percentage(found.sum(), self.best_gains[self.best_place < k].sum())

    def psndcg(self, k: int) -> float:
        largest = self.ranking.largest_discounts(k)
        found = self._first_gains(k) @ _discounts(k) / largest
        within = self.best_place < k
        best = self.best_gains[within] * _discounts(k)[self.best_place[within]]
        return _percentage(found.sum(), (best / largest[self.best_document[within]]).sum())

    def _first_gains(self, k: int) -> Floats:
        self.ranking.check_k(k)
        return self.gains[:, :k]


def _truth(Y_true: Any) -> sp.csr_array:
    """Return the true labels as canonical CSR without stored zeros; the input stays as it is."""
    if not sp.issparse(Y_true) and hasattr(Y_true, "indptr"):
        ones = np.ones(len(Y_true.indices), dtype=np.bool_)
        Y = sp.csr_array((ones, Y_true.indices, Y_true.indptr), shape=Y_true.shape)
    elif np.ndim(Y_true) != 2:
        raise ValueError("Y_true must be a documents x labels matrix")
    elif sp.issparse(Y_true):
        Y = sound_matrix(Y_true, "Y_true")
        if Y.dtype.kind not in "biuf":
            raise ValueError(f"Y_true must hold numbers, but has dtype {Y.dtype}")
        Y = sp.csr_array(Y)
    else:
        Y = sp.csr_array(Y_true)
    if not Y.has_canonical_format or not np.all(Y.data):
        Y = Y.copy()
        Y.sum_duplicates()
        Y.eliminate_zeros()
    return Y


def _check(top: npt.NDArray[Any], Y: sp.csr_array) -> None:
    if top.ndim != 2 or not np.issubdtype(top.dtype, np.integer):
        raise ValueError("top_labels must be a 2-D array of label numbers, padded with -1")
    if len(top) != Y.shape[0]:
        raise ValueError(f"top_labels has {len(top)} documents, Y_true has {Y.shape[0]}")
    if top.size and (top.min() < -1 or top.max() >= Y.shape[1]):
        raise ValueError(f"top_labels must be -1 or label numbers below {Y.shape[1]}")
    ordered = np.sort(top, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    if twice.any():
        raise ValueError(f"top_labels has a label twice in row {int(np.argwhere(twice)[0, 0])}")


def _row_of_entry(matrix: sp.csr_array) -> npt.NDArray[np.int64]:
    """Return the row of each stored entry."""
    return np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))


def _is_in(keys: npt.NDArray[np.int64], ascending: npt.NDArray[np.int64]) -> Any:
    if len(ascending) == 0:
        return np.zeros(keys.shape, dtype=np.bool_)
    place = np.searchsorted(ascending, keys)
    return ascending[np.minimum(place, len(ascending) - 1)] == keys


def _discounts(k: int) -> Floats:
    return 1 / np.log2(np.arange(2, k + 2))


def _percentage(part: Any, whole: Any) -> float:
    return 100 * float(part) / float(whole) if whole else 0.0
