"""More texts and new labels for a trained text model."""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from polyseme.inputs.documents import Documents
from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.progress import Progress
from polyseme.text.corpora.records import Record
from polyseme.text.examples import Examples, best_documents
from polyseme.text.features import TextFeatures, in_batches
from polyseme.text.problem import RowBuffer
from polyseme.training.update import Update, update_stacked

if TYPE_CHECKING:
    from polyseme.estimators.partitioned import PartitionedClassifier
    from polyseme.text.model import TextModel

__all__ = ["update_text_model"]

TEXTS_AT_ONCE = 512
MOST_UNKNOWN_WORDS = 0.25  # a rule of thumb: rare words make up a tenth of most new texts
FEWEST_WORDS_TO_JUDGE = 200  # a single short text may well be about something new


def update_text_model(
    model: TextModel,
    records: Iterable[Record],
    old: Iterable[Record] | None,
    label_names: Mapping[str, str] | None,
    retrain_matcher: bool,
) -> Update:
    """Update a text model in place, at the very end; see `TextModel.update`."""
    if not hasattr(model, "classifier_"):
        raise ValueError("the model is not trained yet; call fit before update.")
    if iter(records) is records:
        raise ValueError(
            "the new texts can be walked through only once, but two passes are needed; give a "
            "list, or an object whose __iter__ starts again."
        )
    if old is None and model.training_data_ is None:
        raise ValueError(
            "changed clusters are trained on their old documents too, which the model does not "
            "hold; give those it was trained on as old, or train it with keep_data=True."
        )
    numbers = _LabelNumbers(model)
    progress = Progress(enabled=bool(model.verbose))
    with progress:
        with progress.phase("Reading new texts") as step:
            unknown = _UnknownWords(model.features_)
            labelled = (record for record in records if record.labels)
            X_new, Y_new = _read(unknown.count(labelled), model.features_, numbers, step)
            if X_new.n_rows == 0:
                raise ValueError("none of the new documents has a label; there is nothing to add.")
            new_labels, new_names = numbers.name_new(label_names)
        with progress.phase("Reading old texts") as step:
            if old is not None:
                labelled = (record for record in old if record.labels)
                X_old, Y_old = _read(labelled, model.features_, numbers.closed(), step)
            elif model.training_data_ is not None:
                X_old, Y_old = model.training_data_
    X = SparseRows.stack([X_old, X_new])
    Y = SparsePattern.stack([Y_old, numbers.sorted_columns(Y_new)], numbers.n_labels)
    n_old = X_old.n_rows
    del X_old, Y_old, X_new, Y_new
    classifier, update = update_stacked(
        model.classifier_,
        Documents(X),
        Y,
        n_old,
        label_names=new_names,
        retrain_matcher=retrain_matcher,
        has_unseen=not model.refit and old is not None,
    )
    slot_examples = model.slot_examples_
    if slot_examples is not None:
        with progress, progress.phase("Choosing examples"):
            texts = (record.text for record in records if record.labels)
            slot_examples = _more_examples(
                slot_examples,
                model.classifier_.n_labels_,
                classifier,
                X.rows(n_old, X.n_rows),
                Y.rows(n_old, Y.n_rows),
                max(1, model.examples),
                texts,
            )
    reasons = update.full_training_due
    if unknown.are_too_many:
        reasons = (
            *reasons,
            f"{unknown.share:.0%} of the words of the new texts are unknown to the model.",
        )
    if model.label_uris_ is not None:
        model.label_uris_ = Names.from_list([*model.label_uris_, *new_labels])
    model.classifier_, model.slot_examples_ = classifier, slot_examples
    model.training_data_ = (X, Y) if model.training_data_ is not None else None
    return dataclasses.replace(
        update,
        unknown_words=unknown.share,
        full_training_due=reasons,
        seconds={**progress.seconds, **update.seconds},
    )


