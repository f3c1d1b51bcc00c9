"""Figures by the names that people know them by."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme import metrics
from polyseme.metrics import Propensities

__all__ = ["Metric"]

_PLAIN: dict[str, Callable[[npt.ArrayLike, Any, int], float]] = {
    "P": metrics.precision_at_k,
    "R": metrics.recall_at_k,
    "F1": metrics.f1_at_k,
    "nDCG": metrics.ndcg_at_k,
}
_WEIGHTED: dict[str, Callable[[npt.ArrayLike, Any, int, Propensities], float]] = {
    "PSP": metrics.psp_at_k,
    "PSnDCG": metrics.psndcg_at_k,
}
_NAMES = {name.lower(): name for name in (*_PLAIN, *_WEIGHTED)}
_NAMES |= {"precision": "P", "recall": "R"}
_LARGEST_K = 1000


@dataclass(frozen=True)
class Metric:
    """A figure of `polyseme.metrics` at a cut of the ranking, in percent.

    Attributes
    ----------
    name : str
        P, R, F1, nDCG, PSP or PSnDCG.
    k : int
    """

    name: str
    k: int

    def __str__(self) -> str:
        return f"{self.name}@{self.k}"

    @classmethod
    def named(cls, text: object) -> Metric:
        """Return the metric of a name such as ``P@5`` or ``recall@10``, in upper or lower case."""
        match = re.fullmatch(r"\s*(\w+)@(\d{1,4})\s*", text) if isinstance(text, str) else None
        name = _NAMES.get(match[1].lower()) if match else None
        k = int(match[2]) if match else 0
        if name is None or not 1 <= k <= _LARGEST_K:
            known = ", ".join(f"{name}@k" for name in (*_PLAIN, *_WEIGHTED))
            raise ValueError(
                f"metric must be one of {known}, with a k from 1 to {_LARGEST_K} such as P@5, "
                f"not {text!r}."
            )
        return cls(name, k)

    def __call__(
        self, top_labels: npt.NDArray[np.int32], Y_true: Any, propensities: Propensities
    ) -> float:
        """Measure predictions.

        Parameters
        ----------
        top_labels : array of int, shape (n_documents, at least k)
            Best label first, padded with -1.
        Y_true : documents x labels matrix
        propensities : Propensities
        """
        if self.name in _WEIGHTED:
            return _WEIGHTED[self.name](top_labels, Y_true, self.k, propensities)
        return _PLAIN[self.name](top_labels, Y_true, self.k)
