"""Means over seeds, and comparisons of two methods on the same trees and documents.

A difference between two methods has two sources of chance: which documents are in the test set,
and the seed (the tree, the order of documents). Three seeds say little of the second alone: an
interval from three differences is four times their standard error wide on each side. But all
methods tag the same documents, some thousands, so the first source is known well, and it is
usually the larger one. Both are taken into account: the variance of the mean difference is
estimated over documents (each with its mean over seeds) and over seeds, and the two are added.
What is particular to a document and a seed is then counted twice, so that the interval is rather
too wide than too narrow. The interval is Student's, with degrees of freedom after Satterthwaite:
where the seeds differ much, few seeds make it as wide as it has to be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "Comparison",
    "are_hits",
    "compare_hits",
    "compare_seeds",
    "hits_from_text",
    "hits_to_text",
    "mean_and_deviation",
]

N_PLACES = 5  # of a ranking, whose hits are kept
_DIGITS = np.frombuffer(b"0123456789abcdefghijklmnopqrstuv", dtype=np.uint8)  # one of 2^5 each
_CONFIDENCE = 0.95

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """A mean difference with half the width of its 95% interval.

    Attributes
    ----------
    difference : float
    margin : float
        NaN where nothing can be said: one seed, and no documents to compare.
    n_seeds : int
    """

    difference: float
    margin: float
    n_seeds: int

    @property
    def is_clear(self) -> bool:
        """Whether the interval lies on one side of zero."""
        return abs(self.difference) > self.margin


def mean_and_deviation(values: npt.ArrayLike) -> tuple[float, float]:
    """Return mean and sample standard deviation; the latter is NaN for a single value."""
    array = np.asarray(values, dtype=np.float64)
    if len(array) == 0:
        return math.nan, math.nan
    return float(array.mean()), float(array.std(ddof=1)) if len(array) > 1 else math.nan


def compare_seeds(ours: npt.ArrayLike, theirs: npt.ArrayLike) -> Comparison:
    """Compare figures of two methods, paired by seed; the seeds are all that is known of chance.

    Parameters
    ----------
    ours, theirs : array of shape (n_seeds,)
    """
    differences = np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64)
    return _comparison(differences, [_Variance.of_mean(differences)])


def compare_hits(ours: Sequence[str], theirs: Sequence[str], k: int) -> Comparison:
    """Compare P@k of two methods, in percentage points, paired by seed and document.

    Parameters
    ----------
    ours, theirs : sequence of str
        The hits of each seed, as from `hits_to_text`.
    """
    pairs = zip(ours, theirs, strict=True)
    by_seed = np.array([_precisions(a, k) - _precisions(b, k) for a, b in pairs])
    if by_seed.size == 0:
        return Comparison(math.nan, math.nan, len(by_seed))
    variances = [_Variance.of_mean(by_seed.mean(axis=0)), _Variance.of_mean(by_seed.mean(axis=1))]
    return _comparison(by_seed.mean(axis=1), variances)


@dataclass(frozen=True)
class _Variance:
    """The variance of a mean, and on how many degrees of freedom it is known."""

    value: float
    freedom: int

    @classmethod
    def of_mean(cls, values: Floats) -> _Variance | None:
        n = len(values)
        return None if n < 2 else cls(float(values.var(ddof=1)) / n, n - 1)


def _comparison(differences: Floats, variances: Sequence[_Variance | None]) -> Comparison:
    if len(differences) == 0:
        return Comparison(math.nan, math.nan, 0)
    return Comparison(float(differences.mean()), _margin(variances), len(differences))


def _margin(variances: Sequence[_Variance | None]) -> float:
    from scipy.special import stdtrit

    known = [variance for variance in variances if variance is not None]
    if not known:
        return math.nan
    total = sum(variance.value for variance in known)
    if total == 0:
        return 0.0
    freedom = total**2 / sum(variance.value**2 / variance.freedom for variance in known)
    return float(stdtrit(freedom, 0.5 + _CONFIDENCE / 2)) * math.sqrt(total)


def hits_to_text(hits: npt.NDArray[np.bool_]) -> str:
    """Write one character for each document: its hits among the first five places as bits.

    Parameters
    ----------
    hits : ndarray of bool, shape (n_documents, 5)
    """
    codes = hits[:, :N_PLACES] @ (1 << np.arange(N_PLACES))
    return _DIGITS[codes].tobytes().decode("ascii")


def are_hits(text: str) -> bool:
    """Whether `hits_to_text` can have written this."""
    return set(text.encode()) <= set(_DIGITS.tolist())


def hits_from_text(text: str) -> npt.NDArray[np.bool_]:
    """Return what `hits_to_text` was given, shape (n_documents, 5)."""
    codes = np.searchsorted(_DIGITS, np.frombuffer(text.encode("ascii"), dtype=np.uint8))
    return (codes[:, np.newaxis] >> np.arange(N_PLACES) & 1).astype(np.bool_)


def _precisions(hits: Any, k: int) -> Floats:
    precisions: Floats = 100 * hits_from_text(hits)[:, :k].mean(axis=1)
    return precisions
