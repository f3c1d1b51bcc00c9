"""Words that a text on anything may have, and that tell nothing of a topic: "the", "of a"."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from polyseme.tagger import Tagger

__all__ = ["CommonWords"]

COMMON_FROM = 0.05  # of the training texts
LEAST_LEFT = 3  # with fewer words common ones are better than none

Word = TypeVar("Word")


class CommonWords:
    """Knows which words of a model are common; none are where it does not count texts by word.

    Parameters
    ----------
    tagger : Tagger
    """

    def __init__(self, tagger: Tagger) -> None:
        self._features: Any = getattr(tagger.model, "features_", None)
        self._n_features = tagger.classifier.n_features_in_

    def without(self, words: Sequence[tuple[int, Word]]) -> list[tuple[int, Word]]:
        """Return words, given as (feature, word), without common ones; all if few are left.

        A phrase that begins or ends with a common word tells no more than the rest of it, so it
        goes as well.
        """
        telling = [(feature, word) for feature, word in words if not self._is_common(feature)]
        return telling if len(telling) >= LEAST_LEFT else list(words)

    def _is_common(self, feature: int) -> bool:
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
