"""What a trained text model answers: labels of texts, why, and how many of them are right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polyseme.estimators.predicting import check_k
from polyseme.inputs.documents import Documents
from polyseme.senses.explain import Explanation
from polyseme.suggestions import Suggestion, as_frame, suggest
from polyseme.text.calibration import Calibration
from polyseme.text.corpora.records import Record, checked_records
from polyseme.text.explaining import explain_text
from polyseme.text.features import TextFeatures
from polyseme.text.given import require_list, require_text
from polyseme.text.known_labels import KnownLabels
from polyseme.text.measuring import evaluate_records, share_of_right_firsts
from polyseme.text.predictions import Predicted, batches_of, predict_batches
from polyseme.text.problem import Pairs

if TYPE_CHECKING:
    import pandas

__all__ = ["Suggesting"]


class Suggesting(KnownLabels):
    """The part of a text model that suggests labels; see `TextModel` for the attributes."""

    if TYPE_CHECKING:  # a text model has them, and says so itself where it is not trained
        features_: TextFeatures
        calibration_: Calibration
        threshold_: float
        label_thresholds_: npt.NDArray[np.float64] | None
        report_: dict[str, Any]

    def predict(self, texts: Sequence[str]) -> npt.NDArray[np.object_]:
        """Return the names of the labels that `suggest` gives, ten at most.

        Returns
        -------
        ndarray of lists of str, shape (n_texts,)
        """
        suggested = self.suggest(texts)
        found = np.empty(len(suggested), dtype=object)
        for i, suggestions in enumerate(suggested):
            found[i] = [suggestion.name for suggestion in suggestions]
        return found

    def score(self, texts: Iterable[str], labels: Iterable[Iterable[str]]) -> float:
        """Return the share of texts whose best label is right: P@1 as a fraction.

        Labels that the model does not know count as not found, and a text without labels as
        wrong, as in `XRLinear.score`.
        """
        return share_of_right_firsts(self, Pairs(texts, labels))

    def suggest(
        self,
        texts: Sequence[str],
        limit: int = 10,
        threshold: float | None = None,
        *,
        at_least: int = 0,
    ) -> list[list[Suggestion]]:
        """Return labels for each text, best first.

        Parameters
        ----------
        texts : sequence of str
        limit : int
            Most labels per text.
        threshold : float, optional
            Least score; by default the model's own, 0 for all.
        at_least : int
            Each text gets this many labels, even if their scores are below the threshold.

        Returns
        -------
        list of list of Suggestion
            For each text its labels, with ``name``, ``score`` (a probability), ``uri`` and
            ``sense``.
        """
        return suggest(
            self.classifier_,
            self.as_documents(texts),
            limit,
            self.least(threshold),
            at_least=at_least,
            shown=self.calibration_,
            label_uris=self.shown_uris,
        )

    def suggest_records(
        self,
        records: Iterable[Record],
        limit: int = 10,
        threshold: float | None = None,
        *,
        at_least: int = 0,
    ) -> Iterator[Predicted]:
        """Yield each document with its labels, in a stream.

        Parameters
        ----------
        records : iterable of Record
            Such as `polyseme.text.open_corpus` finds in a file.
        limit, threshold, at_least
            As for `suggest`.

        Yields
        ------
        Predicted
            Also for documents without labels; `polyseme.text.write_predictions` writes them.
        """
        how: dict[str, Any] = {"limit": limit, "threshold": threshold, "at_least": at_least}
        batches = batches_of(checked_records(records))
        return predict_batches(lambda texts: self.suggest(texts, **how), batches)

    def suggest_frame(
        self, texts: Sequence[str], limit: int = 10, threshold: float | None = None
    ) -> pandas.DataFrame:
        """Return the same as a data frame of pandas; see `polyseme.suggestions.as_frame`."""
        return as_frame(self.suggest(texts, limit, threshold))

    def explain(
        self,
        text: str,
        labels: Iterable[str | int] | None = None,
        *,
        n_labels: int = 5,
        n_words: int = 20,
    ) -> Explanation:
        """Say why labels are suggested for a text, or not; ``print`` it to read it.

        Parameters
        ----------
        text : str
        labels : iterable of str or int, optional
            By name, URI or number; by default the best ones.
        n_labels : int
            How many of the best.
        n_words : int
            How many words of each classifier to list at most.
        """
        return explain_text(self, text, labels, n_labels, n_words)

    def rank(
        self, texts: Sequence[str], limit: int = 10
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Return the best labels of each text and their bare scores, as `predict_top_k` does."""
        most = min(check_k(limit, "limit"), self.classifier_.n_labels_)
        return self.classifier_.predict_top_k(self.as_documents(texts), most)

    def as_documents(self, texts: Sequence[str]) -> Documents:
        """Return texts as the classifier takes them: features, and the texts if it reads them."""
        require_list(texts, "texts")
        given = texts if isinstance(texts, list) else list(texts)
        for i, text in enumerate(given):
            require_text(text, f"text {i}")
        features = self.features_.rows(given)
        return Documents(features, texts=given if self.classifier_.reads_texts else None)

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
            As `report_`, without ``reach``; documents without labels (``n_without_labels``) are
            left out, and labels that the model does not know (``n_unknown_labels``) count as not
            found. Of a model without probabilities there is no ``reliability``, and of one
            without held-out documents a ``threshold`` only if one is given.
        """
        return evaluate_records(self, checked_records(records), threshold, a, b)

    @property
    def has_probabilities(self) -> bool:
        """Whether scores are probabilities, by held-out documents or a learned order."""
        return self.classifier_.ordering_ is not None or self.calibration_.method != "none"

    def checked_threshold(self, threshold: float | None) -> float:
        """Return the least probability: the one that is given, or else the model's own."""
        if threshold is not None and not (
            isinstance(threshold, int | float) and 0 <= threshold <= 1
        ):
            raise ValueError(f"threshold must be a probability from 0 to 1, not {threshold!r}.")
        return float(self.threshold_ if threshold is None else threshold)

    def least(self, threshold: float | None) -> float | npt.NDArray[np.float64]:
        """Return the same, or where the model has one for each label, all of them."""
        if threshold is None and self.label_thresholds_ is not None:
            return self.label_thresholds_
        return self.checked_threshold(threshold)
