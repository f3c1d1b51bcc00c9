"""A threshold for each label, so that each, not only their mean, is as precise as wanted."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.text.calibration import Calibration, cumulated, cut_for_precision, measure_cut
from polyseme.text.evaluation import Judged

__all__ = ["choose_label_thresholds", "cross_checked_cut", "label_thresholds"]

PRIOR = 30.0  # suggestions that the precision of all labels counts for, beside a label's own

Floats = npt.NDArray[np.float64]


def choose_label_thresholds(judged: Judged, calibration: Calibration, wanted: float) -> Floats:
    """Return the least probability of each label that the judged documents speak for.

    Returns
    -------
    ndarray of float64, shape (n_labels,)
    """
    found = judged.labels >= 0
    probabilities, hits = judged.pairs(calibration)
    return label_thresholds(judged.labels[found], probabilities, hits, wanted, judged.Y.shape[1])


def cross_checked_cut(judged: Judged, calibration: Calibration, wanted: float) -> dict[str, Any]:
    """Measure thresholds that were learned on the other half of the documents.

    Those of a label with few suggestions look better than they are on its own documents.
    """
    kept = np.zeros(judged.labels.shape, dtype=np.bool_)
    is_even = np.arange(judged.n_documents) % 2 == 0
    for half in (is_even, ~is_even):
        learned = choose_label_thresholds(judged.rows(~half), calibration, wanted)
        kept[half] = judged.rows(half).kept(calibration, learned)
    overall = cut_for_precision(*judged.pairs(calibration), wanted)
    return dataclasses.asdict(measure_cut(kept, judged.hits, overall, n_true=judged.n_true))


def label_thresholds(
    labels: npt.NDArray[np.int32],
    probabilities: Floats,
    hits: npt.NDArray[np.bool_],
    wanted: float,
    n_labels: int,
) -> Floats:
    """Return for each label the lowest threshold at which it is as precise as wanted.

    A label's precision above a threshold is that of its own suggestions and, as if there were
    thirty more of them, that of all labels. So a label that was never suggested has the threshold
    of all, and few suggestions move it little.

    Parameters
    ----------
    labels, probabilities, hits : arrays of shape (n_pairs,)
        Suggestions: which label, how probable, and whether it was right.
    wanted : float
        Share of the suggestions that is to be right.

    Returns
    -------
    ndarray of float64, shape (n_labels,)
        Above 1 for a label that is never to be suggested.
    """
    thresholds = np.full(n_labels, cut_for_precision(probabilities, hits, wanted))
    if len(labels) == 0:
        return thresholds
    order = np.lexsort((-probabilities, labels))
    label, value, hit = labels[order], probabilities[order], hits[order]
    is_first = np.append(True, label[1:] != label[:-1])
    starts = np.flatnonzero(is_first)
    rank = np.arange(len(label)) - np.repeat(starts, np.diff(np.append(starts, len(label))))
    n_right = np.cumsum(hit, dtype=np.int64)
    n_right -= np.repeat((n_right - hit)[starts], np.diff(np.append(starts, len(label))))

    # A threshold from above the next lower value of the label up to this one keeps rank + 1 of
    # its suggestions; and none are kept above its highest.
    below = np.where(np.append(is_first[1:], True), -np.inf, np.append(value[1:], -np.inf))
    needed = (wanted * (rank + 1 + PRIOR) - n_right) / PRIOR
    candidates = np.concatenate([label, label[starts]])
    above = np.concatenate([below, value[starts]])
    up_to = np.concatenate([value, np.full(len(starts), np.inf)])
    lowest = _lowest_with(np.append(needed, np.full(len(starts), wanted)), probabilities, hits)
    lowest = np.maximum(lowest, np.nextafter(above, np.inf))
    fits = (lowest <= up_to) & np.isfinite(lowest)
    thresholds[label[starts]] = np.maximum(
        thresholds[label[starts]], np.nextafter(value[starts], np.inf)
    )
    np.minimum.at(thresholds, candidates[fits], lowest[fits])
    return thresholds


def _lowest_with(precision: Floats, probabilities: Floats, hits: npt.NDArray[np.bool_]) -> Floats:
    """Return the lowest thresholds at which all labels together are so precise; inf for none."""
    values, n_kept, n_hits = cumulated(probabilities, hits)
    best_from_here = np.maximum.accumulate((n_hits / n_kept)[::-1])[::-1]
    place = np.searchsorted(-best_from_here, -precision, side="right") - 1
    return np.where(place < 0, np.inf, values[place])
