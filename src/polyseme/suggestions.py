"""Suggested labels, the same for every kind of model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polyseme.inputs.names import Names, name_of

__all__ = ["Suggestion", "named_suggestions"]


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
        What the training data call it, where a vocabulary gave it another name.
    """

    label: int
    name: str | int
    score: float
    uri: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values, without a URI where there is none."""
        found = {"label": self.label, "name": self.name, "score": round(self.score, 6)}
        return found if self.uri is None else {**found, "uri": self.uri}


def named_suggestions(
    labels: npt.NDArray[np.int32],
    scores: npt.NDArray[Any],
    least: float | None,
    label_names: Names | None,
    label_uris: Names | None = None,
) -> list[list[Suggestion]]:
    """Turn the label numbers and scores of each document into suggestions.

    Parameters
    ----------
    labels : ndarray of int32, shape (n_documents, k)
        Best first, padded with -1.
    scores : ndarray of float, shape (n_documents, k)
    least : float or None
        Suggestions with a lower score are left out.
    label_names, label_uris : Names or None
    """
    kept = labels >= 0
    if least is not None:
        kept &= scores >= least
    return [
        [
            Suggestion(
                label,
                name_of(label_names, label),
                score,
                None if label_uris is None else str(label_uris[label]),
            )
            for label, score in zip(
                labels[i, kept[i]].tolist(), scores[i, kept[i]].tolist(), strict=True
            )
        ]
        for i in range(len(labels))
    ]
