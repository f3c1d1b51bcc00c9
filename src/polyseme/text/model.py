"""TextModel: from texts to label names with probabilities."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from polyseme.estimators.xr_linear import XRLinear
from polyseme.files.model_folder import save_model
from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.progress import Progress
from polyseme.senses.describe import label_name, label_number
from polyseme.suggestions import Suggestion, named_suggestions
from polyseme.text.calibration import Calibration
from polyseme.text.corpora.records import Record
from polyseme.text.examples import Examples, best_documents
from polyseme.text.features import TextFeatures
from polyseme.text.measuring import evaluate_records, measure_held_out
from polyseme.text.problem import Pairs, TextProblem, read_problem
from polyseme.text.text_model_files import contents_of
from polyseme.text.text_update import update_text_model
from polyseme.training.update import Update

__all__ = ["Suggestion", "TextModel"]

FEWEST_TO_HOLD_OUT_FROM = 20  # documents; of fewer, all are needed to learn from
MOST_HELD_OUT = 20_000


class TextModel:
    """Suggests labels for texts, with probabilities.

    `fit` reads the texts twice, in a stream, and once more for `examples`. A part of the
    documents is held out: a model of the others is measured on them, its scores are turned into
    probabilities and a threshold is chosen. Then the classifier is trained once more, on all
    documents; probabilities and threshold stay those of the held-out run, since there is nothing
    left to learn them from.

    Parameters
    ----------
    features : TextFeatures, optional
    classifier : XRLinear, optional
        Both are copied before they are trained. The classifier's random_state also chooses the
        documents to hold out.
    held_out : float, default=0.1
        Share of the documents to hold out, 20,000 at most; 0 for none: then there is no report,
        and scores are not probabilities.
    refit : bool, default=True
        Train on all documents in the end. Without, the model is the one that was measured.
    precision : float, optional
        Choose the threshold so that this share of the suggestions is right (0 to 1); by default
        the one of best F1.
    examples : int, default=3
        How many training texts to keep the beginnings of for each slot, to show what a sense is;
        0 for none, where texts are not to leave the house with the model.
    keep_data : bool, default=False
        Keep the features and labels of the training documents, so that `update` needs no others.
        They are saved with the model.
    verbose : int, default=1
        Show bars on stderr if that is a terminal.

    Attributes
    ----------
    features : TextFeatures
    classifier : XRLinear
    calibration : Calibration
    threshold : float
        Suggestions with a lower score are left out unless told otherwise.
    label_uris : Names or None
        What the training data call the labels, if a vocabulary gave them names.
    report : dict
        The held-out evaluation: ``accuracy`` (percent), ``by_label_frequency``,
        ``reach``, ``reliability``, ``threshold``, and numbers of documents; empty if
        nothing was held out.
    training_data : (SparseRows, SparsePattern) or None
        Features and labels of the documents that the classifier was trained on.
    slot_examples : Examples or None
        Beginnings of training texts of each slot: ``model.slot_examples.of(slot)``.
    reading : dict
        How the texts were read (columns and the like), for whoever reads more of their kind.
    n_without_labels : int
        Documents that were left out of training because they have no label.
    phase_seconds : dict of str to float
    """

    takes_texts = True  # as `polyseme.tagger` asks

    def __init__(
        self,
        features: TextFeatures | None = None,
        classifier: XRLinear | None = None,
        *,
        held_out: float = 0.1,
        refit: bool = True,
        precision: float | None = None,
        examples: int = 3,
        keep_data: bool = False,
        verbose: int = 1,
    ) -> None:
        self.features = TextFeatures() if features is None else features
        self.classifier = XRLinear(verbose=verbose) if classifier is None else classifier
        self.held_out = held_out
        self.refit = refit
        self.precision = precision
        self.examples = examples
        self.keep_data = keep_data
        self.verbose = verbose
        self.calibration = Calibration.none()
        self.threshold = 0.0
        self.label_uris: Names | None = None
        self.report: dict[str, Any] = {}
        self.slot_examples: Examples | None = None
        self.training_data: tuple[SparseRows, SparsePattern] | None = None
        self.reading: dict[str, Any] = {}
        self.n_without_labels = 0
        self.phase_seconds: dict[str, float] = {}

    def fit(
        self,
        texts: Iterable[str],
        labels: Iterable[Iterable[str]],
        *,
        label_names: Mapping[str, str] | None = None,
    ) -> TextModel:
        """Learn from texts and the labels of each.

        Parameters
        ----------
        texts : iterable of str
            Is walked through up to three times: a list, or an object whose ``__iter__`` starts
            again.
        labels : iterable of lists of str
            As many, and as often. Texts without labels are left out.
        label_names : dict of str to str, optional
            Names for people of what `labels` holds, such as URIs.
        """
        return self.fit_records(Pairs(texts, labels), label_names=label_names)

    def fit_records(
        self, records: Iterable[Record], *, label_names: Mapping[str, str] | None = None
    ) -> TextModel:
        """Learn from records, such as `polyseme.text.open_corpus` finds in a file."""
        self.check_parameters()
        features, classifier = clone(self.features), clone(self.classifier)
        progress = Progress(enabled=bool(self.verbose))
        with progress:
            problem = read_problem(
                records,
                features,
                count_held_out=self.count_held_out,
                seed=classifier.random_state,
                progress=progress,
            )
        names = [(label_names or {}).get(label, label) for label in problem.labels]
        fitted = {"label_names": names, "feature_names": features.vocabulary_}
        seconds = dict(progress.seconds)
        calibration, threshold = Calibration.none(), 0.0
        report: dict[str, Any] = {}
        if problem.n_held_out:
            n_training = problem.n_training
            X, Y = problem.X.rows(0, n_training), problem.Y.rows(0, n_training)
            classifier.fit(X, Y, **fitted)
            trained = sum(classifier.phase_seconds_.values())
            seconds["Training without held-out documents"] = trained
            with progress, progress.phase("Measuring held-out documents"):
                calibration, report = measure_held_out(classifier, problem, self.precision)
                report["refitted"] = self.refit
                threshold = report["threshold"]["threshold"]
            seconds.update(progress.seconds)
        if self.refit or not problem.n_held_out:
            classifier.fit(problem.X, problem.Y, **fitted)
            seconds.update(classifier.phase_seconds_)
        slot_examples = None
        if self.examples:
            with progress, progress.phase("Choosing examples"):
                slot_examples = self._choose_examples(classifier, problem, records)
            seconds.update(progress.seconds)

        self.features, self.classifier = features, classifier
        self.calibration, self.threshold, self.report = calibration, threshold, report
        self.label_uris = None if label_names is None else Names.from_list(problem.labels)
        self.n_without_labels = problem.n_without_labels
        self.slot_examples = slot_examples
        n_trained = classifier.n_documents_
        kept = problem.X.rows(0, n_trained), problem.Y.rows(0, n_trained)
        self.training_data = kept if self.keep_data else None
        self.phase_seconds = seconds
        return self

    def update(
        self,
        texts: Iterable[str],
        labels: Iterable[Iterable[str]],
        *,
        old: Iterable[Record] | None = None,
        label_names: Mapping[str, str] | None = None,
        retrain_matcher: bool = True,
    ) -> Update:
        """Learn more documents and new labels without training everything again.

        The words that are known stay, and so do calibration, threshold and report, which are from
        before. If anything goes wrong the model is as it was.

        Parameters
        ----------
        texts, labels, label_names
            The new documents, as for `fit`.
        old : iterable of Record, optional
            The documents that the model was trained on; not needed with `keep_data`.
        retrain_matcher : bool
            See `polyseme.update.updated`.

        Returns
        -------
        Update
            Figures, and whether a full training is due.
        """
        records = Pairs(texts, labels)
        return update_text_model(self, records, old, label_names, retrain_matcher)

    def update_records(
        self,
        records: Iterable[Record],
        *,
        old: Iterable[Record] | None = None,
        label_names: Mapping[str, str] | None = None,
        retrain_matcher: bool = True,
    ) -> Update:
        """Do as `update` does, with records such as `polyseme.text.open_corpus` finds."""
        return update_text_model(self, records, old, label_names, retrain_matcher)

    def suggest(
        self, texts: Sequence[str], limit: int = 10, threshold: float | None = None
    ) -> list[list[Suggestion]]:
        """Return labels for each text, best first.

        Parameters
        ----------
        texts : sequence of str
        limit : int
            Most labels a text.
        threshold : float, optional
            Least score; by default the model's own, 0 for all.
        """
        labels, scores = self.rank(texts, limit)
        return self.name_ranked(labels, scores, threshold)

    def rank(
        self, texts: Sequence[str], limit: int = 10
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Return the best labels of each text and their bare scores, as `predict_top_k` does."""
        if isinstance(texts, str):
            raise ValueError("texts must be a list of texts; put the one text into a list.")
        X = self.features.rows(texts)
        return self.classifier.predict_top_k(X, min(limit, self.classifier.n_labels_))

    def name_ranked(
        self,
        labels: npt.NDArray[np.int32],
        scores: npt.NDArray[np.float32],
        threshold: float | None = None,
    ) -> list[list[Suggestion]]:
        """Turn label numbers and bare scores into suggestions; see `suggest`."""
        least = self.checked_threshold(threshold)
        names = self.classifier.label_names_
        return named_suggestions(labels, self.calibration(scores), least, names, self.label_uris)

    def evaluate(
        self,
        records: Iterable[Record],
        *,
        threshold: float | None = None,
        a: float = 0.55,
        b: float = 1.5,
    ) -> dict[str, Any]:
        """Measure the model on documents with known labels, in a stream.

        Parameters
        ----------
        records : iterable of Record
        threshold : float, optional
            By default the model's own.
        a, b : float
            Constants of the propensity-scored figures, see `polyseme.metrics.propensities`.

        Returns
        -------
        dict
            As `report`, without ``reach``; documents without labels are left out, and
            labels that the model does not know (``n_unknown_labels``) count as not found.
        """
        return evaluate_records(self, records, self.checked_threshold(threshold), a, b)

    def checked_threshold(self, threshold: float | None) -> float:
        """Return the least probability: the one that is given, or else the model's own."""
        if threshold is not None and not 0 <= threshold <= 1:
            raise ValueError(f"threshold must be a probability from 0 to 1, not {threshold!r}.")
        return float(self.threshold if threshold is None else threshold)

    def name_of(self, label: int) -> str:
        """Return the name of a label that is given by number."""
        return str(label_name(self.classifier, label))

    def uri_of(self, label: int) -> str | None:
        """Return what the training data call a label, if that is not its name."""
        return None if self.label_uris is None else str(self.label_uris[label])

    def label_numbers(self) -> dict[str, int]:
        """Return the number of each label under its name, and under its URI if it has one."""
        names = map(str, self.classifier.label_names_ or ())
        uris = map(str, self.label_uris or ())
        return {**{name: i for i, name in enumerate(names)}, **{u: i for i, u in enumerate(uris)}}

    def label_number(self, label: str | int) -> int:
        """Return the number of a label that is given by name, URI or number."""
        if self.label_uris is not None and label in self.label_uris:
            return self.label_uris.index(label)
        return label_number(self.classifier, label)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model as a folder of safetensors and JSON; `polyseme.load` reads it.

        A polyseme model that is at `path` already is replaced in one step.
        """
        save_model(path, *contents_of(self))

    def count_held_out(self, n_documents: int) -> int:
        """Return how many of so many documents are held out."""
        if self.held_out == 0 or n_documents < FEWEST_TO_HOLD_OUT_FROM:
            return 0
        return min(max(1, round(self.held_out * n_documents)), MOST_HELD_OUT)

    def _choose_examples(
        self, classifier: XRLinear, problem: TextProblem, records: Iterable[Record]
    ) -> Examples:
        starts, rows = best_documents(classifier, problem.X, problem.Y, self.examples)
        texts = (record.text for record in records if record.labels)
        return Examples.collect(starts, problem.documents[rows], texts)

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense, by name and with what would."""
        if not isinstance(self.held_out, int | float) or not 0 <= self.held_out < 1:
            raise ValueError(
                f"held_out must be a share from 0 to less than 1, not {self.held_out!r}."
            )
        if type(self.examples) is not int or self.examples < 0:
            raise ValueError(
                f"examples must be a whole number of at least 0, not {self.examples!r}."
            )
        if self.precision is not None and not 0 < self.precision <= 1:
            raise ValueError(
                f"precision must be a share above 0 and at most 1, not {self.precision!r}."
            )
