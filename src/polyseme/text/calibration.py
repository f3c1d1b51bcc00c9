"""From scores to probabilities, learned on held-out documents, and the threshold to cut at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.machine.brief import briefly

__all__ = [
    "Calibration",
    "Cut",
    "cumulated",
    "cut_for_f1",
    "cut_for_precision",
    "measure_cut",
    "reliability",
]

ENOUGH_FOR_ISOTONIC = 1000  # hits, and misses; fewer would be followed step by step
HITS_A_GROUP, MOST_GROUPS = 50, 40  # of probabilities that are set right together
N_KNOTS = 257  # a logistic curve is stored by so many points
SMALLEST_SCORE = 1e-6

Floats = npt.NDArray[np.float64]
Hits = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Calibration:
    """A curve from scores to probabilities that never falls.

    Between its points it is straight, beyond them level.

    Attributes
    ----------
    method : {'isotonic', 'logistic', 'none'}
        How the curve was found; with 'none' a score is only cut to 0 to 1.
    scores, probabilities : ndarray of float64, shape (n_points,)
        The points of the curve, scores ascending.
    """

    method: str
    scores: Floats
    probabilities: Floats

    __repr__ = briefly

    @classmethod
    def none(cls) -> Calibration:
        """Return a calibration that leaves scores from 0 to 1 as they are."""
        return cls("none", np.array([0.0, 1.0]), np.array([0.0, 1.0]))

    @classmethod
    def fit(
        cls, scores: npt.ArrayLike, hits: npt.ArrayLike, *, are_probabilities: bool = False
    ) -> Calibration:
        """Learn the curve from scores of held-out documents.

        Isotonic regression where there are at least a thousand hits and misses, else a logistic
        curve with Platt's smoothed targets, since a step for every few hits means little.
        Probabilities are only set right: different ones stay different, since the curve rises
        everywhere, in straight lines between groups of them or as a curve of their log-odds.

        Parameters
        ----------
        scores : array of float, shape (n_pairs,)
            One for each suggested label of each document.
        hits : array of bool, shape (n_pairs,)
            Whether the document has the label.
        are_probabilities : bool
            Whether the scores are meant as such, as those of a learned order are.
        """
        x = np.asarray(scores, dtype=np.float64).ravel()
        y = np.asarray(hits, dtype=np.bool_).ravel()
        if len(x) == 0:
            return cls.none()
        n_hits = int(y.sum())
        is_plenty = min(n_hits, len(y) - n_hits) >= ENOUGH_FOR_ISOTONIC
        if are_probabilities and is_plenty:
            return cls("isotonic", *_isotonic_between(x, y))
        if are_probabilities:
            most = float(_log_odds(np.array([1.0]))[0])
            return cls("logistic", *_logistic(x, y, _log_odds, _from_log_odds, (-most, most)))
        if is_plenty:
            return cls("isotonic", *_isotonic(x, y))
        if x.min() < 0:  # margins differ by amounts, small scores by factors
            return cls("logistic", *_logistic(x, y, _as_it_is, _as_it_is))
        return cls("logistic", *_logistic(x, y, _log, np.exp))

    def __call__(self, scores: npt.ArrayLike) -> Floats:
        """Return the probability of each score; any shape."""
        found: Floats = np.interp(
            np.asarray(scores, dtype=np.float64), self.scores, self.probabilities
        )
        return found

    def check(self) -> None:
        """Refuse points that are no curve from scores to probabilities."""
        x, y = self.scores, self.probabilities
        sound = (
            self.method in ("isotonic", "logistic", "none")
            and x.ndim == y.ndim == 1
            and len(x) == len(y) > 0
            and bool(np.isfinite(x).all() and np.isfinite(y).all())
            and bool((np.diff(x) >= 0).all() and (np.diff(y) >= 0).all())
            and bool(y[0] >= 0 and y[-1] <= 1)
        )
        if not sound:
            raise ValueError("its calibration is not a curve from scores to probabilities")


def _isotonic(x: Floats, y: Hits) -> tuple[Floats, Floats]:
    from sklearn.isotonic import IsotonicRegression

    n_hits, n_misses = int(y.sum()), int((~y).sum())
    # Nothing seen so far makes a label certain or impossible.
    regression = IsotonicRegression(y_min=1 / (n_misses + 2), y_max=1 - 1 / (n_hits + 2))
    regression.fit(x, y.astype(np.float64))
    return (
        regression.X_thresholds_.astype(np.float64),
        regression.y_thresholds_.astype(np.float64),
    )


def _isotonic_between(x: Floats, y: Hits) -> tuple[Floats, Floats]:
    """Return a curve that rises from 0 to 1 through groups of scores with as many hits each."""
    from sklearn.isotonic import isotonic_regression

    order = np.argsort(x, kind="stable")
    n_groups = max(2, min(MOST_GROUPS, int(y.sum()) // HITS_A_GROUP))
    hits = np.cumsum(y[order])
    group = np.minimum(hits * n_groups // (hits[-1] + 1), n_groups - 1)
    sizes = np.bincount(group, minlength=n_groups).astype(np.float64)
    shares = np.bincount(group, y[order], n_groups) / sizes
    steps = isotonic_regression(shares, sample_weight=sizes)
    # Groups with the same share become one, so that the curve is level nowhere.
    _, of_group = np.unique(steps, return_inverse=True)
    weights = np.bincount(of_group, sizes)
    scores = np.bincount(of_group, np.bincount(group, x[order], n_groups)) / weights
    found = np.bincount(of_group, steps * sizes) / weights
    inside = (scores > 0) & (scores < 1) & (found > 0) & (found < 1)
    return (
        np.concatenate([[0.0], scores[inside], [1.0]]),
        np.concatenate([[0.0], found[inside], [1.0]]),
    )


def _logistic(
    x: Floats,
    y: Hits,
    spread_out: Callable[..., Any],
    back: Callable[..., Any],
    ends: tuple[float, float] | None = None,
) -> tuple[Floats, Floats]:
    """Return points of a logistic curve of scores that are spread out by a function.

    They go from the lowest score to the highest, or from one of the `ends` to the other.
    """
    from sklearn.linear_model import LogisticRegression

    n_hits, n_misses = int(y.sum()), int((~y).sum())
    overall = (n_hits + 1) / (len(y) + 2)
    spread = spread_out(x)
    low, high = float(spread.min()), float(spread.max())
    if high <= low or n_hits == 0 or n_misses == 0:
        return np.array([float(x.min())]), np.array([overall])

    center, scale = (low + high) / 2, (high - low) / 2
    column = ((spread - center) / scale)[:, np.newaxis]
    target = np.where(y, (n_hits + 1) / (n_hits + 2), 1 / (n_misses + 2))
    regression = LogisticRegression(C=1e4, max_iter=1000)
    regression.fit(
        np.vstack([column, column]),
        np.repeat([1, 0], len(y)),
        sample_weight=np.concatenate([target, 1 - target]),
    )
    slope, offset = float(regression.coef_[0, 0]), float(regression.intercept_[0])
    if slope <= 0:  # a higher score does not speak for a label: then none says anything
        return np.array([float(x.min())]), np.array([overall])
    first, last = ends or (low, high)
    knots = np.linspace(first, last, N_KNOTS)
    probabilities = 1 / (1 + np.exp(-(slope * (knots - center) / scale + offset)))
    return back(knots), np.maximum.accumulate(probabilities)


def _as_it_is(scores: Floats) -> Floats:
    return scores


def _log(scores: Floats) -> Floats:
    return np.log(np.maximum(scores, SMALLEST_SCORE))


def _log_odds(scores: Floats) -> Floats:
    inside = np.clip(scores, SMALLEST_SCORE, 1 - SMALLEST_SCORE)
    return np.log(inside / (1 - inside))


def _from_log_odds(values: Floats) -> Floats:
    return 1 / (1 + np.exp(-values))


@dataclass(frozen=True)
class Cut:
    """What remains of the suggestions when those below a probability are left out.

    Attributes
    ----------
    threshold : float
    precision, recall, f1 : float
        Shares over all (document, label) pairs, from 0 to 1.
    labels_per_document : float
    without_label : float
        Share of the documents that keep no suggestion at all.
    """

    threshold: float
    precision: float
    recall: float
    f1: float
    labels_per_document: float
    without_label: float


def measure_cut(kept: Hits, hits: Hits, threshold: float, *, n_true: int) -> Cut:
    """Measure the suggestions that a threshold leaves.

    Parameters
    ----------
    kept, hits : arrays of bool, shape (n_documents, n_ranked)
        Which suggestions are not below the threshold, and which ones are right.
    n_true : int
        All true pairs, also those that were not suggested.
    """
    n_documents, n_kept, n_hits = len(kept), int(kept.sum()), int((kept & hits).sum())
    return Cut(
        threshold=float(threshold),
        precision=n_hits / max(1, n_kept),
        recall=n_hits / max(1, n_true),
        f1=2 * n_hits / max(1, n_kept + n_true),
        labels_per_document=n_kept / max(1, n_documents),
        without_label=1 - int(kept.any(axis=1).sum()) / max(1, n_documents),
    )


def cut_for_f1(probabilities: Floats, hits: Hits, *, n_true: int) -> float:
    """Return a threshold with the best F1 over all pairs, which keeps as few of them as can be.

    Of the thresholds that keep the same pairs it is the middle one. So documents that are a
    little less sure than those it was chosen on keep their labels.
    """
    if len(probabilities) == 0:
        return 0.0
    values, n_kept, n_hits = cumulated(probabilities, hits)
    f1 = 2 * n_hits / np.maximum(1, n_kept + n_true)
    best = int(np.argmax(f1))
    below = values[best + 1] if best + 1 < len(values) else 0.0
    middle = (values[best] + below) / 2
    return float(middle if middle > below else values[best])


def cut_for_precision(probabilities: Floats, hits: Hits, wanted: float) -> float:
    """Return the lowest threshold at and above which so large a share is right.

    Where none is so precise, the threshold of the highest precision.
    """
    if len(probabilities) == 0:
        return 1.0
    values, n_kept, n_hits = cumulated(probabilities, hits)
    precision = n_hits / n_kept
    reached = np.flatnonzero(precision >= wanted)
    best = reached[-1] if len(reached) else int(np.argmax(precision))
    return float(values[best])


def cumulated(
    probabilities: Floats, hits: Hits
) -> tuple[Floats, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each possible threshold, highest first, the pairs and the hits that are not below."""
    order = np.argsort(-probabilities, kind="stable")
    ordered = probabilities[order]
    last_of_value = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    n_hits = np.cumsum(hits[order], dtype=np.int64)
    return ordered[last_of_value], (last_of_value + 1).astype(np.int64), n_hits[last_of_value]


