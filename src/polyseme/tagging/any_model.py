"""What everybody asks of a model: labels of documents, their senses, what training left."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polyseme.estimators.predicting import check_k
from polyseme.inputs.excerpts import excerpt
from polyseme.inputs.labels import check_labels
from polyseme.inputs.names import Names
from polyseme.senses.common_words import N_CONSIDERED, CommonWords
from polyseme.senses.describe import (
    AmbiguousLabel,
    Sense,
    ambiguous_labels,
    most_ambiguous,
    senses_of,
)
from polyseme.senses.explain import Explanation, explain
from polyseme.senses.label_list import LabelList
from polyseme.senses.layer import SHOWN_FROM
from polyseme.senses.slots import label_name, label_number
from polyseme.suggestions import Least, Suggestion, as_frame, suggest
from polyseme.training.update import added_since_training

if TYPE_CHECKING:
    import pandas

    from polyseme.estimators.partitioned import PartitionedClassifier
    from polyseme.text.vocabularies.kept import KeptVocabulary

__all__ = ["LabelledRows", "Tagger"]

EXCERPT = 200  # characters of a text that shows what a sense is

Ranked = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]


class LabelledRows(NamedTuple):
    """Features and labels; where known, their texts, and what rows of the data they are."""

    X: Any
    Y: Any
    texts: Sequence[str] | None = None
    rows: Sequence[int] | None = None


class Tagger:
    """A trained model of matrices, and what everybody asks of a model.

    Documents are whatever the model takes: here the rows of a sparse matrix or an array.

    Attributes
    ----------
    model : estimator or TextModel
    classifier : estimator
        The model itself, or the one behind the texts.
    takes_texts : bool
        Whether documents may be texts.
    label_uris : Names or None
        The URIs of labels if a vocabulary gave them names, or else what the data call them;
        concepts above the labels may follow.
    vocabulary : KeptVocabulary or None
        What a vocabulary says of the labels: other names, notations, what is broader.
    threshold : float or None
        The least score of a suggestion unless told otherwise, if there is one.
    report : dict
        The evaluation that the model keeps; empty if it keeps none.
    """

    takes_texts = False

    def __init__(self, model: Any) -> None:
        self.model = model
        self.classifier: PartitionedClassifier = model
        self.label_uris: Names | None = None
        self.vocabulary: KeptVocabulary | None = None
        self.threshold: float | None = None
        self.report: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<Tagger: {self.model!r}>"

    @property
    def has_probabilities(self) -> bool:
        """Whether scores of suggestions are probabilities, which takes held-out documents.

        The learned order of labels gives them, and so does the curve of a model of texts.
        """
        return self.classifier.ordering_ is not None

    # Labels

    def label_number(self, label: str | int) -> int:
        """Return the number of a label that is given by name, URI or number."""
        return label_number(self.classifier, label)

    def label_name(self, label: int) -> str | int:
        """Return the name of a label, or its number where the model knows no names."""
        return label_name(self.classifier, label)

    @cached_property
    def labels(self) -> LabelList:
        """All labels: ``tagger.labels.find("tank")``."""
        return LabelList(
            self.classifier, None if self.vocabulary is None else self.vocabulary.search
        )

    @property
    def n_named_labels(self) -> int:
        """How many labels have a name, other than what the training data call them."""
        if self.vocabulary is not None:
            return self.vocabulary.n_named
        names, uris = self.classifier.label_names_, self.label_uris
        if names is None or uris is None:
            return 0 if names is None else len(names)
        return sum(name != uri for name, uri in zip(names, uris, strict=True))

    def most_ambiguous(self, n: int = 10) -> list[tuple[str | int, float]]:
        """Return the labels that are most likely ambiguous; see `polyseme.senses`."""
        return most_ambiguous(self.classifier, n)

    def ambiguous_labels(
        self, n: int = 10, *, at_least: float = SHOWN_FROM
    ) -> list[AmbiguousLabel]:
        """Return the same labels with their numbers and the names of their senses."""
        return ambiguous_labels(self.classifier, n, at_least=at_least)

    @property
    def n_ambiguous(self) -> int:
        """How many labels are shown with several senses."""
        layer = self.classifier.senses_
        return 0 if layer is None else layer.n_shown

    # Documents

    def rows(self, documents: Any) -> Any:
        """Return the features of documents in a form that the classifier takes."""
        return documents

    def rank(self, documents: Any, limit: int = 10) -> Ranked:
        """Return the best labels of each document and their scores, as `predict_top_k`."""
        most = min(check_k(limit, "limit"), self.classifier.n_labels_)
        return self.classifier.predict_top_k(self.rows(documents), most)

    def suggest(
        self,
        documents: Any,
        limit: int = 10,
        threshold: float | None = None,
        *,
        at_least: int = 0,
    ) -> list[list[Suggestion]]:
        """Return labels for each document, best first.

        Parameters
        ----------
        documents : documents
        limit : int
            Most labels per document.
        threshold : float, optional
            Least score; by default the model's own.
        at_least : int
            So many labels are returned in any case, also below the threshold.
        """
        return suggest(
            self.classifier,
            self.rows(documents),
            limit,
            self.least(threshold),
            at_least=at_least,
            shown=self.shown,
            label_uris=self.label_uris,
        )

    def suggest_frame(
        self, documents: Any, limit: int = 10, threshold: float | None = None
    ) -> pandas.DataFrame:
        """Return the same as a data frame of pandas; see `polyseme.suggestions.as_frame`."""
        return as_frame(self.suggest(documents, limit, threshold))

    def shown(self, scores: Any) -> Any:
        """Return scores of the classifier as suggestions show them."""
        return scores

    def checked_threshold(self, threshold: float | None) -> float | None:
        """Return the least score: the one that is given, or else the model's own."""
        return self.threshold if threshold is None else threshold

    def least(self, threshold: float | None) -> Least:
        """Return the same, or where the model has one for each label, all of them."""
        return self.checked_threshold(threshold)

    def evaluate(
        self,
        documents: Any,
        labels: Any = None,
        *,
        threshold: float | None = None,
        a: float = 0.55,
        b: float = 1.5,
    ) -> dict[str, Any]:
        """Measure the model on documents with known labels.

        Parameters
        ----------
        documents : documents
        labels : documents x labels matrix, or a list of labels each
            Those that the model does not know count as not found. May be left out where
            `documents` are records of texts with their labels.
        threshold : float, optional
            By default the model's own.
        a, b : float
            Constants of the propensity-scored figures, see `polyseme.metrics.propensities`.

        Returns
        -------
        dict
            ``accuracy`` (percent), ``by_label_frequency`` and numbers of documents and labels;
            of an ensemble also ``members``; of a model with probabilities ``reliability`` and
            ``by_threshold``; of texts also ``threshold``, ``n_unknown_labels`` and
            ``n_without_labels``, the documents that were left out.
        """
        # Imported here: scikit-learn's calibration takes a while, and only this needs it.
        from polyseme.text.by_threshold import by_threshold
        from polyseme.text.calibration import Calibration, reliability
        from polyseme.text.evaluation import N_RANKED, Judged, figures_of

        n_ranked = min(N_RANKED, self.classifier.n_labels_)
        rankings = self.classifier.rankings(self.rows(documents), n_ranked)
        known = self.classifier.label_names_ or range(self.classifier.n_labels_)
        n_rows = len(rankings[0][0])
        truth, _ = check_labels(labels, n_rows, label_names=known, allow_unknown=True)
        judged, *by_members = (Judged.judge(*ranking, truth.to_scipy()) for ranking in rankings)
        report = figures_of(self.classifier, judged, a, b, by_members)
        as_they_are = Calibration.none()
        if self.has_probabilities:
            report["reliability"] = reliability(*judged.pairs(as_they_are))
            report["by_threshold"] = by_threshold(judged, as_they_are)
        if threshold is not None:
            report["threshold"] = dataclasses.asdict(judged.cut(as_they_are, threshold))
        return report

    def explain(
        self,
        document: Any,
        labels: Sequence[int] | None = None,
        *,
        n_labels: int = 5,
        n_features: int = 20,
    ) -> Explanation:
        """Explain the labels of one document, a row or a text; see `polyseme.explain`."""
        one = self.rows([document] if isinstance(document, str) else document)
        return explain(self.classifier, one, labels, n_labels=n_labels, n_features=n_features)

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        """Return (feature, start, end) for everything that counts in a text."""
        return []

    # Senses

    def senses(
        self,
        label: str | int,
        documents: Any = None,
        labels: Any = None,
        *,
        texts: Sequence[str] | None = None,
        at_least: float = SHOWN_FROM,
        n_labels: int = 8,
        n_words: int = 10,
        n_documents: int = 5,
    ) -> list[Sense]:
        """Describe each sense of a label, the one with most documents first.

        Words that are common in the training texts are left out where others tell enough.

        Parameters
        ----------
        label : str or int
            A name, a URI or a number.
        documents, labels : optional
            As for `evaluate`; if given, each sense lists documents of the label that belong to
            it.
        texts : sequence of str, optional
            The texts that rows of a matrix stand for.
        at_least : float
            Labels that are less likely ambiguous have one meaning.
        n_labels, n_words, n_documents : int
            How many of each to list at most.
        """
        number = self.label_number(label)
        known = self._with_label(number, documents, labels, texts)
        found = senses_of(
            self.classifier,
            number,
            known.X,
            known.Y,
            at_least=at_least,
            n_labels=n_labels,
            n_words=max(n_words, N_CONSIDERED),
            n_documents=n_documents,
        )
        told = [self.common_words.told(sense, n_words) for sense in found]
        return [
            self._with_examples(sense, number, place if len(found) > 1 else None, known)
            for place, sense in enumerate(told)
        ]

    @cached_property
    def common_words(self) -> CommonWords:
        """Knows which words tell nothing of a topic."""
        return CommonWords(getattr(self.model, "features_", None), self.classifier.n_features_in_)

    def _with_label(self, label: int, documents: Any, labels: Any, texts: Any) -> LabelledRows:
        """Return documents among which are those of a label, as matrices."""
        return LabelledRows(documents, labels, texts)

    def _with_examples(
        self, sense: Sense, label: int, place: int | None, known: LabelledRows
    ) -> Sense:
        own, texts = sense.documents, known.texts
        examples = [] if texts is None else [excerpt(texts[i], EXCERPT) for i in own]
        return dataclasses.replace(
            sense,
            documents=own if known.rows is None else [known.rows[i] for i in own],
            examples=examples or self.examples(label, place),
        )

    def examples(self, label: int, place: int | None = None) -> list[str]:
        """Return beginnings of training texts of a label, or of one of its senses, if kept."""
        return []

    # What the model keeps of its training

    @property
    def phase_seconds(self) -> dict[str, float]:
        """What each phase of the training took."""
        return dict(self.classifier.phase_seconds_)

    @property
    def added_since_training(self) -> dict[str, int] | None:
        """Documents and labels that updates have added, if there were any."""
        return added_since_training(self.classifier)

    @property
    def added_since_report(self) -> dict[str, int] | None:
        """Documents and labels that the report does not know, if there are any."""
        return self.added_since_training if self.report else None

    def sizes(self) -> dict[str, Any]:
        """Return sizes, slots, the order, senses and parameters as plain JSON values."""
        classifier = self.classifier
        ordering = classifier.ordering_
        clusters, layer = classifier.clusters_, classifier.senses_
        n_labels_by_copies = np.bincount(clusters.copies).tolist()
        return {
            "method": classifier.kind,
            "n_documents": int(classifier.n_documents_),
            "n_labels": classifier.n_labels_,
            "n_features": classifier.n_features_in_,
            "n_clusters": clusters.n_clusters,
            "n_slots": clusters.n_slots,
            "cluster_sizes": {
                "smallest": int(clusters.sizes.min()),
                "median": float(np.median(clusters.sizes)),
                "largest": int(clusters.sizes.max()),
            },
            "labels_by_copies": {
                str(copies): n_labels
                for copies, n_labels in enumerate(n_labels_by_copies)
                if n_labels
            },
            "ordering": None if ordering is None else {"n_documents": ordering.n_documents},
            "senses": None
            if layer is None
            else {
                "n_judged": layer.n_judged,
                "n_ambiguous": layer.n_shown,
                **layer.describe(),
            },
            "has_label_names": classifier.label_names_ is not None,
            "n_named_labels": self.n_named_labels,
            "has_feature_names": classifier.feature_names_ is not None,
            "parameters": classifier.get_params(),
        }

    def about_texts(self) -> dict[str, Any]:
        """Return how texts were read, learned from and measured; nothing without texts."""
        return {}

    def settings_of_texts(self) -> dict[str, Any]:
        """Return the settings beside those of the classifier; none without texts."""
        return {}

    @property
    def origin(self) -> dict[str, Any]:
        """When the model was trained, on what, and by which versions, as far as that is known."""
        return dict(getattr(self.model, "origin_", {}))