class _LabelNumbers:
    """Numbers of known labels, and of new ones in the order in which they appear."""

    def __init__(self, model: TextModel) -> None:
        self._names = [str(name) for name in model.classifier_.label_names_ or ()]
        self._uris = None if model.label_uris_ is None else [str(uri) for uri in model.label_uris_]
        self._number_of = model.label_numbers()
        self._n_known = model.classifier_.n_labels_
        self._new: dict[str, int] = {}
        self._is_closed = False

    @property
    def n_labels(self) -> int:
        return self._n_known + len(self._new)

    def of(self, label: str) -> int:
        number = self._number_of.get(label)
        if number is not None:
            return number
        if self._is_closed:
            raise ValueError(
                "the old documents are not those that the model was trained on: it does not know "
                f"their label {label!r}; give the same data again, with those of all later "
                "updates, and what is new as new."
            )
        return self._new.setdefault(label, self.n_labels)

    def closed(self) -> _LabelNumbers:
        """Return the same numbers, but refuse labels that the model did not know."""
        self._is_closed = True
        return self

    def name_new(self, names: Mapping[str, str] | None) -> tuple[list[str], list[str]]:
        """Return new labels in alphabetical order, and their names."""
        labels = sorted(self._new)
        named = labels if self._uris is None else [(names or {}).get(one, one) for one in labels]
        owner = dict(zip(self._names, self._uris or self._names, strict=True))
        for label, name in zip(labels, named, strict=True):
            if name in owner:
                raise ValueError(
                    f"the new label {label!r} has the name {name!r}, as {owner[name]!r} has; give "
                    "it another name in the vocabulary."
                )
            owner[name] = label
        return labels, named

    def sorted_columns(self, Y: SparsePattern) -> SparsePattern:
        """Renumber new labels from the order in which they appeared to the alphabetical one."""
        column_of = np.arange(self.n_labels, dtype=np.int32)
        for i, label in enumerate(sorted(self._new)):
            column_of[self._new[label]] = self._n_known + i
        row = np.repeat(np.arange(Y.n_rows), np.diff(Y.starts))
        columns = column_of[Y.columns]
        return SparsePattern(Y.starts, columns[np.lexsort((columns, row))], self.n_labels)


class _UnknownWords:
    """The share of words that the features do not know."""

    def __init__(self, features: TextFeatures) -> None:
        self._known: Mapping[str, int] | None = None
        if features.vocabulary_ is not None:
            shortest, _ = features.ngram_range
            single = clone(features).set_params(ngrams=(shortest, shortest))
            self._analyze, self._known = single.make_analyzer(), features.columns()
        self._n_words = self._n_unknown = 0

    def count(self, records: Iterable[Record]) -> Iterator[Record]:
        """Pass the records on."""
        for record in records:
            if self._known is not None:
                words = self._analyze(record.text)
                self._n_words += len(words)
                self._n_unknown += sum(word not in self._known for word in words)
            yield record

    @property
    def share(self) -> float | None:
        return None if self._known is None else self._n_unknown / max(1, self._n_words)

    @property
    def are_too_many(self) -> bool:
        """Whether there are enough words to say so, and too many of them unknown."""
        return self._n_words >= FEWEST_WORDS_TO_JUDGE and (self.share or 0) > MOST_UNKNOWN_WORDS


def _read(
    records: Iterable[Record],
    features: TextFeatures,
    numbers: _LabelNumbers,
    step: Callable[[int], None],
) -> tuple[SparseRows, SparsePattern]:
    """Compute features with the words that are known; one pass."""
    rows, starts, columns = RowBuffer(features.n_features_), array("q", [0]), array("i")
    for batch in in_batches(records, TEXTS_AT_ONCE):
        rows.append(features.rows([record.text for record in batch]).to_scipy())
        for record in batch:
            columns.extend(sorted({numbers.of(label) for label in record.labels}))
            starts.append(len(columns))
        step(len(starts) - 1)
    pattern = SparsePattern(
        np.array(starts, dtype=np.int64), np.array(columns, dtype=np.int32), numbers.n_labels
    )
    return rows.rows(), pattern


def _more_examples(
    present: Examples,
    n_known: int,
    classifier: PartitionedClassifier,
    X: SparseRows,
    Y: SparsePattern,
    n_each: int,
    texts: Iterable[str],
) -> Examples:
    """Return examples for all slots: the present ones where there are any, else new texts."""
    starts, rows = best_documents(classifier, X, Y, n_each)
    is_present = classifier.clusters_.labels < n_known
    lengths = np.diff(starts)
    lengths[is_present] = np.where(np.diff(present.starts) > 0, 0, lengths[is_present])
    is_needed = np.repeat(lengths > 0, np.diff(starts))
    new = Examples.collect(np.append(0, np.cumsum(lengths)), rows[is_needed], texts)

    n_present = np.zeros(len(is_present), dtype=np.int64)
    n_present[is_present] = np.diff(present.starts)
    both = np.append(0, np.cumsum(n_present + lengths))
    documents = np.empty(both[-1], dtype=np.int64)
    is_new = np.repeat(n_present == 0, n_present + lengths)
    documents[~is_new] = present.documents
    documents[is_new] = new.documents + len(present.texts)
    return Examples(both, documents, Names.from_list(chain(present.texts, new.texts)))
