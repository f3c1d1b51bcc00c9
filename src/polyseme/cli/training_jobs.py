"""What ``polyseme train`` does with matrices, and with texts: the same two steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import click

from polyseme import datasets
from polyseme.cli.corpus_options import (
    features_from,
    is_text,
    note_named_labels,
    opened_corpus,
    option_of,
    refuse_text_options,
)
from polyseme.cli.errors import note
from polyseme.cli.estimate import estimate_on_matrices, print_estimate
from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.files.origin import fingerprint_of, origin_now
from polyseme.machine.progress import Progress
from polyseme.machine.quantities import counted
from polyseme.machine.threads import count_jobs
from polyseme.partition.trees.given import LabelHierarchy
from polyseme.tagger import tagger_for
from polyseme.text.estimate import estimate_text_training
from polyseme.text.fitting import Choice
from polyseme.text.model import TextModel

__all__ = ["TrainingJob", "job_for"]


class TrainingJob(Protocol):
    """Data, and the model that is to learn from them."""

    def train(self, choose: Choice | None) -> tuple[Any, dict[str, float]]:
        """Return the trained model and what reading the data took besides.

        With `choose` it is that which says what is trained.
        """

    def estimate(self, as_json: bool) -> None:
        """Train nothing; print what it would take."""


def job_for(
    data: Path,
    classifier: PartitionedClassifier,
    options: dict[str, Any],
    hierarchy: LabelHierarchy | None,
) -> TrainingJob:
    """Return the job that suits the data; what is wrong from the start is refused."""
    kind = _OnTexts if is_text(data, options) else _OnMatrices
    return kind(data, classifier, options, hierarchy)


class _OnMatrices:
    def __init__(
        self,
        data: Path,
        classifier: PartitionedClassifier,
        options: dict[str, Any],
        hierarchy: LabelHierarchy | None,
    ) -> None:
        refuse_text_options(data, options)
        self._data, self._model, self._hierarchy = data, classifier, hierarchy

    def train(self, choose: Choice | None) -> tuple[PartitionedClassifier, dict[str, float]]:
        progress = Progress()
        with progress, progress.phase("Reading the data"):
            dataset = datasets.load(self._data, n_threads=count_jobs(self._model.n_jobs))
            documents = dataset.train_documents(with_texts=self._model.reads_texts)
        model = self._model
        if choose is not None:
            model = choose(model, documents, dataset.Y_train)
        model.fit(
            documents,
            dataset.Y_train,
            label_names=dataset.label_names,
            feature_names=dataset.feature_names,
            hierarchy=self._hierarchy,
        )
        fingerprint = fingerprint_of(dataset.X_train, dataset.Y_train)
        model.origin_ = origin_now(self._data.name, fingerprint)
        return model, dict(progress.seconds)

    def estimate(self, as_json: bool) -> None:
        estimate_on_matrices(self._model, self._data, as_json, self._hierarchy)


class _OnTexts:
    def __init__(
        self,
        data: Path,
        classifier: PartitionedClassifier,
        options: dict[str, Any],
        hierarchy: LabelHierarchy | None,
    ) -> None:
        _refuse_idle(options)
        share = 0.1 if options["held_out"] is None else options["held_out"]
        self._model = TextModel(
            features_from(options),
            classifier,
            held_out=0 if options["no_held_out"] else share,
            refit=not options["no_refit"],
            precision=options["precision"],
            per_label=options["per_label"],
            examples=3 if options["examples"] is None else options["examples"],
            keep_data=options["keep_data"],
            verbose=classifier.verbose,
        )
        self._model.check_parameters()
        self._data, self._classifier, self._hierarchy = data, classifier, hierarchy
        self._options = options
        self._corpus = opened_corpus(data, options)
        note(f"{data}: {self._corpus.description}.")

    def train(self, choose: Choice | None) -> tuple[TextModel, dict[str, float]]:
        model, corpus = self._model, self._corpus
        model.fit_records(
            corpus, label_names=corpus.label_names, hierarchy=self._hierarchy, choose=choose
        )
        note_named_labels(tagger_for(model), self._options)
        if model.n_without_labels_:
            note(f"left out {counted(model.n_without_labels_, 'document')} without labels.")
        if not model.report_:
            has_order = model.classifier_.ordering_ is not None
            note(
                "nothing was held out: there are no figures and no threshold, and "
                + (
                    "the probabilities are unchecked."
                    if has_order
                    else "scores are not probabilities."
                )
            )
        return model, {}

    def estimate(self, as_json: bool) -> None:
        found = estimate_text_training(
            self._model,
            self._corpus,
            label_names=self._corpus.label_names,
            hierarchy=self._hierarchy,
        )
        print_estimate(self._classifier, found, self._data, as_json)


def _refuse_idle(options: dict[str, Any]) -> None:
    """Refuse options of texts of which one takes away the effect of another."""
    excluding = {
        "no_held_out": ("held_out", "precision", "per_label", "no_refit"),
        "hashing": ("max_features", "min_documents"),
    }
    for name, others in excluding.items():
        for other in others:
            if options[name] and options[other] not in (None, False):
                raise click.UsageError(
                    f"{option_of(other)} and {option_of(name)} exclude each other."
                )
    if options["per_label"] and options["precision"] is None:
        raise click.UsageError("--per-label needs --precision, which each label is to have.")
