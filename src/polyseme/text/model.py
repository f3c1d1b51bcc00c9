"""TextModel: from texts to label names with probabilities."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from polyseme.cost.estimate import TrainingEstimate
from polyseme.estimators.parameters import (
    NONE,
    TRUE_OR_FALSE,
    Constraint,
    check_parameters,
    instance_of,
    one_of,
    share,
    whole_from,
)
from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.estimators.xr_linear import XRLinear
from polyseme.files.model_folder import save_model
from polyseme.files.stored_model import Contents, StoredModel
from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.partition.trees.given import LabelHierarchy
from polyseme.suggestions import Suggestion
from polyseme.text.calibration import Calibration
from polyseme.text.corpora.records import Record, checked_records
from polyseme.text.estimate import estimate_text_training
from polyseme.text.examples import Examples
from polyseme.text.features import TextFeatures
from polyseme.text.fitting import Choice, fit_text_model
from polyseme.text.problem import Pairs
from polyseme.text.suggesting import Suggesting
from polyseme.text.text_model_files import contents_of, restore
from polyseme.text.text_update import update_text_model
from polyseme.text.vocabularies.kept import KeptVocabulary
from polyseme.training.update import Update

__all__ = ["Suggestion", "TextModel"]

FEWEST_TO_HOLD_OUT_FROM = 20  # documents; of fewer, all are needed to learn from
MOST_HELD_OUT = 20_000


class TextModel(Suggesting, BaseEstimator):  # type: ignore[misc]
    """Suggests labels for texts, with probabilities; an estimator of scikit-learn's kind.

    `fit` reads the texts twice, in a stream, and once more for `examples`. A part of the
    documents is held out: a model of the others is measured on them, its scores are turned into
    probabilities and a threshold is chosen. Then the classifier is trained once more, on all
    documents; probabilities and threshold stay those of the held-out run, since there is nothing
    left to learn them from.

    Parameters
    ----------
    features : TextFeatures, optional
    classifier : XRLinear, optional
        Both stay as they are; copies of them are trained. The classifier's random_state also
        chooses the documents to hold out.
    held_out : float, default=0.1
        Share of the documents to hold out, 20,000 at most; 0 for none: then there is no report,
        and scores are not probabilities.
    refit : bool, default=True
        Train again, on all documents, in the end. If false, the model is the one that was
        measured.
    precision : float, optional
        Choose the threshold so that this share of the suggestions is right (0 to 1); by default
        the one of best F1.
    per_label : bool, default=False
        Choose one for each label, for which `precision` must be given, so that each of them is
        about as precise; labels that held-out documents say little about stay near that of all.
    examples : int, default=3
        How many training texts to keep the beginnings of for each label, or for each of its
        senses if it is shown with several; 0 for none, so that nobody who gets the model sees
        texts.
    keep_data : bool, default=False
        Keep the features and labels of the training documents, so that `update` needs no others.
        They are saved with the model.
    verbose : int, default=1
        Show bars on stderr if that is a terminal.

    Attributes
    ----------
    features_ : TextFeatures
    classifier_ : XRLinear
        The trained ones.
    classes_ : ndarray of str, shape (n_labels,)
        The names of the labels.
    calibration_ : Calibration
    threshold_ : float
        Suggestions with a lower score are left out unless told otherwise.
    label_thresholds_ : ndarray of float64, shape (n_labels,), or None
        The same for each label, with `per_label`.
    label_uris_ : Names or None
        What the training data call the labels, if a vocabulary gave them names.
    vocabulary_ : KeptVocabulary or None
        What that vocabulary says of the labels besides: other names, notations, what is broader.
    report_ : dict
        The held-out evaluation: ``accuracy`` (percent), ``by_label_frequency``,
        ``reach``, ``reliability``, ``threshold``, and numbers of documents; empty if
        nothing was held out.
    training_data_ : (SparseRows, SparsePattern) or None
        Features and labels of the documents that the classifier was trained on.
    examples_ : Examples or None
        Beginnings of training texts of each label and of its senses; see `examples_of`.
    reading_ : dict
        How the texts were read (columns and the like), for whoever reads more of their kind.
    n_without_labels_ : int
        Documents that were left out of training because they have no label.
    origin_ : dict
        When it was trained, on what (``data``, ``fingerprint``), and by which ``versions``.
    phase_seconds_ : dict of str to float

    Examples
    --------
    >>> from polyseme import TextModel
    >>> texts = ["the bat flies at night", "he swung the bat", "a ball and a bat", "owls at night"]
    >>> labels = [["animal"], ["sport"], ["sport"], ["animal"]]
    >>> model = TextModel(verbose=0).fit(texts, labels)
    >>> model.suggest(["an owl in the night"], limit=1)[0][0].name
    'animal'
    """

    takes_texts: ClassVar[bool] = True  # as `polyseme.tagger` asks

    features_: TextFeatures
    classifier_: XRLinear
    calibration_: Calibration
    threshold_: float
    label_thresholds_: npt.NDArray[np.float64] | None
    label_uris_: Names | None
    vocabulary_: KeptVocabulary | None
    report_: dict[str, Any]
    examples_: Examples | None
    training_data_: tuple[SparseRows, SparsePattern] | None
    reading_: dict[str, Any]
    n_without_labels_: int
    origin_: dict[str, Any]
    phase_seconds_: dict[str, float]

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "features": NONE | instance_of(TextFeatures),
        "classifier": NONE | instance_of(PartitionedClassifier),
        "held_out": share("from 0 to less than 1", lambda value: 0 <= value < 1),
        "refit": TRUE_OR_FALSE,
        "precision": NONE | share("above 0 and at most 1", lambda value: 0 < value <= 1),
        "per_label": TRUE_OR_FALSE,
        "examples": whole_from(0),
        "keep_data": TRUE_OR_FALSE,
        "verbose": one_of(0, 1),
    }

    def __init__(
        self,
        features: TextFeatures | None = None,
        classifier: XRLinear | None = None,
        *,
        held_out: float = 0.1,
        refit: bool = True,
        precision: float | None = None,
        per_label: bool = False,
        examples: int = 3,
        keep_data: bool = False,
        verbose: int = 1,
    ) -> None:
        self.features = features
        self.classifier = classifier
        self.held_out = held_out
        self.refit = refit
        self.precision = precision
        self.per_label = per_label
        self.examples = examples
        self.keep_data = keep_data
        self.verbose = verbose

    if not TYPE_CHECKING:  # else every attribute would seem to be there

        def __getattr__(self, name: str) -> Any:
            """Tell what is missing: a training, or an underscore since learned things have one."""
            if name in TextModel.__annotations__:
                raise NotFittedError("This TextModel is not fitted yet; call fit before using it.")
            if f"{name}_" in TextModel.__annotations__:
                raise AttributeError(
                    f"a TextModel has no attribute {name!r}; it is called {name}_."
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown: str = super().__repr__(N_CHAR_MAX)
        if not hasattr(self, "classifier_"):
            return shown
        accuracy = self.report_.get("accuracy", {})
        measured = f"; P@1 {accuracy['P@1']:.1f}%" if "P@1" in accuracy else ""
        return f"{shown}{self.classifier_.trained_on}{measured}"

    def set_params(self, **params: Any) -> TextModel:
        """Set parameters, as in all of scikit-learn.

        Those of a part that was not given, such as ``classifier__copies``, are set in a new one.
        """
        parts = {name.partition("__")[0] for name in params if "__" in name}
        if self.features is None and "features" in parts:
            self.features = TextFeatures()
        if self.classifier is None and "classifier" in parts:
            self.classifier = XRLinear(verbose=self.verbose)
        super().set_params(**params)
        return self

    def untrained_parts(self) -> tuple[TextFeatures, XRLinear]:
        """Return the features and the classifier that `fit` trains."""
        return (
            TextFeatures() if self.features is None else clone(self.features),
            XRLinear(verbose=self.verbose) if self.classifier is None else clone(self.classifier),
        )

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The names of the labels."""
        return self.classifier_.classes_

    def fit(
        self,
        texts: Iterable[str],
        labels: Iterable[Iterable[str]],
        *,
        label_names: Mapping[str, str] | None = None,
        hierarchy: LabelHierarchy | None = None,
    ) -> TextModel:
        """Learn from texts and the labels of each.

        Parameters
        ----------
        texts : iterable of str
            Is walked through up to three times: a list, or an object whose ``__iter__`` starts
            again.
        labels : iterable of lists of str
            As many, and as often. Texts without labels are left out.
        label_names : Vocabulary, or dict of str to str, optional
            Names for people of what `labels` holds, such as URIs. Of a `Vocabulary`, as
            `polyseme.text.read_vocabulary` reads it, other names and broader concepts are kept.
        hierarchy : LabelHierarchy, optional
            A tree of the labels from outside, as for `XRLinear.fit`: of what `labels` holds, or
            of names for people.
        """
        return self.fit_records(Pairs(texts, labels), label_names=label_names, hierarchy=hierarchy)

    def fit_records(
        self,
        records: Iterable[Record],
        *,
        label_names: Mapping[str, str] | None = None,
        hierarchy: LabelHierarchy | None = None,
        choose: Choice | None = None,
    ) -> TextModel:
        """Learn from records, such as `polyseme.text.open_corpus` finds in a file.

        With `choose`, it is given the classifier, and the features and labels of the documents
        that are not held out, and returns the classifier that is trained instead.
        """
        return fit_text_model(self, checked_records(records), label_names, choose, hierarchy)

    def estimate_records(
        self,
        records: Iterable[Record],
        *,
        label_names: Mapping[str, str] | None = None,
        hierarchy: LabelHierarchy | None = None,
    ) -> TrainingEstimate:
        """Estimate what `fit_records` would take on this machine, by training on a few records.

        Parameters
        ----------
        records, label_names, hierarchy
            As for `fit_records`.
        """
        records = checked_records(records)
        return estimate_text_training(self, records, label_names=label_names, hierarchy=hierarchy)

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model as a folder of safetensors and JSON; `polyseme.load` reads it.

        A polyseme model that is at `path` already is replaced in one step.
        """
        save_model(path, self.contents())

    def contents(self) -> Contents:
        """Return what makes up the trained model, to be stored."""
        return contents_of(self)

    @classmethod
    def restored(cls, stored: StoredModel, *, n_jobs: int | None = None) -> TextModel:
        """Return the model that was stored, after checking all of it."""
        model = cls()
        restore(model, stored, n_jobs)
        return model

    def count_held_out(self, n_documents: int) -> int:
        """Return how many of so many documents are held out."""
        if self.held_out == 0 or n_documents < FEWEST_TO_HOLD_OUT_FROM:
            return 0
        n_held_out = min(max(1, round(self.held_out * n_documents)), MOST_HELD_OUT)
        if n_held_out == n_documents:
            raise ValueError(
                f"held_out must be smaller: {self.held_out:g} of {n_documents:,} documents leaves "
                "none to learn from."
            )
        return n_held_out

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense, by name and with what would."""
        for one in (self, self.features, self.classifier):
            if one is not None:
                check_parameters(one)
        if self.per_label and self.precision is None:
            raise ValueError("per_label needs a precision that each label is to have; give one.")
