"""A model with all that a server asks of it, whether it takes texts or only features."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.estimators.xr_linear import XRLinear
from polyseme.inputs.names import Names
from polyseme.senses.explain import Explanation, explain
from polyseme.server.catalogue import Catalogue
from polyseme.training.update import added_since_training

__all__ = ["Document", "Question", "ServedModel", "Suggested"]

MAX_VALUE = 1e9  # products and sums of larger ones may leave the range of float32

Row = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]
Document = str | Row


@dataclass(frozen=True)
class Question:
    """A document, and which of its labels are wanted."""

    document: Document
    limit: int
    threshold: float | None


class Suggested(NamedTuple):
    """A label and its score; `uri` is what the training data call it, if that is not its name."""

    label: int
    name: str | int
    score: float
    uri: str | None = None


class ServedModel:
    """Answers questions about documents.

    Parameters
    ----------
    name : str
        What clients call it.
    path : Path
    model : XRLinear or TextModel
    """

    def __init__(self, name: str, path: Path, model: Any) -> None:
        self.name, self.path, self.model = name, path, model
        self.takes_texts = hasattr(model, "classifier")  # as a TextModel has one
        self.classifier: XRLinear = model.classifier_ if self.takes_texts else model
        self.feature_names: Names | None = self.classifier.feature_names_
        self.catalogue = (
            Catalogue(model.classifier_, model.label_uris_, model.slot_examples_)
            if self.takes_texts
            else Catalogue(model)
        )
        self.loaded_at = time.time()

    def warm_up(self) -> None:
        """Do now what the first question would have to wait for."""
        self.answer_all([Question(self.row_of([]), 1, None)])
        if self.takes_texts:
            self.answer_all([Question("", 1, None)])
        elif self.feature_names is not None:
            _ = "" in self.feature_names  # makes the index of names

    # Documents

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
        if self.feature_names is not None:
            if name not in self.feature_names:
                raise ValueError(f"Model {self.name!r} has no feature {name[:80]!r}.")
            return self.feature_names.index(name)
        if not (name.isascii() and name.isdecimal() and len(name) < 12):
            raise ValueError(
                f"Model {self.name!r} has no names of features; {name[:80]!r} must be a number."
            )
        return int(name)

    def _matrix(self, rows: Sequence[Row]) -> sp.csr_array:
        starts = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(columns) for columns, _ in rows], out=starts[1:])
        columns = np.concatenate([columns for columns, _ in rows])
        values = np.concatenate([values for _, values in rows])
        return sp.csr_array(
            (values, columns, starts), shape=(len(rows), self.classifier.n_features_in_)
        )

    # Answers

    def answer_all(self, questions: Sequence[Question]) -> list[list[Suggested]]:
        """Return the suggestions for each question, best first."""
        answers: list[list[Suggested]] = [[] for _ in questions]
        groups: dict[tuple[bool, float | None], list[int]] = {}
        for i, question in enumerate(questions):
            key = isinstance(question.document, str), question.threshold
            groups.setdefault(key, []).append(i)
        for (is_text, threshold), members in groups.items():
            documents: list[Any] = [questions[i].document for i in members]
            limit = max(questions[i].limit for i in members)
            ask = self._suggest_texts if is_text else self._suggest_rows
            for i, found in zip(members, ask(documents, limit, threshold), strict=True):
                answers[i] = found[: questions[i].limit]
        return answers

    def _suggest_texts(
        self, texts: list[str], limit: int, threshold: float | None
    ) -> list[list[Suggested]]:
        found = self.model.suggest(texts, limit=limit, threshold=threshold)
        return [[Suggested(*one) for one in row] for row in found]

    def _suggest_rows(
        self, rows: list[Row], limit: int, threshold: float | None
    ) -> list[list[Suggested]]:
        labels, scores = self.classifier.predict_top_k(self._matrix(rows), limit)
        if self.takes_texts:
            found = self.model.name_ranked(labels, scores, threshold)
            return [[Suggested(*one) for one in row] for row in found]
        return [
            [
                Suggested(label, self.catalogue.label_name(label), score)
                for label, score in zip(row_labels, row_scores, strict=True)
                if label >= 0 and (threshold is None or score >= threshold)
            ]
            for row_labels, row_scores in zip(labels.tolist(), scores.tolist(), strict=True)
        ]

    def explain(
        self, document: Document, labels: Sequence[int] | None, n_labels: int, n_words: int
    ) -> Explanation:
        """Explain the labels of one document; see `polyseme.explain`."""
        if isinstance(document, str):
            X = self.model.features_.transform([document])
        else:
            X = self._matrix([document])
        return explain(self.classifier, X, labels, n_labels=n_labels, n_features=n_words)

    def shown_score(self, bare: float | None) -> float | None:
        """Return a score of the classifier as suggestions show it: a probability, for texts."""
        if bare is None or not self.takes_texts:
            return bare
        return float(self.model.calibration_(bare))

    def spans(self, document: Document) -> list[tuple[int, int, int]]:
        """Return (feature, start, end) for everything that counts in a text."""
        if not isinstance(document, str):
            return []
        found: list[tuple[int, int, int]] = self.model.features_.spans(document)
        return found

    # What the model keeps of its training

    @property
    def report(self) -> dict[str, Any] | None:
        """The evaluation that the model keeps, if it keeps one."""
        return (self.model.report_ or None) if self.takes_texts else None

    @property
    def added_since_report(self) -> dict[str, int] | None:
        """Documents and labels that the report does not know, if there are any."""
        return None if self.report is None else added_since_training(self.classifier)

    @property
    def phase_seconds(self) -> dict[str, float]:
        """What each phase of the training took; for texts, reading and measuring as well."""
        return dict(
            self.model.phase_seconds_ if self.takes_texts else self.classifier.phase_seconds_
        )

    @property
    def has_probabilities(self) -> bool:
        """Whether scores of suggestions were turned into probabilities by held-out texts."""
        return self.takes_texts and self.model.calibration_.method != "none"

    @property
    def threshold(self) -> float | None:
        """The least score of a suggestion unless a client says otherwise, if there is one."""
        return float(self.model.threshold_) if self.takes_texts else None
