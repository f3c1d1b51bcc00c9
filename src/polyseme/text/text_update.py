"""More texts and new labels for a trained text model."""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from polyseme.files.origin import now
from polyseme.inputs.documents import Documents
from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.progress import Progress
from polyseme.senses.describe import senses_in
from polyseme.text.corpora.records import Record, checked_records
from polyseme.text.examples import Examples, first_of_each, meanings_of, surest_pairs
from polyseme.text.features import TextFeatures, in_batches
from polyseme.text.problem import RowBuffer, held_out_last
from polyseme.text.vocabularies.kept import KeptVocabulary
from polyseme.text.vocabularies.vocabulary import Vocabulary
from polyseme.training.update import Update, update_stacked
from polyseme.training.with_slots import check_can_be_updated

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
    check_can_be_updated(model.classifier_)  # before anything is read
    for given in (records, () if old is None else old):
        checked_records(given)
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
    if old is None and model.classifier_.reads_texts:
        raise ValueError(
            f"{type(model.classifier_).__name__} reads texts, of which a model keeps none; give "
            "the documents that it was trained on as old."
        )
    numbers = _LabelNumbers(model)
    progress = Progress(enabled=bool(model.verbose))
    with progress:
        with progress.phase("Reading new texts") as step:
            unknown = _UnknownWords(model.features_)
            labelled = _Labelled(records)
            X_new, Y_new = _read(unknown.count(labelled), model, numbers, step)
            if X_new.n_rows == 0:
                raise ValueError("none of the new documents has a label; there is nothing to add.")
            new_labels, new_names = numbers.name_new(label_names)
        with progress.phase("Reading old texts") as step:
            if old is not None:
                X_old, Y_old = _read(_Labelled(old), model, numbers.closed(), step)
            elif model.training_data_ is not None:
                X_old, Y_old = Documents(model.training_data_[0]), model.training_data_[1]
    X = Documents.stack([X_old, X_new])
    Y = SparsePattern.stack([Y_old, numbers.sorted_columns(Y_new)], numbers.n_labels)
    n_old = X_old.n_rows
    del X_old, Y_old, X_new, Y_new
    if old is not None and model.report_:
        order = _as_in_training(model, n_old, X.n_rows)
        X, Y = X.take(order), Y.take(order)
    classifier, update = update_stacked(
        model.classifier_,
        X,
        Y,
        n_old,
        label_names=new_names,
        retrain_matcher=retrain_matcher,
        has_unseen=not model.refit and old is not None,
    )
    examples = model.examples_
    if examples is not None:
        with progress, progress.phase("Choosing examples"):
            texts = (record.text for record in records if record.labels)
            X_new, Y_new = X.rows(n_old, X.n_rows), Y.rows(n_old, Y.n_rows)
            examples = _more_examples(model, examples, classifier, X_new, Y_new, texts)
    reasons = update.full_training_due
    if unknown.are_too_many:
        reasons = (
            *reasons,
            f"{unknown.share:.0%} of the words of the new texts are unknown to the model.",
        )
    model.origin_ = {**model.origin_, "updated_at": now()}
    if model.label_thresholds_ is not None:
        n_more = classifier.n_labels_ - len(model.label_thresholds_)
        more = np.full(n_more, model.threshold_)
        model.label_thresholds_ = np.append(model.label_thresholds_, more)
    if model.label_uris_ is not None:
        model.label_uris_ = Names.from_list([*model.label_uris_, *new_labels])
        model.vocabulary_ = _more_of_vocabulary(model, label_names)
    model.classifier_, model.examples_ = classifier, examples
    if model.training_data_ is not None and X.sparse is not None:
        model.training_data_ = X.sparse, Y
    return dataclasses.replace(
        update,
        n_without_labels=labelled.n_left_out,
        unknown_words=unknown.share,
        full_training_due=reasons,
        seconds={**progress.seconds, **update.seconds},
    )


