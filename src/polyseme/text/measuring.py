"""A text model on documents whose labels are known: held out of training, or given later."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.estimators.predicting import joined_rankings
from polyseme.metrics import reach
from polyseme.text.by_threshold import by_label, by_threshold
from polyseme.text.calibration import Calibration, measure_cut, reliability
from polyseme.text.corpora.records import Record
from polyseme.text.evaluation import N_RANKED, Judged, choose_cut, cross_checked, figures_of
from polyseme.text.features import in_batches
from polyseme.text.label_thresholds import choose_label_thresholds, cross_checked_cut
from polyseme.text.problem import TextProblem
from polyseme.text.vocabularies.kept import KeptVocabulary

if TYPE_CHECKING:
    from polyseme.text.suggesting import Suggesting

__all__ = [
    "Measured",
    "evaluate_records",
    "judge_records",
    "measure_held_out",
    "share_of_right_firsts",
]

TEXTS_AT_ONCE = 2048


class Measured(NamedTuple):
    """What held-out documents tell: a curve, a report, and thresholds of labels if wanted."""

    calibration: Calibration
    report: dict[str, Any]
    label_thresholds: npt.NDArray[np.float64] | None


def measure_held_out(
    classifier: PartitionedClassifier,
    problem: TextProblem,
    precision: float | None,
    vocabulary: KeptVocabulary | None = None,
    *,
    per_label: bool = False,
) -> Measured:
    """Calibrate and measure a classifier on the documents that it was not trained on."""
    n_training, n_documents = problem.n_training, problem.X.n_rows
    X = problem.held_out_as_new()
    Y = problem.Y.rows(n_training, n_documents)
    rankings = classifier.rankings(X, min(N_RANKED, classifier.n_labels_))
    judged, *by_members = (Judged.judge(*ranking, Y.to_scipy()) for ranking in rankings)
    labels, scores = judged.labels, judged.scores
    found = labels >= 0
    is_ordered = classifier.ordering_ is not None
    calibration = Calibration.fit(scores[found], judged.hits[found], are_probabilities=is_ordered)
    matched = classifier.match(X)
    of_labels, cut = None, dataclasses.asdict(choose_cut(judged, calibration, precision))
    if per_label and precision is not None:
        of_labels = choose_label_thresholds(judged, calibration, precision)
        n_own = int((of_labels != cut["threshold"]).sum())
        cut = {**cross_checked_cut(judged, calibration, precision), "n_labels_with_own": n_own}
    report = {
        **figures_of(classifier, judged, by_members=by_members),
        "n_training_documents": n_training,
        "reach": reach(matched.to_scipy(), classifier.clusters_, Y.to_scipy()),
        "calibration": calibration.method,
        "reliability": cross_checked(judged, are_probabilities=is_ordered),
        "threshold": {**cut, "wanted_precision": precision},
        "by_threshold": by_threshold(judged, calibration),
        "by_label": by_label(judged, calibration, cut["threshold"]),
        **_with_broader(judged, calibration, cut["threshold"], vocabulary),
    }
    return Measured(calibration, report, of_labels)


def evaluate_records(
    model: Suggesting, records: Iterable[Record], threshold: float | None, a: float, b: float
) -> dict[str, Any]:
    """Measure a model on further documents; see `TextModel.evaluate`."""
    (judged, *by_members), n_unknown, n_without_labels = judge_records(model, records)
    figures = figures_of(model.classifier_, judged, a, b, by_members)
    report = {
        **figures,
        "n_without_labels": n_without_labels,
        "n_unknown_labels": n_unknown,
    }
    if model.has_probabilities:
        report["reliability"] = reliability(*judged.pairs(model.calibration_))
        report["by_threshold"] = by_threshold(judged, model.calibration_)
    # Where nothing was held out nobody has chosen one.
    if threshold is not None or model.report_ or model.threshold_ > 0:
        kept = judged.kept(model.calibration_, model.least(threshold))
        least = model.checked_threshold(threshold)
        cut = measure_cut(kept, judged.hits, least, n_true=judged.n_true)
        report["threshold"] = dataclasses.asdict(cut)
        if threshold is None and model.label_thresholds_ is not None:
            n_own = int((model.label_thresholds_ != least).sum())
            report["threshold"]["n_labels_with_own"] = n_own
        report |= _with_broader(judged, model.calibration_, least, model.vocabulary_)
    return report


class JudgedRecords(NamedTuple):
    """Ranked labels held against those that documents have.

    Attributes
    ----------
    judged : list of Judged
        Of the documents that have labels; behind the model itself, the members of an ensemble.
    n_unknown_labels : int
        Labels of these that the model does not know.
    n_without_labels : int
        Documents without labels, which are left out.
    """

    judged: list[Judged]
    n_unknown_labels: int
    n_without_labels: int


def judge_records(model: Suggesting, records: Iterable[Record]) -> JudgedRecords:
    """Hold the labels that a model ranks against those that documents have."""
    number_of = model.label_numbers()
    n_known = model.classifier_.n_labels_
    unknown: dict[str, int] = {}
    n_without_labels = 0
    ranked, starts, columns = [], [0], []
    for given in in_batches(records, TEXTS_AT_ONCE):
        batch = [record for record in given if record.labels]
        n_without_labels += len(given) - len(batch)
        if not batch:
            continue
        documents = model.as_documents([record.text for record in batch])
        ranked.append(model.classifier_.rankings(documents, min(N_RANKED, n_known)))
        for record in batch:
            found = {
                number_of[label]
                if label in number_of
                else unknown.setdefault(label, n_known + len(unknown))
                for label in record.labels
            }
            columns.extend(sorted(found))
            starts.append(len(columns))
    if not ranked:
        raise ValueError("no document has a label, so there is nothing to measure.")
    ones = np.ones(len(columns), dtype=np.float32)
    shape = (len(starts) - 1, n_known + len(unknown))
    Y = sp.csr_array((ones, columns, starts), shape=shape)
    judged = [Judged.judge(*one, Y) for one in joined_rankings(ranked)]
    return JudgedRecords(judged, len(unknown), n_without_labels)


def _with_broader(
    judged: Judged,
    calibration: Calibration,
    threshold: float,
    vocabulary: KeptVocabulary | None,
) -> dict[str, Any]:
    """Return figures that count broader concepts too, if the vocabulary has such."""
    if vocabulary is None or not vocabulary.has_broader:
        return {}
    ancestors = vocabulary.with_ancestors()
    return {"with_broader": judged.with_broader(calibration, threshold, ancestors)}


def share_of_right_firsts(model: Suggesting, records: Iterable[Record]) -> float:
    """Return the share of documents whose best label is right; see `TextModel.score`."""
    number_of = model.label_numbers()
    n_documents = n_right = 0
    for batch in in_batches(records, TEXTS_AT_ONCE):
        best, _ = model.rank([record.text for record in batch], 1)
        for record, first in zip(batch, best[:, 0].tolist(), strict=True):
            n_right += first in map(number_of.get, record.labels)
        n_documents += len(batch)
    if n_documents == 0:
        raise ValueError("there are no documents, so there is nothing to measure.")
    return n_right / n_documents
