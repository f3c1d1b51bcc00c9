"""Suggested labels, the same for every kind of model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polyseme.estimators.predicting import check_k
from polyseme.inputs.names import Names, name_of
from polyseme.senses.called import sense_name
from polyseme.senses.describe import senses_in
from polyseme.senses.naming import N_OTHER_LABELS

if TYPE_CHECKING:
    import pandas

    from polyseme.estimators.partitioned import PartitionedClassifier

__all__ = [
    "SuggestedSense",
    "Suggestion",
    "as_frame",
    "named_suggestions",
    "suggest",
    "suggested_sense",
]

# The least score of a suggestion: of all labels, of each of them, or none.
Least = float | npt.NDArray[np.float64] | None


class SuggestedSense(NamedTuple):
    """The sense in which a document has a label.

    Attributes
    ----------
    place : int
        Which of the senses that `polyseme.senses.senses_of` lists, from 0.
    name : str
        What tells it from the others.
    """

    place: int
    name: str


class Suggestion(NamedTuple):
    """A label for a document.

    Attributes
    ----------
    label : int
        Its number in the classifier.
    name : str or int
        Its number where the model knows no names.
    score : float
        The probability that it is right, as far as held-out documents tell; where there were
        none, the bare score.
    uri : str or None
        Its URI in the vocabulary that named it; what the data call it if that does not know it.
    sense : SuggestedSense or None
        Only of a label that has several.
    """

    label: int
    name: str | int
    score: float
    uri: str | None = None
    sense: SuggestedSense | None = None

    def __repr__(self) -> str:
        meant = "" if self.sense is None else f" ({self.sense.name})"
        return f"<Suggestion {self.score:.3f} {self.name!s}{meant}>"

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values, without a URI or a sense where there is none."""
        found: dict[str, Any] = {
            "label": self.label,
            "name": self.name,
            "score": round(self.score, 6),
        }
        if self.uri is not None:
            found["uri"] = self.uri
        if self.sense is not None:
            found["sense"] = self.sense._asdict()
        return found


def as_frame(found: Sequence[Sequence[Suggestion]]) -> pandas.DataFrame:
    """Return the suggestions for documents as a data frame of pandas, one row per suggestion.

    Parameters
    ----------
    found : list of list of Suggestion
        As `suggest` gives it.

    Returns
    -------
    DataFrame
        With the columns document (from 0), name, score, sense, uri and label. A document without
        a suggestion has a row of its own, with nothing but its number.
    """
    try:
        import pandas
    except ImportError:
        raise ValueError("a data frame needs pandas; install it (pip install pandas).") from None
    rows: list[tuple[Any, ...]] = []
    for document, suggestions in enumerate(found):
        rows += [
            (document, str(one.name), one.score, one.sense and one.sense.name, one.uri, one.label)
            for one in suggestions
        ] or [(document, None, None, None, None, None)]
    columns = ["document", "name", "score", "sense", "uri", "label"]
    return pandas.DataFrame(rows, columns=columns).astype({"label": "Int64", "score": float})


def suggest(
    model: PartitionedClassifier,
    X: Any,
    limit: int,
    least: Least,
    *,
    at_least: int = 0,
    shown: Callable[[npt.NDArray[Any]], npt.NDArray[Any]] = lambda scores: scores,
    label_uris: Names | None = None,
) -> list[list[Suggestion]]:
    """Return labels for each document, best first, with the senses of those that have several.

    Parameters
    ----------
    model : estimator
    X : sparse matrix, array, or tuple of both, shape (n_documents, n_features)
    limit : int
        Most labels per document.
    least : float, ndarray of shape (n_labels,), or None
        Suggestions with a lower score are left out.
    at_least : int
        So many suggestions stay in any case.
    shown : callable
        From bare scores to those that are shown.
    """
    n_labels = min(check_k(limit, "limit"), model.n_labels_)
    if not 0 <= at_least <= limit:
        raise ValueError(f"at_least must be from 0 to the limit, {limit}, not {at_least}.")
    has_senses = model.senses_ is not None and model.senses_.n_shown > 0
    n_ranked = min(max(n_labels, N_OTHER_LABELS), model.n_labels_) if has_senses else n_labels
    ranked = model.predict_top_k(X, n_ranked)
    labels, scores = ranked[0][:, :n_labels], shown(ranked[1][:, :n_labels])
    senses = None
    if has_senses:
        # No more than these, so that no sense depends on how many labels are wanted.
        others = ranked[0][:, :N_OTHER_LABELS], ranked[1][:, :N_OTHER_LABELS]
        senses = senses_in(model, X, labels, ranked=others)
    return named_suggestions(
        model, labels, scores, least, at_least=at_least, label_uris=label_uris, senses=senses
    )


def suggested_sense(model: PartitionedClassifier, sense: int) -> SuggestedSense | None:
    """Return a sense by its number in the model's layer; None for -1."""
    if sense < 0 or model.senses_ is None:
        return None
    return SuggestedSense(model.senses_.place_of(sense), sense_name(model, sense))


def named_suggestions(
    model: PartitionedClassifier,
    labels: npt.NDArray[np.int32],
    scores: npt.NDArray[Any],
    least: Least,
    *,
    at_least: int = 0,
    label_uris: Names | None = None,
    senses: npt.NDArray[np.int64] | None = None,
) -> list[list[Suggestion]]:
    """Turn the label numbers and scores of each document into suggestions.

    Parameters
    ----------
    labels : ndarray of int32, shape (n_documents, k)
        Best first, padded with -1.
    scores : ndarray of float, shape (n_documents, k)
    least : float, ndarray of shape (n_labels,), or None
        Suggestions with a lower score are left out.
    at_least : int
        The first ones stay in any case.
    label_uris : Names or None
    senses : ndarray of int64, shape (n_documents, k), optional
        As from `polyseme.senses.senses_in`.
    """
    kept = labels >= 0
    if least is not None:
        is_enough = scores >= (least if np.ndim(least) == 0 else np.asarray(least)[labels])
        is_enough[:, :at_least] = True
        kept &= is_enough
    if senses is None:
        senses = np.full(labels.shape, -1, dtype=np.int64)
    return [
        [
            Suggestion(
                label,
                name_of(model.label_names_, label),
                score,
                None if label_uris is None else str(label_uris[label]),
                suggested_sense(model, sense),
            )
            for label, score, sense in zip(
                labels[i, kept[i]].tolist(),
                scores[i, kept[i]].tolist(),
                senses[i, kept[i]].tolist(),
                strict=True,
            )
        ]
        for i in range(len(labels))
    ]