def reliability(probabilities: Floats, hits: Hits, *, n_bins: int = 10) -> dict[str, Any]:
    """Compare probabilities with what was right.

    Returns
    -------
    dict
        ``bins``: for each of equal width the number of pairs ``n``, their ``mean_probability``
        and the ``share_right``, empty ones left out; ``calibration_error``: the mean difference
        of the last two, weighted by ``n``, without the first bin, whose multitude of improbable
        labels would hide all others; ``brier_score``: the mean squared error of all.
    """
    of_pair = np.minimum((probabilities * n_bins).astype(np.int64), n_bins - 1)
    n = np.bincount(of_pair, minlength=n_bins)
    mean = np.bincount(of_pair, weights=probabilities, minlength=n_bins) / np.maximum(1, n)
    right = np.bincount(of_pair, weights=hits, minlength=n_bins) / np.maximum(1, n)
    bins = [
        {
            "low": i / n_bins,
            "high": (i + 1) / n_bins,
            "n": int(n[i]),
            "mean_probability": float(mean[i]),
            "share_right": float(right[i]),
        }
        for i in range(n_bins)
        if n[i] > 0
    ]
    n_pairs = max(1, len(probabilities))
    return {
        "bins": bins,
        "calibration_error": float((n * np.abs(mean - right))[1:].sum() / max(1, n[1:].sum())),
        "brier_score": float(((probabilities - hits) ** 2).sum() / n_pairs),
    }
