"""What a trained estimator answers: clusters, slots and labels of documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import validation as sklearn_validation
from sklearn.utils.validation import check_is_fitted

from polyseme.backbones.protocols import Encodes, Fuses, Matcher, Ranker, TopK, Walk
from polyseme.estimators.parameters import check_parameters
from polyseme.inputs.documents import Documents
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels
from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.run import Run
from polyseme.machine.threads import count_jobs
from polyseme.metrics import precision_at_k, propensities
from polyseme.ordering.facts import MOST_CANDIDATES, log_counts, log_lengths
from polyseme.ordering.label_ordering import CountedOrdering, LabelOrdering
from polyseme.ordering.name_words import NameWords
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.merging import merge_slots
from polyseme.training.disentangle import what_the_ranker_sees
from polyseme.training.held_out import ROWS_AT_ONCE, candidates_by_parts

__all__ = ["Predicting", "joined_rankings", "top_k_of_rows"]


class Predicting(BaseEstimator):  # type: ignore[misc]
    """The part of an estimator that predicts, with whatever matcher and ranker were trained."""

    beam_size: int
    favour_rare: float
    merge: str
    n_jobs: int | None
    n_trees: int
    random_state: int

    matcher_: Matcher
    ranker_: Ranker
    clusters_: LabelClusters
    label_names_: Names | None
    layout_: tuple[int, int]
    ordering_: LabelOrdering | None
    name_words_: NameWords | None
    label_counts_: npt.NDArray[np.int64]
    n_documents_: int
    trained_parameters_: dict[str, Any]
    n_labels_: int
    n_features_in_: int
    _walk: Walk | None

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense, by name and with what would."""
        check_parameters(self)

    @property
    def beam_of_all_trees(self) -> int:
        """How many clusters a document is matched to."""
        return self.beam_size * self.n_trees

    def _run(self) -> Run:
        return Run(seed=self.random_state, n_threads=count_jobs(self.n_jobs))

    def _make_walk(self) -> None:
        """Put the trained parts together, if they can be."""
        matcher = self.matcher_
        self._walk = (
            matcher.fused_with(self.ranker_, self.clusters_, self._counted())
            if isinstance(matcher, Fuses) and not isinstance(matcher, Encodes)
            else None
        )

    def _counted(self) -> CountedOrdering | None:
        """Return the learned order with what it has to know of each label."""
        if self.ordering_ is None:
            return None
        # As it was in training, whatever was set since.
        favoured = self.trained_parameters_.get("favour_rare", self.favour_rare)
        bonus = log_rarity(self.label_counts_, self.n_documents_, favoured)
        counts = log_counts(self.label_counts_)
        return CountedOrdering(self.ordering_, counts, bonus, self.name_words_)

    def _check(self, X: Any) -> Documents:
        if not hasattr(self, "clusters_"):
            check_is_fitted(self, "clusters_")
        # May have been set after training; checked here in a moment, not all parameters again.
        if type(self.beam_size) is not int or not 1 <= self.beam_size < 2**31:
            self.check_parameters()
        # Looked at only where there may be names: it takes longer than to tag one document.
        if not isinstance(X, Documents) and (
            hasattr(X, "columns") or hasattr(self, "feature_names_in_")
        ):
            self._note_column_names(X, reset=False)
        return check_features(X, layout=self.layout_, model_name=type(self).__name__)

    def _note_column_names(self, X: Any, *, reset: bool) -> None:
        """Remember the column names of a data frame, or compare them with those of `fit`."""
        if hasattr(sklearn_validation, "validate_data"):
            sklearn_validation.validate_data(
                self, X, reset=reset, skip_check_array=True, ensure_2d=False
            )
        else:  # scikit-learn before 1.6
            self._check_feature_names(X, reset=reset)

    def match(self, X: Any) -> SparseRows:
        """Return the clusters that the beam keeps for each document, with their scores.

        Returns
        -------
        SparseRows, shape (n_documents, n_clusters)
        """
        documents = self._check(X)
        return self.matcher_.match(documents, self.beam_of_all_trees, self._run())

    def slot_scores(self, X: Any) -> SparseRows:
        """Return the scores of all slots of the clusters that the beam keeps.

        Returns
        -------
        SparseRows, shape (n_documents, n_slots)
        """
        documents, run = self._check(X), self._run()
        return self._slot_scores(
            documents, self.matcher_.match(documents, self.beam_of_all_trees, run), run
        )

    def _slot_scores(self, documents: Documents, matched: SparseRows, run: Run) -> SparseRows:
        seen = what_the_ranker_sees(self.matcher_, documents, run)
        return self.ranker_.score(seen, matched, self.clusters_, run)

    def _label_scores(self, documents: Documents) -> SparseRows:
        run = self._run()
        if self._walk is not None:
            return self._walk.all_scores(documents, self.beam_of_all_trees, self.merge, run)
        return SparseRows.stack(
            [self._scores_of(block, run) for block in documents.blocks(ROWS_AT_ONCE)]
        )

    def _scores_of(self, documents: Documents, run: Run) -> SparseRows:
        if self.ordering_ is not None:
            return as_rows(*self._in_order(documents, None), self.n_labels_)
        matched = self.matcher_.match(documents, self.beam_of_all_trees, run)
        scores = self._slot_scores(documents, matched, run)
        return merge_slots(scores, self.clusters_, self.merge)

    def _in_order(
        self, documents: Documents, k: int | None
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Return the k best labels of a block of documents, or all, in the learned order."""
        counted = self._counted()
        assert counted is not None
        candidates = candidates_by_parts(
            self.matcher_,
            self.ranker_,
            self.clusters_,
            documents,
            counted.counts,
            self.beam_of_all_trees,
            self.merge,
            self._run(),
            n=None if k is None else min(max(k, MOST_CANDIDATES), self.n_labels_),
            words=counted.words,
        )
        labels, scores = counted.ordering.ordered(
            candidates, log_lengths(documents), counted.bonus
        )
        missing = ((0, 0), (0, max(0, (k or 0) - labels.shape[1])))
        return (
            np.pad(labels[:, :k], missing, constant_values=-1),
            np.pad(scores[:, :k], missing),
        )

    def predict_top_k(
        self, X: Any, k: int = 5
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Return the k best labels of each document, best first.

        Parameters
        ----------
        X : sparse matrix or array, shape (n_documents, n_features)
        k : int
            May exceed the number of labels.

        Returns
        -------
        labels : ndarray of int32, shape (n_documents, k)
            Label numbers, the columns of Y; -1 where fewer than k labels were reached.
        scores : ndarray of float32, shape (n_documents, k)
            0 in the places of -1.
        """
        quick = self._top_k_of_one(X, k)
        if quick is not None:
            return quick
        documents, k = self._check(X), check_k(k)
        if self._walk is not None:
            return self._walk.top_k(documents, self.beam_of_all_trees, k, self.merge, self._run())
        if self.ordering_ is not None:
            ordered = [self._in_order(block, k) for block in documents.blocks(ROWS_AT_ONCE)]
            labels, scores = zip(*ordered, strict=True)
            return np.concatenate(labels), np.concatenate(scores)
        return top_k_of_rows(self._label_scores(documents), k)

    def rankings(self, X: Any, k: int = 5) -> list[TopK]:
        """Return what `predict_top_k` does; behind it an ensemble has what each member says."""
        return [self.predict_top_k(X, k)]

    def _top_k_of_one(
        self, X: Any, k: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]] | None:
        if not self._is_plain_row(X, k):
            return None
        assert self._walk is not None
        return self._walk.top_k_of_row(X, self.beam_of_all_trees, k, self.merge)

    def _is_plain_row(self, X: Any, k: int) -> bool:
        # The general checks take as long as it takes to tag a document. The walk does its own,
        # and declines whatever is not a plain row.
        return (
            isinstance(X, sp.csr_matrix | sp.csr_array)
            and type(k) is int
            and type(self.beam_size) is int
            and getattr(self, "_walk", None) is not None
            and not hasattr(self, "feature_names_in_")
            and X.shape == (1, self.n_features_in_)
            and self.layout_[1] == 0
        )

    def decision_function(self, X: Any) -> sp.csr_array:
        """Return the scores of all labels that the beam reaches.

        Returns
        -------
        csr_array of float32, shape (n_documents, n_labels)
            Labels that were not reached are not stored.
        """
        return self._label_scores(self._check(X)).to_scipy()

    def predict(self, X: Any) -> sp.csr_array:
        """Return the labels with a score of at least one half.

        Returns
        -------
        csr_array of 0/1 (int8), shape (n_documents, n_labels)
        """
        # Few of the scores are kept, so there need not be those of all documents at once.
        blocks = list(self._check(X).blocks(ROWS_AT_ONCE))
        chosen = [_at_least_half(self._label_scores(block)) for block in blocks]
        return sp.csr_array(sp.vstack(chosen, format="csr"))

    def score(self, X: Any, y: Any) -> float:
        """Return the share of documents whose best label is right: P@1 as a fraction.

        With one label per document this is the accuracy. (The labels are called `y` as in all of
        scikit-learn, and may have any form that `fit` takes.) Labels that the model never saw
        count as not found.
        """
        documents = self._check(X)
        known = self._known_labels() or range(self.n_labels_)
        truth, _ = check_labels(y, documents.n_rows, label_names=known, allow_unknown=True)
        best, _ = self.predict_top_k(documents, 1)
        return float(precision_at_k(best, truth.to_scipy(), 1)) / 100

    def _known_labels(self) -> list[Any] | None:
        return None if self.label_names_ is None else list(self.label_names_)


