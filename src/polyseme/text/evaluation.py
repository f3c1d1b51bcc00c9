"""How good suggestions are: accuracy, rare and frequent labels, probabilities, the threshold."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme import metrics
from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.text.calibration import (
    Calibration,
    Cut,
    cut_for_f1,
    cut_for_precision,
    measure_cut,
    reliability,
)

__all__ = [
    "N_RANKED",
    "Judged",
    "accuracy_so_far",
    "by_label_frequency",
    "choose_cut",
    "cross_checked",
    "figures_of",
]

N_RANKED = 50  # labels per document that are judged and calibrated on
FREQUENCIES = (0, 1, 3, 10, 30, 100, 300, 1000, 10_000)


@dataclasses.dataclass(frozen=True, eq=False)
class Judged:
    """The ranked labels of documents, held against the truth.

    Attributes
    ----------
    labels : ndarray of int32, shape (n_documents, n_ranked)
        Best first, padded with -1.
    scores : ndarray of float32, shape (n_documents, n_ranked)
    Y : csr_array, shape (n_documents, n_labels or more)
        Columns beyond the model's labels are labels that it does not know.
    hits : ndarray of bool, shape (n_documents, n_ranked)
    """

    labels: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]
    Y: sp.csr_array
    hits: npt.NDArray[np.bool_]

    @classmethod
    def judge(
        cls, labels: npt.NDArray[np.int32], scores: npt.NDArray[np.float32], Y: sp.csr_array
    ) -> Judged:
        """Find out which labels are right."""
        return cls(labels, scores, Y, metrics.hits(labels, Y))

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.labels)

    @property
    def n_true(self) -> int:
        """All true pairs of document and label, found or not."""
        return int(self.Y.nnz)

    def pairs(self, calibration: Calibration) -> tuple[Any, Any]:
        """Return the probability of each suggested label and whether it is right, flat."""
        found = self.labels >= 0
        return calibration(self.scores[found]), self.hits[found]

    def accuracy(
        self, label_counts: npt.NDArray[Any], n_training: int, a: float, b: float
    ) -> dict[str, float]:
        """Return P@k, nDCG@k, R@k and, if training counts are known, their propensity kin."""
        n_unknown = self.Y.shape[1] - len(label_counts)
        counts = np.concatenate([label_counts, np.zeros(n_unknown, dtype=np.int64)])
        weights = metrics.propensities(counts, n_training, a=a, b=b) if n_training else None
        wide = max(0, 10 - self.labels.shape[1])  # fewer than ten labels in all
        top = np.pad(self.labels, ((0, 0), (0, wide)), constant_values=-1)
        return metrics.evaluate(top, self.Y, propensities=weights)

    def rows(self, chosen: npt.NDArray[np.bool_]) -> Judged:
        """Return some of the documents."""
        return Judged(self.labels[chosen], self.scores[chosen], self.Y[chosen], self.hits[chosen])

    def kept(
        self, calibration: Calibration, least: float | npt.NDArray[np.float64]
    ) -> npt.NDArray[np.bool_]:
        """Return which suggestions are as probable as all labels, or each of them, must be."""
        wanted = least if np.ndim(least) == 0 else np.asarray(least)[self.labels]
        return (self.labels >= 0) & (calibration(self.scores) >= wanted)

    def cut(self, calibration: Calibration, threshold: float) -> Cut:
        """Measure what is left above a threshold."""
        kept = self.kept(calibration, threshold)
        return measure_cut(kept, self.hits, threshold, n_true=self.n_true)

    def with_broader(
        self, calibration: Calibration, threshold: float, ancestors: sp.csr_array
    ) -> dict[str, float]:
        """Measure the same together with all that is broader; see `hierarchical_scores`.

        Parameters
        ----------
        ancestors : csr_array, shape (n_labels, n_concepts)
        """
        n_unknown = self.Y.shape[1] - ancestors.shape[0]
        if n_unknown:  # of these nobody knows more than themselves
            ancestors = sp.block_diag([ancestors, sp.eye_array(n_unknown)], format="csr")
        kept = (self.labels >= 0) & (calibration(self.scores) >= threshold)
        starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        ones = np.ones(starts[-1], dtype=np.float32)
        suggested = sp.csr_array((ones, self.labels[kept], starts), shape=self.Y.shape)
        return metrics.hierarchical_scores(suggested, self.Y, ancestors)


def choose_cut(judged: Judged, calibration: Calibration, precision: float | None) -> Cut:
    """Choose the threshold of best F1, or the lowest one that is as precise as wanted."""
    probabilities, hits = judged.pairs(calibration)
    if precision is None:
        threshold = cut_for_f1(probabilities, hits, n_true=judged.n_true)
    else:
        threshold = cut_for_precision(probabilities, hits, precision)
    return judged.cut(calibration, threshold)


def cross_checked(judged: Judged, *, are_probabilities: bool) -> dict[str, Any]:
    """Return the reliability of curves that were learned on the other half of documents."""
    found = judged.labels >= 0
    is_even = np.broadcast_to((np.arange(len(found)) % 2 == 0)[:, np.newaxis], found.shape)[found]
    scores, hits = judged.scores[found], judged.hits[found]
    probabilities = np.zeros(len(scores))
    for half in (is_even, ~is_even):
        curve = Calibration.fit(scores[~half], hits[~half], are_probabilities=are_probabilities)
        probabilities[half] = curve(scores[half])
    return reliability(probabilities, hits)


def by_label_frequency(
    judged: Judged, label_counts: npt.NDArray[Any], *, k: int = 5
) -> list[dict[str, Any]]:
    """Measure labels apart by how many training documents they have.

    Returns
    -------
    list of dict
        For each range of training documents, ``least`` to ``most`` (None: no limit), the number
        of labels, of their true pairs, and of suggestions among the first `k`; the share of the
        suggestions that is right (``precision``), and of the true pairs that is found
        (``recall``), in percent.
    """
    n_unknown = judged.Y.shape[1] - len(label_counts)
    counts = np.concatenate([label_counts, np.zeros(n_unknown, dtype=np.int64)])
    range_of = np.searchsorted(FREQUENCIES, counts, side="right") - 1
    n_ranges = len(FREQUENCIES)
    top, hits = judged.labels[:, :k], judged.hits[:, :k]
    n_labels = np.bincount(range_of, minlength=n_ranges)
    n_true = np.bincount(range_of[judged.Y.indices], minlength=n_ranges)
    n_suggested = np.bincount(range_of[top[top >= 0]], minlength=n_ranges)
    n_hits = np.bincount(range_of[top[hits]], minlength=n_ranges)
    return [
        {
            "least": least,
            "most": FREQUENCIES[i + 1] - 1 if i + 1 < n_ranges else None,
            "n_labels": int(n_labels[i]),
            "n_true": int(n_true[i]),
            "n_suggested": int(n_suggested[i]),
            "precision": 100 * float(n_hits[i]) / max(1, int(n_suggested[i])),
            "recall": 100 * float(n_hits[i]) / max(1, int(n_true[i])),
        }
        for i, least in enumerate(FREQUENCIES)
        if n_true[i] or n_suggested[i]
    ]


def accuracy_so_far(report: dict[str, Any]) -> str:
    """Return the first figures as a small table, for whoever waits for the rest of a training."""
    ks, figures = (1, 3, 5), report["accuracy"]
    lines = [
        f"Held out: {report['n_documents']:,} documents" + "".join(f"{f'@{k}':>8}" for k in ks)
    ]
    for name, measure in (("precision", "P"), ("recall", "R"), ("PSP", "PSP")):
        cells = "".join(f"{figures[f'{measure}@{k}']:8.1f}" for k in ks)
        lines.append(name.ljust(len(lines[0]) - 8 * len(ks)) + cells)
    return "\n".join(lines)


def figures_of(
    classifier: PartitionedClassifier,
    judged: Judged,
    a: float = 0.55,
    b: float = 1.5,
    by_members: Sequence[Judged] = (),
) -> dict[str, Any]:
    """Return the part of a report that needs no probabilities, with the members of an ensemble."""
    counts, n_training = classifier.label_counts_, classifier.n_documents_
    figures = {
        "n_documents": judged.n_documents,
        "n_labels": classifier.n_labels_,
        "accuracy": judged.accuracy(counts, n_training, a, b),
        # An imported model does not know its training documents.
        "by_label_frequency": by_label_frequency(judged, counts) if n_training else [],
    }
    if by_members:
        figures["members"] = [
            {"of": list(of), "accuracy": one.accuracy(counts, n_training, a, b)}
            for of, one in zip(classifier.get_params()["ensemble"], by_members, strict=True)
        ]
    return figures
