"""TF-IDF of texts, learned and computed in a stream, stored as arrays and names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.utils.validation import check_is_fitted

from polyseme.estimators.parameters import (
    NONE,
    TRUE_OR_FALSE,
    Constraint,
    check_parameters,
    one_of,
    whole_from,
)
from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.inputs.tokens import character_spans, fold, token_spans, word_spans, words
from polyseme.text.given import require_text
from polyseme.text.term_counts import TEXTS_AT_ONCE, TermCounts

__all__ = ["TextFeatures", "in_batches"]

NGRAMS = {"word": (1, 2), "char": (3, 5), "token": (1, 2)}
SPANS = {"word": word_spans, "char": character_spans, "token": token_spans}
TINY = float(np.finfo(np.float32).tiny)

Counted: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]]
Counting: TypeAlias = Callable[[Sequence[str]], Counted]


def _are_lengths(value: object) -> bool:
    return (
        isinstance(value, tuple | list)
        and len(value) == 2
        and all(type(part) is int for part in value)
        and 1 <= value[0] <= value[1] <= 20
    )


LENGTHS = Constraint("the shortest and the longest n-gram, such as (1, 2)", _are_lengths)


class TextFeatures(BaseEstimator):  # type: ignore[misc]
    """TF-IDF of words or characters; rows have unit length.

    Texts are looked at one batch at a time. Words are runs of letters, marks and digits of any
    script, in lower case; in Chinese and Japanese each character is one. There is no list of
    stop words: TF-IDF makes frequent words light in every language.

    Parameters
    ----------
    analyzer : {'word', 'char', 'token'}, default='word'
        n-grams of words, or of characters within words, which bear misspellings and many endings;
        or of what stands between spaces, as it is, where someone else took the texts apart.
    ngrams : (int, int), optional
        The shortest and the longest n-gram; (3, 5) for characters, else (1, 2).
    max_features : int, default=1_000_000
        Keep those that are in most texts.
    min_documents : int, optional
        Leave out what is in fewer texts; 2, or 1 if there are fewer than a thousand texts.
    sublinear : bool, default=True
        Let the logarithm of a count speak, not the count.
    hashing : bool, default=False
        Give each n-gram one of `n_buckets` columns by its hash: less memory, but features have
        no names then and some share a column.
    n_buckets : int, default=2**20

    Attributes
    ----------
    idf_ : ndarray of float32, shape (n_features,)
    vocabulary_ : Names or None
        The n-gram of each column, in alphabetical order; None with `hashing`.
    n_documents_ : int
        Texts that were learned from.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "analyzer": one_of(*NGRAMS),
        "ngrams": NONE | LENGTHS,
        "max_features": whole_from(1),
        "min_documents": NONE | whole_from(1),
        "sublinear": TRUE_OR_FALSE,
        "hashing": TRUE_OR_FALSE,
        "n_buckets": whole_from(1),
    }

    idf_: npt.NDArray[np.float32]
    vocabulary_: Names | None
    n_documents_: int

    def __init__(
        self,
        analyzer: str = "word",
        ngrams: tuple[int, int] | None = None,
        max_features: int = 1_000_000,
        min_documents: int | None = None,
        sublinear: bool = True,
        hashing: bool = False,
        n_buckets: int = 2**20,
    ) -> None:
        self.analyzer = analyzer
        self.ngrams = ngrams
        self.max_features = max_features
        self.min_documents = min_documents
        self.sublinear = sublinear
        self.hashing = hashing
        self.n_buckets = n_buckets

    def fit(self, texts: Iterable[str], y: object = None) -> TextFeatures:
        """Learn which n-grams there are and in how many texts each is; one pass.

        Parameters
        ----------
        texts : iterable of str
            Looked at one by one, never kept.
        """
        counts = self.counting()
        for text in texts:
            counts.add(text)
        return self.learn(counts)

    def counting(self) -> TermCounts:
        """Return a counter of terms for whoever walks through the texts for more reasons."""
        self.check_parameters()
        return TermCounts(self)

    def learn(self, counts: TermCounts) -> TextFeatures:
        """Take the vocabulary and the weights from what was counted."""
        vocabulary, frequencies = counts.most_frequent()
        n_documents = counts.n_documents
        self.vocabulary_ = vocabulary
        self.n_documents_ = n_documents
        self.idf_ = (1 + np.log((1 + n_documents) / (1 + frequencies))).astype(np.float32)
        self._forget()
        return self

    @property
    def n_features_(self) -> int:
        """Number of columns."""
        return len(self.idf_)

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return the n-gram of each column, or with `hashing` its number as a text.

        Parameters
        ----------
        input_features : ignored
            As scikit-learn has it.
        """
        check_is_fitted(self, "idf_")
        names = range(self.n_features_) if self.vocabulary_ is None else self.vocabulary_
        return np.array([str(name) for name in names], dtype=object)

    def transform(self, texts: Iterable[str]) -> sp.csr_array:
        """Return the features of texts.

        Parameters
        ----------
        texts : iterable of str

        Returns
        -------
        csr_array of float32, shape (n_texts, n_features)
            Sorted, rows of unit length; a text without a known word is an empty row.
        """
        parts = [self.rows(batch) for batch in in_batches(texts, TEXTS_AT_ONCE)] or [self.rows([])]
        return (parts[0] if len(parts) == 1 else SparseRows.stack(parts)).to_scipy()

    def rows(self, texts: Sequence[str]) -> SparseRows:
        """Return the features of a few texts in the form that the classifier reads at once."""
        if not hasattr(self, "_count"):
            check_is_fitted(self, "idf_")
            self._count = self._make_counter()
        for text in texts:
            require_text(text)
        starts, columns, counts = self._count(texts)
        if self.sublinear:
            counts = np.log(counts) + 1
        values = counts * self.idf_[columns]
        if len(texts) == 1:  # what a server does all day
            values /= max(float(np.sqrt(values @ values)), TINY)
        else:
            row_of_entry = np.repeat(np.arange(len(texts)), np.diff(starts))
            squares = np.bincount(row_of_entry, weights=values**2, minlength=len(texts))
            values /= np.maximum(np.sqrt(squares), TINY).astype(np.float32)[row_of_entry]
        return SparseRows(starts, columns, values, self.n_features_)

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        """Say where the features of a text are in it, to mark words by how much they counted.

        Returns
        -------
        list of (column, start, end)
            ``text[start:end]`` shows the feature; empty with `hashing`.
        """
        check_is_fitted(self, "idf_")
        if self.vocabulary_ is None:
            return []
        find = SPANS[self.analyzer]
        column_of = self.columns()
        return [
            (column_of[term], start, end)
            for term, start, end in find(text, *self.ngram_range)
            if term in column_of
        ]

    @property
    def ngram_range(self) -> tuple[int, int]:
        """The shortest and the longest n-gram."""
        shortest, longest = NGRAMS[self.analyzer] if self.ngrams is None else self.ngrams
        return shortest, longest

    def _analysis(self) -> dict[str, Any]:
        """Return what tells scikit-learn's vectorizers how to take a text apart."""
        how: dict[str, Any]
        if self.analyzer == "char":
            how = {"preprocessor": fold, "analyzer": "char_wb"}
        else:
            tokenizer = words if self.analyzer == "word" else str.split
            how = {"tokenizer": tokenizer, "token_pattern": None, "lowercase": False}
        return {**how, "ngram_range": self.ngram_range}

    def columns(self) -> dict[str, int]:
        """Return the column of each n-gram; none with `hashing`."""
        if not hasattr(self, "_column_of"):
            self._column_of = {str(term): i for i, term in enumerate(self.vocabulary_ or ())}
        return self._column_of

    def _make_counter(self) -> Counting:
        """Return a function from texts to row starts, columns and counts."""
        if self.vocabulary_ is None:
            hashed = self._hashed_counts()

            def count_hashed(texts: Sequence[str]) -> Counted:
                if not texts:
                    return _counted([0], [], [])
                rows = SparseRows.from_scipy(hashed.transform(texts))
                return rows.starts, rows.columns, rows.values

            return count_hashed

        analyze, find = self.make_analyzer(), self.columns().get

        def count(texts: Sequence[str]) -> Counted:
            starts, columns, counts = [0], [], []
            for text in texts:
                found: dict[int | None, int] = {}
                for column in map(find, analyze(text)):
                    found[column] = found.get(column, 0) + 1
                found.pop(None, None)
                for column in sorted(found):  # type: ignore[type-var]
                    columns.append(column)
                    counts.append(found[column])
                starts.append(len(columns))
            return _counted(starts, columns, counts)

        return count

    def make_analyzer(self) -> Callable[[str], list[str]]:
        """Return scikit-learn's function from a text to its n-grams, with repetitions."""
        analyze: Callable[[str], list[str]] = CountVectorizer(**self._analysis()).build_analyzer()
        return analyze

    def _hashed_counts(self) -> HashingVectorizer:
        return HashingVectorizer(
            **self._analysis(),
            n_features=self.n_buckets,
            norm=None,
            alternate_sign=False,
            dtype=np.float32,
        )

    def _forget(self) -> None:
        for name in ("_count", "_column_of"):
            if hasattr(self, name):
                delattr(self, name)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        return {k: v for k, v in state.items() if k not in ("_count", "_column_of")}

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense, by name and with what would."""
        check_parameters(self)

    def describe(self) -> dict[str, Any]:
        """Return the parameters and sizes as JSON values; `idf_` and `vocabulary_` go with it."""
        return {"parameters": self.get_params(), "n_documents": self.n_documents_}

    @classmethod
    def restored(
        cls, description: Any, idf: npt.NDArray[np.float32], vocabulary: Names | None
    ) -> TextFeatures:
        """Build from what was stored; refuse with a ValueError what does not fit together."""
        parameters = description.get("parameters") if isinstance(description, dict) else None
        known = set(inspect.signature(cls.__init__).parameters) - {"self"}
        if not isinstance(parameters, dict) or not set(parameters) <= known:
            raise ValueError("the parameters of its features are not known")
        if isinstance(parameters.get("ngrams"), list):
            parameters = {**parameters, "ngrams": tuple(parameters["ngrams"])}
        features = cls(**parameters)
        features.check_parameters()
        if bool(features.hashing) == (vocabulary is not None):
            raise ValueError("its features need names, or hashing, and not both")
        n_wanted = features.n_buckets if vocabulary is None else len(vocabulary)
        if len(idf) != n_wanted:
            raise ValueError(f"it has {len(idf)} weights for {n_wanted} features")
        n_documents = description.get("n_documents")
        if type(n_documents) is not int or n_documents < 1:
            raise ValueError(f"its features come from {n_documents!r} texts")
        features.idf_, features.vocabulary_ = idf, vocabulary
        features.n_documents_ = n_documents
        return features


def in_batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Yield lists of at most `size` items."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def _counted(starts: list[int], columns: list[Any], counts: list[int]) -> Counted:
    return (
        np.array(starts, dtype=np.int64),
        np.array(columns, dtype=np.int32),
        np.array(counts, dtype=np.float32),
    )
