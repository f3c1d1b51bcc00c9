"""Texts as sequences of numbers: which words there are, and which a text has."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.files.stored_model import StoredModel
from polyseme.inputs.documents import Documents
from polyseme.inputs.names import Names
from polyseme.inputs.tokens import words

__all__ = ["PADDING", "UNKNOWN", "Vocabulary", "WordRows", "texts_of"]

PADDING, UNKNOWN = 0, 1
N_SPECIAL = 2
FEW_TEXTS = 1000  # below, a word that is in one text only may be all there is

Integers = npt.NDArray[np.int64]


def texts_of(documents: Documents) -> Sequence[str]:
    """Return the texts of documents, or say who has them."""
    if documents.texts is None:
        raise ValueError(
            "this method reads texts, but the documents have features only; train a TextModel "
            "around it, or give Documents with texts."
        )
    return documents.texts


@dataclass(frozen=True, eq=False)
class WordRows:
    """The words of texts by number, one text after the other.

    Attributes
    ----------
    starts : ndarray of int64, shape (n_texts + 1,)
    words : ndarray of int64, shape (n_words,)
        Every text has at least one: an unknown one if there is nothing in it.
    """

    starts: Integers
    words: Integers

    @property
    def lengths(self) -> Integers:
        """Number of words of each text."""
        return np.diff(self.starts)

    def counts(self, n_columns: int) -> sp.csr_array:
        """Return how often each word is in each text, shape (n_texts, n_columns)."""
        ones = np.ones(len(self.words))
        found = sp.csr_array(
            (ones, self.words.copy(), self.starts), shape=(len(self.lengths), n_columns)
        )
        found.sum_duplicates()
        return found

    def padded(self, rows: Integers) -> Integers:
        """Return some texts side by side, shape (n_rows, longest), padded at their ends."""
        lengths = self.lengths[rows]
        place = np.arange(int(lengths.max()))
        is_word = place < lengths[:, np.newaxis]
        found = np.full(is_word.shape, PADDING, dtype=np.int64)
        found[is_word] = self.words[(self.starts[rows][:, np.newaxis] + place)[is_word]]
        return found


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The words that are known, and how many words of a text are read.

    Attributes
    ----------
    names : Names
        The most frequent ones first. Their numbers begin after those of padding and unknown words.
    n_words : int
        Words of a text that are read, from its beginning.
    """

    names: Names
    n_words: int

    @property
    def size(self) -> int:
        """Number of different numbers."""
        return N_SPECIAL + len(self.names)

    @cached_property
    def _number_of(self) -> dict[str, int]:
        return {str(word): i for i, word in enumerate(self.names, start=N_SPECIAL)}

    @classmethod
    def learned_from(cls, texts: Sequence[str], most: int, n_words: int) -> Vocabulary:
        """Take the words that are in most texts, as far as these are read."""
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(set(words(text)[:n_words]))
        least = 1 if len(texts) < FEW_TEXTS else 2
        kept = [(-count, word) for word, count in counts.items() if count >= least]
        return cls(Names.from_list(word for _, word in sorted(kept)[:most]), n_words)

    def numbered(self, texts: Sequence[str], *, warn: bool = False) -> WordRows:
        """Return the words of texts by number; with `warn`, say if some are cut."""
        find, n_words = self._number_of.get, self.n_words
        rows, n_cut = [], 0
        for text in texts:
            found = words(text)
            n_cut += len(found) > n_words
            rows.append([find(word, UNKNOWN) for word in found[:n_words]] or [UNKNOWN])
        if warn and n_cut:
            warnings.warn(
                f"only the first {n_words} words of a text are read, and some have more; n_words "
                "says how many.",
                stacklevel=1,  # one place, so that Python shows it once
            )
        starts = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=starts[1:])
        return WordRows(starts, np.array([word for row in rows for word in row], dtype=np.int64))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the words, to be stored."""
        return {f"vocabulary.{name}": array for name, array in self.names.to_arrays().items()}

    @classmethod
    def restored(cls, stored: StoredModel, n_words: int) -> Vocabulary:
        """Return a saved vocabulary after checking it."""
        part = stored.part("vocabulary")
        utf8 = part.array("utf8", np.uint8, (None,))
        starts = part.starts("starts", last=len(utf8))
        try:
            names = Names.from_arrays({"starts": starts, "utf8": utf8})
            vocabulary = cls(names, n_words)
            n_different = len(vocabulary._number_of)
        except ValueError as error:
            raise stored.damaged(str(error)) from None
        if n_different != len(names):
            raise stored.damaged("a word is twice in its vocabulary")
        return vocabulary
