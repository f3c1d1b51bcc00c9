"""Why a text model suggests a label."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from polyseme.senses.explain import Explanation, LabelExplanation, explain

if TYPE_CHECKING:
    from polyseme.text.suggesting import Suggesting

__all__ = ["explain_text"]


def explain_text(
    model: Suggesting,
    text: str,
    labels: Iterable[str | int] | None,
    n_labels: int,
    n_words: int,
) -> Explanation:
    """Explain labels of one text, with scores as they are suggested; see `TextModel.explain`."""
    if not isinstance(text, str):
        raise ValueError(f"text must be one text, not {text!r:.80}.")
    if isinstance(labels, str):
        raise ValueError(f"labels must be a list of labels, not {labels!r}.")
    found = explain(
        model.classifier_,
        model.as_documents([text]),
        None if labels is None else [model.label_number(label) for label in labels],
        n_labels=n_labels,
        n_features=n_words,
    )

    def as_shown(one: LabelExplanation) -> LabelExplanation:
        if one.score is None:
            return one
        return replace(one, score=float(model.calibration_(one.score)))

    return replace(found, labels=[as_shown(one) for one in found.labels])
