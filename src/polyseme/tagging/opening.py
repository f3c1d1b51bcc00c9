"""The face that fits a model, loaded or just trained: one of texts knows some answers better."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from polyseme.files.loading import load
from polyseme.suggestions import Least
from polyseme.tagging.any_model import LabelledRows, Tagger

if TYPE_CHECKING:
    from polyseme.text.corpora.records import Record
    from polyseme.text.model import TextModel

__all__ = ["open_tagger", "tagger_for"]


def open_tagger(path: str | os.PathLike[str], *, n_jobs: int | None = None) -> Tagger:
    """Load a saved model, whatever its kind; see `polyseme.load`."""
    return tagger_for(load(path, n_jobs=n_jobs))


def tagger_for(model: Any) -> Tagger:
    """Return the face of a trained model: an estimator, or a `TextModel`."""
    return TextTagger(model) if getattr(model, "takes_texts", False) else Tagger(model)


class TextTagger(Tagger):
    """A trained `TextModel`. Documents are texts, or matrices of the features it makes of them."""

    takes_texts = True

    def __init__(self, model: TextModel) -> None:
        super().__init__(model)
        self.model: TextModel = model
        self.classifier = model.classifier_
        self.label_uris, self.vocabulary = model.shown_uris, model.vocabulary_
        self.threshold = float(model.threshold_)
        self.report = model.report_

    @property
    def has_probabilities(self) -> bool:
        return self.model.has_probabilities

    def label_number(self, label: str | int) -> int:
        return self.model.label_number(label)

    def rows(self, documents: Any) -> Any:
        if hasattr(documents, "shape"):
            return documents
        return self.model.as_documents(documents)

    def shown(self, scores: Any) -> Any:
        return self.model.calibration_(scores)

    def checked_threshold(self, threshold: float | None) -> float | None:
        return self.model.checked_threshold(threshold)

    def least(self, threshold: float | None) -> Least:
        return self.model.least(threshold)

    def evaluate(self, documents: Any, labels: Any = None, **how: Any) -> dict[str, Any]:
        return self.model.evaluate(_records(documents, labels), **how)

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        return self.model.features_.spans(text)

    def _with_label(self, label: int, documents: Any, labels: Any, texts: Any) -> LabelledRows:
        from polyseme.text.sense_texts import rows_with_label

        return LabelledRows(*rows_with_label(self.model, label, _records(documents, labels)))

    def examples(self, label: int, place: int | None = None) -> list[str]:
        return self.model.examples_of(label, place)

    @property
    def phase_seconds(self) -> dict[str, float]:
        return dict(self.model.phase_seconds_)

    def settings_of_texts(self) -> dict[str, Any]:
        own = ("held_out", "refit", "precision", "per_label", "examples", "keep_data")
        return {
            **self.model.features_.describe()["parameters"],
            "ngrams": self.model.features_.ngram_range,
            **{name: getattr(self.model, name) for name in own},
        }

    def about_texts(self) -> dict[str, Any]:
        return {
            "features": self.model.features_.describe()["parameters"],
            "calibration": self.model.calibration_.method,
            "threshold": self.threshold,
            "reading": self.model.reading_,
            "n_without_labels": self.model.n_without_labels_,
            "report": self.report,
            "added_since_report": self.added_since_report,
        }


def _records(documents: Any, labels: Any) -> Iterable[Record]:
    """Return texts with their labels; `documents` are records already where `labels` is None."""
    from polyseme.text.problem import Pairs

    if documents is None:
        return ()
    found: Iterable[Record] = documents if labels is None else Pairs(documents, labels)
    return found
