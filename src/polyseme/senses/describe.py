"""The senses of a label, in words: what goes with each, and what tells it from the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels
from polyseme.inputs.names import name_of
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.senses.called import sense_name, telling
from polyseme.senses.layer import SHOWN_FROM, SenseLayer, check_at_least
from polyseme.senses.naming import N_OTHER_LABELS, name_senses, weights_of_scores
from polyseme.senses.slots import label_name, label_number, largest_slots
from polyseme.senses.words import slot_words
from polyseme.training.disentangle import what_the_ranker_sees
from polyseme.training.with_slots import check_has_slots

if TYPE_CHECKING:
    from polyseme.estimators.partitioned import PartitionedClassifier as Model

__all__ = [
    "AmbiguousLabel",
    "Sense",
    "ambiguity",
    "ambiguous_labels",
    "most_ambiguous",
    "senses_in",
    "senses_of",
]

N_WORDS_SHOWN = 6


@dataclass(frozen=True)
class Sense:
    """One sense of a label.

    Attributes
    ----------
    name : str
        What tells it from the label's other senses: the labels that go with it, or its words.
        Empty for a label with one meaning.
    share : float
        The part of the label's training documents that have it, from 0 to 1.
    n_documents : int
        How many these are.
    labels : list of (str or int, float)
        Other labels of its documents that are rarer in the label's other senses, by name if the
        model knows names, the most telling first.
    words : list of (str or int, float)
        The same for features.
    documents : list of int
        Rows of the given data that have the label in this sense; without data, rows of the
        training data, the most typical first.
    examples : list of str
        Beginnings of texts that belong to it, where texts are known.
    label_numbers, word_numbers : list of int
        The numbers of what `labels` and `words` list, in the same order.
    """

    name: str
    share: float
    n_documents: int
    labels: list[tuple[str | int, float]]
    words: list[tuple[str | int, float]]
    documents: list[int] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    label_numbers: list[int] = field(default_factory=list)
    word_numbers: list[int] = field(default_factory=list)

    def __repr__(self) -> str:
        meant = f"Sense {self.name!r}" if self.name else "Only meaning"
        words = ", ".join(str(word) for word, _ in self.words[:N_WORDS_SHOWN])
        of_words = f": {words}" if words else ""
        return f"<{meant}, {self.share:.0%} of documents ({self.n_documents:,}){of_words}>"


class AmbiguousLabel(NamedTuple):
    """A label that is likely ambiguous.

    Attributes
    ----------
    label : int
    name : str or int
        Its number where the model knows no names.
    ambiguity : float
        How likely it is ambiguous.
    senses : list of str
        The names of its senses, the one with most documents first.
    """

    label: int
    name: str | int
    ambiguity: float
    senses: list[str]

    def __repr__(self) -> str:
        return f"<{self.name!s}, ambiguous with {self.ambiguity:.0%}: {' / '.join(self.senses)}>"


def ambiguity(model: Model) -> npt.NDArray[np.float32]:
    """Return how likely each label is ambiguous, shape (n_labels,).

    Not a number where a label has too few documents to be judged, or the model has no senses.
    """
    check_has_slots(model)
    found = np.full(model.n_labels_, np.nan, dtype=np.float32)
    if model.senses_ is not None:
        found[model.senses_.labels] = model.senses_.probabilities
    return found


def most_ambiguous(
    model: Model, n: int = 10, *, at_least: float = SHOWN_FROM
) -> list[tuple[str | int, float]]:
    """Return the labels that are most likely ambiguous.

    Returns
    -------
    list of (name or number, float)
        With that probability, highest first; of equal ones the more frequent first.
    """
    check_has_slots(model)
    likely = _by_ambiguity(model.senses_, model.label_counts_, at_least)[:n]
    return [(label_name(model, label), probability) for label, probability in likely]


def ambiguous_labels(
    model: Model, n: int = 10, *, at_least: float = SHOWN_FROM
) -> list[AmbiguousLabel]:
    """Return what `most_ambiguous` does, with the names of the senses of each label."""
    check_has_slots(model)
    layer = model.senses_
    if layer is None:
        return []
    return [
        AmbiguousLabel(
            label,
            label_name(model, label),
            probability,
            [sense_name(model, sense) for sense in layer.senses_of(label, at_least=0)],
        )
        for label, probability in _by_ambiguity(layer, model.label_counts_, at_least)[:n]
    ]


def _by_ambiguity(
    layer: SenseLayer | None, label_counts: npt.NDArray[Any], at_least: float
) -> list[tuple[int, float]]:
    """Return likely ambiguous labels with that probability, most likely and frequent first."""
    check_at_least(at_least)
    if layer is None:
        return []
    likely = np.flatnonzero(layer.probabilities >= at_least)
    counts = label_counts[layer.labels[likely]]
    order = likely[np.lexsort((likely, -counts, -layer.probabilities[likely]))]
    return list(
        zip(layer.labels[order].tolist(), layer.probabilities[order].tolist(), strict=True)
    )


def senses_of(
    model: Model,
    label: str | int,
    X: Any = None,
    Y: Any = None,
    *,
    at_least: float = SHOWN_FROM,
    n_labels: int = 8,
    n_words: int = 10,
    n_documents: int = 5,
) -> list[Sense]:
    """Describe each sense of a label.

    Parameters
    ----------
    model : estimator
    label : str or int
        A name, if the model has names, or a label's number.
    X, Y : optional
        Documents and their labels; if given, each sense lists documents of the label that have
        it.
    at_least : float
        Labels that are less likely ambiguous have one meaning. With 0 every label that could be
        judged is shown as it was split.
    n_labels, n_words, n_documents : int
        How many of each to list at most.

    Returns
    -------
    list of Sense
        The one with most documents first; a single one for a label with one meaning.
    """
    check_has_slots(model)
    number = label_number(model, label)
    layer = model.senses_
    own = range(0) if layer is None else layer.senses_of(number, at_least)
    documents: dict[int, list[int]] = {}
    if X is not None and Y is not None:
        documents = _documents_of(model, number, X, Y, n_documents, at_least)
    if layer is None or len(own) == 0:
        return [_only_meaning(model, number, n_labels, n_words, documents.get(-1, []))]
    beside, words = telling(layer.beside, own, n_labels), telling(layer.words, own, n_words)
    total = max(1, int(layer.counts[own.start : own.stop].sum()))
    found = []
    for place, sense in enumerate(own):
        labels = [(label_name(model, i), weight) for i, weight in beside[place]]
        features = [(name_of(model.feature_names_, i), weight) for i, weight in words[place]]
        rows = layer.typical[sense]
        found.append(
            Sense(
                name=sense_name(model, sense),
                share=float(layer.counts[sense] / total),
                n_documents=int(layer.counts[sense]),
                labels=labels,
                words=features,
                documents=(
                    rows[rows >= 0][:n_documents].tolist()
                    if X is None
                    else documents.get(sense, [])
                ),
                label_numbers=[i for i, _ in beside[place]],
                word_numbers=[i for i, _ in words[place]],
            )
        )
    return found


def senses_in(
    model: Model,
    X: Any,
    labels: npt.NDArray[Any],
    *,
    ranked: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None,
    at_least: float = SHOWN_FROM,
) -> npt.NDArray[np.int64]:
    """Find the sense in which each document has each of some labels.

    Parameters
    ----------
    model : estimator
    X : sparse matrix, array, or tuple of both, shape (n_documents, n_features)
    labels : ndarray of int, shape (n_documents, k)
        Labels of each document, such as `predict_top_k` gives; -1 for none.
    ranked : (labels, scores), optional
        What `predict_top_k` gave for the documents, if it is known already.

    Returns
    -------
    ndarray of int64, shape (n_documents, k)
        Numbers of senses in ``model.senses_``; -1 where a label has one meaning.
    """
    found = np.full(labels.shape, -1, dtype=np.int64)
    layer = model.senses_
    if layer is None:
        return found
    document, place = np.nonzero(layer.has_senses(labels, at_least))
    if len(document) == 0:
        return found
    needed, document_of_pair = np.unique(document, return_inverse=True)
    documents = check_features(X, layout=model.layout_).take(needed)
    if ranked is None:
        ranked = model.predict_top_k(documents, min(N_OTHER_LABELS, model.n_labels_))
    else:
        ranked = ranked[0][needed], ranked[1][needed]
    seen = what_the_ranker_sees(model.matcher_, documents, model._run())
    found[document, place] = name_senses(
        layer,
        seen.all_sparse(),
        _as_rows(ranked[0], ranked[1], model.n_labels_),
        document_of_pair,
        labels[document, place],
        at_least=at_least,
        n_threads=model._run().n_threads,
    )
    return found


def _as_rows(labels: npt.NDArray[Any], scores: npt.NDArray[Any], n_labels: int) -> SparseRows:
    """Return ranked labels with positive scores as sparse rows."""
    kept = (labels >= 0) & (scores > 0)
    order = np.argsort(np.where(kept, labels, n_labels), axis=1, kind="stable")
    kept = np.take_along_axis(kept, order, axis=1)
    starts = np.zeros(len(labels) + 1, dtype=np.int64)
    np.cumsum(kept.sum(axis=1), out=starts[1:])
    return SparseRows(
        starts,
        np.take_along_axis(labels, order, axis=1)[kept].astype(np.int32),
        weights_of_scores(np.take_along_axis(scores, order, axis=1)[kept]),
        n_labels,
    )


def _only_meaning(
    model: Model, label: int, n_labels: int, n_words: int, documents: list[int]
) -> Sense:
    words = slot_words(model, largest_slots(model, label)[0], n_words)
    beside: list[tuple[int, float]] = []
    layer = model.senses_
    own = range(0) if layer is None else layer.senses_of(label, at_least=0)
    if layer is not None and len(own):
        counts = layer.counts[own.start : own.stop]
        whole = counts @ layer.beside.rows(own.start, own.stop).to_scipy()
        order = np.argsort(-whole, kind="stable")[:n_labels]
        whole = whole / max(1e-12, float(np.linalg.norm(whole)))
        beside = [(int(i), float(whole[i])) for i in order if whole[i] > 0]
    return Sense(
        name="",
        share=1.0,
        n_documents=int(model.label_counts_[label]),
        labels=[(label_name(model, i), weight) for i, weight in beside],
        words=[(word.name, word.weight) for word in words],
        documents=documents,
        label_numbers=[i for i, _ in beside],
        word_numbers=[word.feature for word in words],
    )


def _documents_of(
    model: Model, label: int, X: Any, Y: Any, n: int, at_least: float
) -> dict[int, list[int]]:
    """Return rows of the data with the label under the sense that each has; -1 for no sense."""
    features = check_features(X, layout=model.layout_)
    if features.n_rows == 0:
        return {}
    known = None if model.label_names_ is None else list(model.label_names_)
    labels, _ = check_labels(Y, features.n_rows, label_names=known)
    entries = np.flatnonzero(labels.columns == label)
    rows = np.searchsorted(labels.starts, entries, side="right") - 1
    if len(rows) == 0:
        return {}
    layer = model.senses_
    if layer is None or len(layer.senses_of(label, at_least)) == 0:
        return {-1: rows[:n].tolist()}
    seen = what_the_ranker_sees(model.matcher_, features.take(rows), model._run())
    own = labels.take(rows)
    others = SparseRows(
        own.starts, own.columns, np.ones(own.n_stored, dtype=np.float32), own.n_columns
    )
    senses = name_senses(
        layer,
        seen.all_sparse(),
        others,
        np.arange(len(rows)),
        np.full(len(rows), label),
        at_least=at_least,
    )
    return {int(s): rows[senses == s][:n].tolist() for s in np.unique(senses)}