def _at_least_half(scores: SparseRows) -> sp.csr_array:
    chosen = (scores.values >= 0.5).astype(np.int8)
    result = sp.csr_array((chosen, scores.columns, scores.starts), shape=scores.shape)
    result.eliminate_zeros()
    return result


def check_k(k: int, name: str = "k") -> int:
    """Return k if it is a positive whole number; messages call it `name`."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k < 2**31:
        raise ValueError(f"{name} must be a positive whole number, not {k!r}.")
    return int(k)


def log_rarity(
    label_counts: npt.NDArray[np.int64], n_documents: int, power: float
) -> npt.NDArray[np.float32] | None:
    """Return by how much labels are favoured: logarithms of inverse propensities to a power."""
    if power == 0:
        return None
    inverse = propensities(label_counts, n_documents).inverse
    return (power * np.log(inverse)).astype(np.float32)


def as_rows(
    labels: npt.NDArray[np.int32], scores: npt.NDArray[np.float32], n_labels: int
) -> SparseRows:
    """Return the labels of each document, padded with -1, as rows with ascending columns."""
    rows, places = np.nonzero(labels >= 0)
    columns, values = labels[rows, places], scores[rows, places]
    order = np.lexsort((columns, rows))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(labels)))])
    return SparseRows(starts.astype(np.int64), columns[order], values[order], n_labels)


def joined_rankings(parts: Iterable[Sequence[TopK]]) -> list[TopK]:
    """Return the `rankings` of documents from those of their blocks, in order."""
    return [
        (
            np.concatenate([labels for labels, _ in of_one]),
            np.concatenate([scores for _, scores in of_one]),
        )
        for of_one in zip(*parts, strict=True)
    ]


def top_k_of_rows(
    scores: SparseRows, k: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Return the k best columns of each row and their scores, padded with -1 and 0."""
    labels = np.full((scores.n_rows, k), -1, dtype=np.int32)
    values = np.zeros((scores.n_rows, k), dtype=np.float32)
    for i in range(scores.n_rows):
        row_labels, row_scores = scores.row(i)
        order = np.lexsort((row_labels, -row_scores))[:k]
        labels[i, : len(order)] = row_labels[order]
        values[i, : len(order)] = row_scores[order]
    return labels, values
