"""Words that a text on anything may have, and that tell nothing of a topic: "the", "of a"."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from polyseme.senses.describe import Sense

__all__ = ["N_CONSIDERED", "CommonWords"]

COMMON_FROM = 0.05  # of the training texts
LEAST_LEFT = 3  # with fewer words common ones are better than none
N_CONSIDERED = 80  # words, of which common ones are left out

Word = TypeVar("Word")


class CommonWords:
    """Knows which words of a model are common; none are where it does not count texts by word.

    Parameters
    ----------
    features : TextFeatures or None
        What makes features of texts; None if the model takes features as they are.
    n_features : int
        Of the model.
    """

    def __init__(self, features: Any, n_features: int) -> None:
        self._features, self._n_features = features, n_features

    def told(self, sense: Sense, n: int) -> Sense:
        """Return a sense with at most `n` of its words, those that tell something."""
        words = list(zip(sense.word_numbers, sense.words, strict=True))
        telling = _without_repeats(self.without(words))[:n]
        return dataclasses.replace(
            sense,
            words=[word for _, word in telling],
            word_numbers=[feature for feature, _ in telling],
        )

    def without(self, words: Sequence[tuple[int, Word]]) -> list[tuple[int, Word]]:
        """Return words, given as (feature, word), without common ones; all if few are left.

        A phrase that begins or ends with a common word tells no more than the rest of it, so it
        goes as well.
        """
        telling = [(feature, word) for feature, word in words if not self.is_common(feature)]
        return telling if len(telling) >= LEAST_LEFT else list(words)

    def is_common(self, feature: int) -> bool:
        """Return whether a feature is a common word, or a phrase that begins or ends with one."""
        if feature in self._common:
            return True
        if not self._common or self._features.vocabulary_ is None:
            return False
        first, *others = str(self._features.vocabulary_[feature]).split(" ")
        return bool(others) and not self._common_names.isdisjoint({first, others[-1]})

    @cached_property
    def _common(self) -> frozenset[int]:
        idf = getattr(self._features, "idf_", None)
        if idf is None or len(idf) != self._n_features:
            return frozenset()
        return frozenset(np.flatnonzero(np.exp(1 - idf) >= COMMON_FROM).tolist())

    @cached_property
    def _common_names(self) -> frozenset[str]:
        return frozenset(str(self._features.vocabulary_[feature]) for feature in self._common)


def _without_repeats(words: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Return words, strongest first, without phrases of which every word stands before them."""
    found = []
    alone: set[str] = set()
    for feature, word in words:
        parts = str(word[0]).split(" ")
        if len(parts) == 1 or not alone.issuperset(parts):
            found.append((feature, word))
        if len(parts) == 1:
            alone.add(parts[0])
    return found