class _Labelled:
    """The documents that have labels, and how many have none, as far as one has walked."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records, self.n_left_out = records, 0

    def __iter__(self) -> Iterator[Record]:
        for record in self._records:
            if record.labels:
                yield record
            else:
                self.n_left_out += 1


def _more_of_vocabulary(
    model: TextModel, label_names: Mapping[str, str] | None
) -> KeptVocabulary | None:
    """Return what is kept of old and new labels; what is given now counts more than before."""
    if model.vocabulary_ is None and label_names is None:
        return None
    known = Vocabulary({}) if model.vocabulary_ is None else model.vocabulary_.to_vocabulary()
    joined = known.with_concepts(Vocabulary.of(label_names or {}).concepts)
    return KeptVocabulary.of(joined, [str(label) for label in model.label_uris_ or ()])


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
    model: TextModel,
    numbers: _LabelNumbers,
    step: Callable[[int], None],
) -> tuple[Documents, SparsePattern]:
    """Compute features with the words that are known; one pass."""
    features = model.features_
    texts: list[str] | None = [] if model.classifier_.reads_texts else None
    rows, starts, columns = RowBuffer(features.n_features_), array("q", [0]), array("i")
    for batch in in_batches(records, TEXTS_AT_ONCE):
        own = [record.text for record in batch]
        rows.append(features.rows(own).to_scipy())
        if texts is not None:
            texts += own
        for record in batch:
            columns.extend(sorted({numbers.of(label) for label in record.labels}))
            starts.append(len(columns))
        step(len(starts) - 1)
    pattern = SparsePattern(
        np.array(starts, dtype=np.int64), np.array(columns, dtype=np.int32), numbers.n_labels
    )
    return Documents(rows.rows(), texts=texts), pattern


def _as_in_training(model: TextModel, n_old: int, n_documents: int) -> npt.NDArray[np.int64]:
    """Return the order that rows had in training, where held-out documents were the last ones."""
    order = np.arange(n_documents)
    n_held_out = model.report_.get("n_documents", 0)
    n_first = model.report_.get("n_training_documents", 0) + n_held_out
    if 0 <= n_held_out <= n_first <= n_old:
        order[:n_first] = held_out_last(n_first, n_held_out, model.classifier_.random_state)
    return order


def _more_examples(
    model: TextModel,
    present: Examples,
    classifier: PartitionedClassifier,
    X: Documents,
    Y: SparsePattern,
    texts: Iterable[str],
) -> Examples:
    """Return examples for the meanings after an update: present ones first, then new texts.

    Where senses were found anew, the texts at hand are named; old ones by their beginnings.
    """
    rows, new_labels = surest_pairs(classifier, X, Y)
    old_labels, old_places = present.entries()
    text = np.append(present.documents, rows + len(present.texts))
    label = np.append(old_labels, new_labels)
    place = np.append(old_places, np.zeros_like(rows))

    meanings, layer = meanings_of(classifier), classifier.senses_
    n_added = classifier.n_labels_ - model.classifier_.n_labels_
    has_more = classifier.label_counts_ > np.pad(model.classifier_.label_counts_, (0, n_added))
    unnamed = np.flatnonzero((has_more & (np.diff(meanings) > 1))[label])
    if layer is not None and len(unnamed):
        old, new = np.split(text[unnamed], [np.searchsorted(unnamed, len(old_labels))])
        beginnings = model.as_documents([str(present.texts[i]) for i in old.tolist()])
        shown = Documents.stack([beginnings, X.take(new - len(present.texts))])
        senses = senses_in(classifier, shown, label[unnamed, None])[:, 0]
        place[unnamed] = senses - layer.starts[np.searchsorted(layer.labels, label[unnamed])]
    place = np.minimum(place, np.diff(meanings)[label] - 1)
    n_each = max(1, model.examples)
    starts, chosen = first_of_each(meanings[label] + place, text, int(meanings[-1]), n_each)
    return Examples.collect(meanings, starts, chosen, chain(map(str, present.texts), texts))
