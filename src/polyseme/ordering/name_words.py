"""How much of a label's name stands in a document, told by the words that both are made of.

Words of names and features are alike if they begin alike: short endings do not count, nor what
comes after eight letters. That is rough, but needs to know no language.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme import _native
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.documents import Documents
from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.inputs.tokens import words
from polyseme.machine.brief import briefly

__all__ = ["NameWords"]

BEGINNING = 8  # letters that tell a word
ENDING = re.compile(r"(?<=...)e?n?s?$")  # of plurals and cases in many languages of Europe
SHORTEST = 3  # a shorter word is in every text, such as "of"
SYLLABLES = "\u2e80"  # from here on a letter stands for a syllable or a word
NO_WORD = -1
CATALOGUE_NUMBER = re.compile(r"\w+:\S*\d\S*")  # in the place of a name, such as gnd:123


@dataclass(frozen=True, eq=False)
class NameWords:
    """The words of the names of labels, and which features are such words.

    Attributes
    ----------
    of_labels : SparsePattern, shape (n_labels, n_words)
    word_of_feature : ndarray of int32, shape (n_sparse_features,)
        -1 for a feature that is in no name.
    """

    of_labels: SparsePattern
    word_of_feature: npt.NDArray[np.int32]

    __repr__ = briefly

    @classmethod
    def of(
        cls, label_names: Names | None, feature_names: Names | None, n_sparse: int
    ) -> NameWords | None:
        """Return the words of names; None if nothing can be told from them.

        Parameters
        ----------
        label_names, feature_names : Names or None
        n_sparse : int
            How many of the features, the first, are sparse.
        """
        if label_names is None or feature_names is None:
            return None
        number_of: dict[str, int] = {}
        # Sorted: the order of a set is another one in every process.
        found = [sorted(_beginnings(name)) for name in label_names]
        starts = np.concatenate([[0], np.cumsum([len(own) for own in found])])
        columns = [
            number
            for own in found
            for number in sorted(number_of.setdefault(word, len(number_of)) for word in own)
        ]
        word_of_feature = np.full(n_sparse, NO_WORD, dtype=np.int32)
        for feature, name in zip(range(n_sparse), feature_names, strict=False):
            if isinstance(name, str) and " " not in name:  # pairs say nothing that words do not
                own = _beginnings(name)
                if len(own) == 1:
                    word_of_feature[feature] = number_of.get(own.pop(), NO_WORD)
        if (word_of_feature == NO_WORD).all():
            return None
        pattern = SparsePattern(
            starts.astype(np.int64), np.array(columns, dtype=np.int32), len(number_of)
        )
        return cls(pattern, word_of_feature)

    def found(
        self, documents: Documents, rows: npt.NDArray[Any], labels: npt.NDArray[Any]
    ) -> npt.NDArray[np.float32]:
        """Return how much of a label's name stands in a document, for pairs of both.

        Parameters
        ----------
        documents : Documents
        rows, labels : ndarray of int, shape (n_pairs,)

        Returns
        -------
        ndarray of float32, shape (n_pairs,)
            0 for a label without a name in words; else 1 if no word of it is there, 2 if up to
            half of them are, 3 if more are, 4 for every word.
        """
        names, n_words = self.of_labels, np.int64(self.of_labels.n_columns)
        there = np.zeros(0, dtype=np.int64)
        if documents.sparse is not None:
            sparse = documents.sparse
            row = np.repeat(np.arange(sparse.n_rows), np.diff(sparse.starts))
            word = self.word_of_feature[sparse.columns]
            there = np.unique((row * n_words + word)[word != NO_WORD])
        n_of_name = np.diff(names.starts)[labels]
        pair = np.repeat(np.arange(len(labels)), n_of_name)
        ends = np.cumsum(n_of_name)
        place = np.arange(len(pair)) + (names.starts[labels] - ends + n_of_name)[pair]
        is_there = np.isin(rows[pair] * n_words + names.columns[place], there)
        n_found = np.bincount(pair[is_there], minlength=len(labels))
        found = np.where(2 * n_found <= n_of_name, 2, 3)
        found[n_found == n_of_name] = 4
        found[n_found == 0] = 1
        found[n_of_name == 0] = 0
        return found.astype(np.float32)

    def native(self) -> _native.NameWords:
        """Return the native twin."""
        return _native.NameWords(
            self.word_of_feature, self.of_labels.starts, self.of_labels.columns
        )

    # Files

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the words as plain numbers."""
        return {
            "word_of_feature": self.word_of_feature,
            "starts": self.of_labels.starts,
            "columns": self.of_labels.columns,
        }

    @classmethod
    def restore(cls, stored: StoredModel, n_labels: int, n_sparse: int) -> NameWords:
        """Return what was stored, after checking all of it."""
        columns = stored.array("columns", np.int32, (None,))
        # Every word is one of a name, so that there are no more of them.
        pattern = stored.pattern(n_labels, len(columns))
        rows = np.repeat(np.arange(n_labels), np.diff(pattern.starts))
        if ((np.diff(columns) <= 0) & (np.diff(rows) == 0)).any():
            raise stored.damaged("the words of a name must ascend")
        n_words = int(columns.max(initial=-1)) + 1
        word_of_feature = stored.array("word_of_feature", np.int32, (n_sparse,))
        stored.in_range("word_of_feature", NO_WORD, n_words)
        return cls(SparsePattern(pattern.starts, columns, n_words), word_of_feature)


def _beginnings(name: str | int) -> set[str]:
    """Return what the words of a name, or of a feature, begin with."""
    if not isinstance(name, str) or CATALOGUE_NUMBER.fullmatch(name):
        return set()
    return {
        ENDING.sub("", word)[:BEGINNING]
        for word in words(name)
        if (len(word) >= SHORTEST or word >= SYLLABLES) and not word.isdecimal()
    }
