"""What a threshold does: precision and recall as it rises, and how each label fares at one."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyseme.text.calibration import Calibration
from polyseme.text.evaluation import Judged

__all__ = ["by_label", "by_threshold"]

N_THRESHOLDS = 100
MOST_LABELS = 20_000  # of which figures are kept; a model of millions need not carry more
DIGITS = 5


def by_threshold(judged: Judged, calibration: Calibration) -> dict[str, list[float]]:
    """Measure the suggestions at thresholds of 0%, 1%, up to 99%.

    Returns
    -------
    dict of lists, each of length 100
        ``threshold``, ``precision``, ``recall``, ``f1``, ``labels_per_document`` and
        ``without_label``, the share of documents that are left without any.
    """
    thresholds = np.arange(N_THRESHOLDS) / N_THRESHOLDS
    probabilities, hits = judged.pairs(calibration)
    n_kept = _at_least(probabilities, thresholds)
    n_hits = _at_least(probabilities[hits], thresholds)
    shown = np.where(judged.labels >= 0, calibration(judged.scores), -1.0)
    best = shown.max(axis=1, initial=-1.0)
    n_documents = max(1, judged.n_documents)
    columns = {
        "threshold": thresholds,
        "precision": n_hits / np.maximum(1, n_kept),
        "recall": n_hits / max(1, judged.n_true),
        "f1": 2 * n_hits / np.maximum(1, n_kept + judged.n_true),
        "labels_per_document": n_kept / n_documents,
        "without_label": 1 - _at_least(best, thresholds) / n_documents,
    }
    return {name: np.round(column, DIGITS).tolist() for name, column in columns.items()}


def _at_least(values: Any, thresholds: Any) -> Any:
    """Return how many values are not below each threshold."""
    return len(values) - np.searchsorted(np.sort(values), thresholds, side="left")


def by_label(judged: Judged, calibration: Calibration, threshold: float) -> dict[str, list[int]]:
    """Count, for each label, its true documents, its suggestions and those that are right.

    Returns
    -------
    dict of lists, all of one length
        ``label`` (a number), ``n_true``, ``n_suggested`` and ``n_right``; labels that are neither
        true nor suggested anywhere are left out, and so are the rarest if there are very many.
    """
    n_labels = judged.Y.shape[1]
    kept = (judged.labels >= 0) & (calibration(judged.scores) >= threshold)
    n_true = np.bincount(judged.Y.indices, minlength=n_labels)
    n_suggested = np.bincount(judged.labels[kept], minlength=n_labels)
    n_right = np.bincount(judged.labels[kept & judged.hits], minlength=n_labels)
    most_first = np.argsort(-(n_true + n_suggested), kind="stable")[:MOST_LABELS]
    labels = np.sort(most_first[(n_true + n_suggested)[most_first] > 0])
    columns = {"n_true": n_true, "n_suggested": n_suggested, "n_right": n_right}
    return {
        "label": labels.tolist(),
        **{name: counts[labels].tolist() for name, counts in columns.items()},
    }
