"""A model with all that a server asks of it, whether it takes texts or only features."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.inputs.names import number_of
from polyseme.senses.explain import Explanation
from polyseme.senses.plane import Plane
from polyseme.server.catalogue import Catalogue
from polyseme.server.packed import Packed
from polyseme.suggestions import Suggestion
from polyseme.tagger import tagger_for

__all__ = ["Document", "Question", "ServedModel", "as_json"]

MAX_VALUE = 1e9  # products and sums of larger ones may leave the range of float32

Row = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]
Document = str | Row


@dataclass(frozen=True)
class Question:
    """A document, and which of its labels are wanted."""

    document: Document
    limit: int
    threshold: float | None


class ServedModel:
    """Answers questions about documents.

    Parameters
    ----------
    name : str
        What clients call it.
    path : Path
    model : estimator or TextModel
    fingerprint : str, optional
        Of the folder as it was when the model was read; None if it may have changed.
    """

    def __init__(self, name: str, path: Path, model: Any, fingerprint: str | None = None) -> None:
        self.name, self.path, self.tagger = name, path, tagger_for(model)
        self.fingerprint = fingerprint
        self.classifier = self.tagger.classifier
        self.catalogue = Catalogue(self.tagger)
        self.loaded_at = time.time()
        self.saved_at = _saved_at(path)

    def warm_up(self) -> None:
        """Do now what the first question would have to wait for."""
        if not self.needs_texts:
            self.answer_all([Question(self.row_of([]), 1, None)])
        if self.tagger.takes_texts:
            self.answer_all([Question("", 1, None)])
        elif self.classifier.feature_names_ is not None:
            _ = "" in self.classifier.feature_names_  # makes the index of names

    # Documents

    @property
    def needs_texts(self) -> bool:
        """Whether features alone are not enough, because the classifier reads the text."""
        return self.tagger.takes_texts and self.classifier.reads_texts

    @property
    def keeps_training_data(self) -> bool:
        """Whether more documents can be learned without those that it was trained on."""
        return getattr(self.tagger.model, "training_data_", None) is not None

    def count_known_words(self, document: Document) -> int | None:
        """Return how many places of a text the model has a word for; None where nobody knows."""
        if not isinstance(document, str) or self.classifier.feature_names_ is None:
            return None
        return len(self.tagger.spans(document))

    def row_of(self, features: Mapping[str, float] | Sequence[tuple[int, float]]) -> Row:
        """Return features, by name or as pairs of number and value, as a row.

        Raises
        ------
        ValueError
            If there is no such feature, or a value cannot be used.
        """
        if isinstance(features, Mapping):
            columns = [self._column(name) for name in features]
            values = np.array(list(features.values()), dtype=np.float64)
        else:
            columns = [column for column, _ in features]
            values = np.array([value for _, value in features], dtype=np.float64)
        if columns and not 0 <= min(columns) <= max(columns) < self.classifier.n_features_in_:
            raise ValueError(
                f"Model {self.name!r} has features 0 to {self.classifier.n_features_in_ - 1}; "
                "a number is outside."
            )
        if not (np.abs(values) <= MAX_VALUE).all():
            raise ValueError(
                f"Values of features must lie between {-MAX_VALUE:g} and {MAX_VALUE:g}."
            )
        row = np.array(columns, dtype=np.int32)
        order = np.argsort(row)
        row, values = row[order], values[order]
        if (row[1:] == row[:-1]).any():
            raise ValueError("A feature is given twice.")
        kept = values != 0
        return row[kept], values[kept].astype(np.float32)

    def _column(self, name: str) -> int:
        names, n_features = self.classifier.feature_names_, self.classifier.n_features_in_
        try:
            return number_of(name, names, n_features, noun="feature", hints=False)
        except ValueError as error:
            raise ValueError(f"Model {self.name!r}: {error}.") from None

    def _matrix(self, rows: Sequence[Row]) -> sp.csr_array:
        starts = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(columns) for columns, _ in rows], out=starts[1:])
        columns = np.concatenate([columns for columns, _ in rows])
        values = np.concatenate([values for _, values in rows])
        return sp.csr_array(
            (values, columns, starts), shape=(len(rows), self.classifier.n_features_in_)
        )

    # Answers

    def answer_all(self, questions: Sequence[Question]) -> list[list[Suggestion]]:
        """Return the suggestions for each question, best first."""
        answers: list[list[Suggestion]] = [[] for _ in questions]
        for kind in (str, tuple):
            members = [i for i, one in enumerate(questions) if isinstance(one.document, kind)]
            if not members:
                continue
            # All at once, whatever threshold each has: an encoder shares its work among texts.
            limit = max(questions[i].limit for i in members)
            least = [self.tagger.checked_threshold(questions[i].threshold) for i in members]
            known = [one for one in least if one is not None]
            lowest = min(known) if len(known) == len(members) else None
            documents = self._together([questions[i].document for i in members])
            found = self.tagger.suggest(documents, limit, lowest)
            for i, own, suggestions in zip(members, least, found, strict=True):
                kept = [one for one in suggestions if own is None or one.score >= own]
                answers[i] = kept[: questions[i].limit]
        return answers

    def _together(self, documents: Sequence[Document]) -> Any:
        """Return documents of one kind as the model takes them."""
        texts = [one for one in documents if isinstance(one, str)]
        return texts or self._matrix([one for one in documents if not isinstance(one, str)])

    def explain(
        self, document: Document, labels: Sequence[int] | None, n_labels: int, n_words: int
    ) -> Explanation:
        """Explain the labels of one document; see `polyseme.explain`."""
        one = self._together([document])
        return self.tagger.explain(one, labels, n_labels=n_labels, n_features=n_words)

    def shown_score(self, score: float | None) -> float | None:
        """Return a score of the classifier as suggestions show it; see `Tagger.shown`."""
        return None if score is None else float(self.tagger.shown(score))

    def plane_as_json(self, plane: Plane | None) -> Packed:
        """Return where labels lie, as it is sent; with 100,000 of them that is worth keeping."""
        plain = as_json({"model": self.name, **self.catalogue.plane(plane)})
        return Packed.of(plain, "application/json")

    def spans(self, document: Document) -> list[tuple[int, int, int]]:
        """Return (feature, start, end) for everything that counts in a text."""
        return self.tagger.spans(document) if isinstance(document, str) else []


def as_json(content: Any) -> bytes:
    """Return plain values as they are sent."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _saved_at(path: Path) -> float | None:
    try:
        return (path / "model.json").stat().st_mtime
    except OSError:
        return None
