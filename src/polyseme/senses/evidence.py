"""Why a document has a label in one sense and not in another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polyseme.inputs.features import check_features
from polyseme.inputs.names import name_of
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.senses.called import sense_name
from polyseme.senses.describe import senses_in
from polyseme.senses.naming import N_OTHER_LABELS, weights_of_scores
from polyseme.senses.slots import label_name
from polyseme.training.disentangle import what_the_ranker_sees

if TYPE_CHECKING:
    from polyseme.estimators.partitioned import PartitionedClassifier as Model

__all__ = ["SenseEvidence", "TellingLabel", "TellingWord", "sense_evidence"]

Entries = tuple[npt.NDArray[Any], npt.NDArray[np.float64]]


@dataclass(frozen=True)
class TellingWord:
    """What a feature adds to the lead of the document's sense; below zero it speaks against it."""

    feature: int
    name: str | int
    amount: float


@dataclass(frozen=True)
class TellingLabel:
    """The same for another label that the model gives to the document."""

    label: int
    name: str | int
    amount: float


@dataclass(frozen=True)
class SenseEvidence:
    """The sense in which a document has a label, and what tells it.

    Attributes
    ----------
    place : int
        Which of the senses that `polyseme.senses.senses_of` lists, from 0.
    name : str
        What tells it from the others.
    against : int
        The place of the sense that comes next; amounts are what each thing adds to the lead over
        it.
    words : list of TellingWord
        Those of largest magnitude first.
    labels : list of TellingLabel
    """

    place: int
    name: str
    against: int
    words: list[TellingWord]
    labels: list[TellingLabel]


def sense_evidence(
    model: Model, X: Any, labels: Iterable[int], *, n_words: int = 20
) -> dict[int, SenseEvidence]:
    """Find the sense in which one document has each of some labels, and what tells it.

    Parameters
    ----------
    model : estimator
    X : sparse matrix, array, or tuple of both, shape (1, n_features)
    labels : iterable of int
    n_words : int
        How many features to list at most.

    Returns
    -------
    dict of int to SenseEvidence
        By label; those with one meaning are left out.
    """
    layer = model.senses_
    several = [] if layer is None else [i for i in labels if len(layer.senses_of(i)) > 0]
    if layer is None or not several:
        return {}
    document = check_features(X, layout=model.layout_)
    ranked = model.predict_top_k(document, min(N_OTHER_LABELS, model.n_labels_))
    senses = senses_in(model, document, np.array([several]), ranked=ranked)[0].tolist()
    seen = what_the_ranker_sees(model.matcher_, document, model._run())
    features = _unit(*seen.all_sparse().row(0))
    given = (ranked[0][0] >= 0) & (ranked[1][0] > 0)
    others = ranked[0][0][given], weights_of_scores(ranked[1][0][given])

    found = {}
    for label, sense in zip(several, senses, strict=True):
        own = layer.senses_of(label)
        is_other = others[0] != label
        beside = _unit(others[0][is_other], others[1][is_other])
        by_word, by_label = _parts(layer.words, own, features), _parts(layer.beside, own, beside)
        near = by_word.sum(axis=1) + by_label.sum(axis=1)
        place = sense - own.start
        near[place] = -np.inf
        against = int(np.argmax(near))
        words = _strongest(features[0], by_word[place] - by_word[against])[:n_words]
        told = _strongest(beside[0], by_label[place] - by_label[against])
        found[label] = SenseEvidence(
            place=place,
            name=sense_name(model, sense),
            against=against,
            words=[
                TellingWord(i, name_of(model.feature_names_, i), amount) for i, amount in words
            ],
            labels=[TellingLabel(i, label_name(model, i), amount) for i, amount in told],
        )
    return found


def _unit(columns: npt.NDArray[Any], values: npt.NDArray[Any]) -> Entries:
    length = float(np.linalg.norm(values))
    return columns, values.astype(np.float64) / (length if length > 0 else 1.0)


def _parts(rows: SparseRows, own: range, entries: Entries) -> npt.NDArray[np.float64]:
    """Return what each entry of a document adds to its cosine with each sense of a label."""
    columns, values = entries
    of_senses = rows.rows(own.start, own.stop).to_scipy()[:, columns].toarray()
    products: npt.NDArray[np.float64] = of_senses * values
    return products


def _strongest(
    columns: npt.NDArray[Any], amounts: npt.NDArray[np.float64]
) -> list[tuple[int, float]]:
    order = np.lexsort((columns, -np.abs(amounts)))
    return [(int(columns[i]), float(amounts[i])) for i in order if amounts[i] != 0]
