"""In how many texts each n-gram is, counted in a stream."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from polyseme.inputs.names import Names
from polyseme.text.given import require_text

if TYPE_CHECKING:
    from polyseme.text.features import TextFeatures

__all__ = ["TermCounts"]

TEXTS_AT_ONCE = 512
FEW_TEXTS = 1000  # below, a word that is in one text only may be all there is
CROWDED = 4  # terms counted at a time at most, in multiples of max_features, but at least
ROOMY = 2_000_000


class TermCounts:
    """Counts in how many texts each n-gram is, with bounded memory.

    When there are far more n-grams than can be kept, those that were rarest so far are forgotten;
    in a very large collection counts of rare ones are then a little too low.
    """

    def __init__(self, features: TextFeatures) -> None:
        self.n_documents = 0
        self._features = features
        self._waiting: list[str] = []
        self._counts: Counter[str] = Counter()
        self._most = max(CROWDED * features.max_features, ROOMY)
        self._n_forgotten_up_to = 0
        if features.hashing:
            self._hashed = features._hashed_counts()
            self._buckets = np.zeros(features.n_buckets, dtype=np.int64)
        else:
            self._analyze = features.make_analyzer()

    def add(self, text: str) -> None:
        """Count the n-grams of one more text."""
        require_text(text)
        self.n_documents += 1
        if self._features.hashing:
            self._waiting.append(text)
            if len(self._waiting) == TEXTS_AT_ONCE:
                self._count_waiting()
            return
        self._counts.update(set(self._analyze(text)))
        if len(self._counts) > self._most:
            self._forget_rarest()

    def most_frequent(self) -> tuple[Names | None, npt.NDArray[np.int64]]:
        """Return the n-grams to keep, in alphabetical order, and their numbers of texts."""
        if self.n_documents == 0:
            raise ValueError("there are no texts to learn words from; give at least one.")
        if self._features.hashing:
            self._count_waiting()
            return None, self._buckets
        least = self._features.min_documents or (1 if self.n_documents < FEW_TEXTS else 2)
        kept = [(term, count) for term, count in self._counts.items() if count >= least]
        if not kept:
            raise ValueError(
                f"no word is in {least} or more of the {self.n_documents} texts; give texts with "
                "words, or a lower min_documents."
            )
        n_wanted = self._features.max_features
        if len(kept) > n_wanted:
            kept.sort(key=lambda item: (-item[1], item[0]))
            del kept[n_wanted:]
        kept.sort()
        names = Names.from_list(term for term, _ in kept)
        return names, np.array([count for _, count in kept], dtype=np.int64)

    def _count_waiting(self) -> None:
        if self._waiting:
            found = self._hashed.transform(self._waiting)
            self._buckets += np.bincount(found.indices, minlength=len(self._buckets))
            self._waiting.clear()

    def _forget_rarest(self) -> None:
        while len(self._counts) > self._most // 2:
            self._n_forgotten_up_to += 1
            least = self._n_forgotten_up_to
            self._counts = Counter({t: n for t, n in self._counts.items() if n > least})
