"""The training of a text model: read, hold out, train, measure, train again, choose examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from polyseme.files.origin import origin_now
from polyseme.inputs.names import Names
from polyseme.machine.progress import Progress
from polyseme.partition.trees.given import LabelHierarchy, check_hierarchy
from polyseme.text.calibration import Calibration
from polyseme.text.corpora.records import Record
from polyseme.text.evaluation import accuracy_so_far
from polyseme.text.examples import Examples, best_documents
from polyseme.text.measuring import measure_held_out
from polyseme.text.problem import TextProblem, read_problem
from polyseme.text.vocabularies.kept import KeptVocabulary
from polyseme.text.vocabularies.vocabulary import Vocabulary

if TYPE_CHECKING:
    from polyseme.estimators.partitioned import PartitionedClassifier
    from polyseme.text.model import TextModel

__all__ = ["Choice", "fit_text_model"]

# From an untrained classifier, features and labels to the classifier that is to be trained.
Choice = Callable[["PartitionedClassifier", Any, Any], "PartitionedClassifier"]


def fit_text_model(
    model: TextModel,
    records: Iterable[Record],
    label_names: Mapping[str, str] | None,
    choose: Choice | None = None,
    hierarchy: LabelHierarchy | None = None,
) -> TextModel:
    """Train a text model; what it was before is replaced at the very end."""
    model.check_parameters()
    outside = check_hierarchy(hierarchy)
    features, classifier = model.untrained_parts()
    progress = Progress(enabled=bool(model.verbose))
    with progress:
        problem = read_problem(
            records,
            features,
            count_held_out=model.count_held_out,
            seed=classifier.random_state,
            progress=progress,
            keep_texts=classifier.reads_texts,
        )
    n_training = problem.n_training
    X, Y = problem.rows(0, n_training), problem.Y.rows(0, n_training)
    if choose is not None:
        classifier = choose(classifier, X, Y)
    vocabulary = None if label_names is None else Vocabulary.of(label_names)
    kept = None if vocabulary is None else KeptVocabulary.of(vocabulary, problem.labels)
    names = [
        label if vocabulary is None else vocabulary.get(label, label) for label in problem.labels
    ]
    fitted: dict[str, Any] = {"label_names": names, "feature_names": features.vocabulary_}
    if outside is not None:
        uris = problem.labels if kept is None else kept.uris[: len(names)]
        fitted["hierarchy"] = outside.for_columns(problem.labels, names, uris)
    seconds = dict(progress.seconds)
    calibration, threshold = Calibration.none(), 0.0
    report: dict[str, Any] = {}
    measured = label_thresholds = None
    if problem.n_held_out:
        measured = classifier
        if model.refit:
            measured = clone(classifier)
            measured.senses = "none"  # nobody will look at them
        measured.fit(X, Y, **fitted)
        trained = sum(measured.phase_seconds_.values())
        seconds["Training without held-out documents"] = trained
        with progress, progress.phase("Measuring held-out documents"):
            calibration, report, label_thresholds = measure_held_out(
                measured, problem, model.precision, kept, per_label=model.per_label
            )
            report["refitted"] = bool(model.refit)
            threshold = report["threshold"]["threshold"]
            progress.say(accuracy_so_far(report))
        seconds.update(progress.seconds)
    if model.refit or not problem.n_held_out:
        # Curve and threshold are of the order that was measured, or of none.
        all_documents = problem.rows(0, problem.X.n_rows)
        classifier.fit(all_documents, problem.Y, **fitted, order_from=measured)
        seconds.update(classifier.phase_seconds_)
    examples = None
    if model.examples:
        with progress, progress.phase("Choosing examples"):
            examples = _choose_examples(classifier, problem, records, model.examples)
        seconds.update(progress.seconds)

    if choose is not None:
        model.classifier = clone(classifier)
    model.features_, model.classifier_ = features, classifier
    model.calibration_, model.threshold_, model.report_ = calibration, threshold, report
    model.label_thresholds_ = label_thresholds
    model.label_uris_ = None if vocabulary is None else Names.from_list(problem.labels)
    model.vocabulary_ = kept
    model.n_without_labels_ = problem.n_without_labels
    model.examples_ = examples
    n_trained = classifier.n_documents_
    data = problem.X.rows(0, n_trained), problem.Y.rows(0, n_trained)
    model.training_data_ = data if model.keep_data else None
    model.reading_ = dict(getattr(records, "reading", {}))
    model.origin_ = origin_now(getattr(records, "source", None), problem.fingerprint)
    model.phase_seconds_ = seconds
    return model


def _choose_examples(
    classifier: PartitionedClassifier, problem: TextProblem, records: Iterable[Record], n_each: int
) -> Examples:
    documents = problem.rows(0, problem.X.n_rows)
    meanings, starts, rows = best_documents(classifier, documents, problem.Y, n_each)
    texts = (record.text for record in records if record.labels)
    return Examples.collect(meanings, starts, problem.documents[rows], texts)
