"""The estimator behind all presets: fit, predict, save."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import validation as sklearn_validation
from sklearn.utils.validation import check_is_fitted

from polyseme.backbones.protocols import Matcher, Ranker
from polyseme.estimators.parameters import (
    JOBS,
    NONE,
    RENAMED,
    SEED,
    TRUE_OR_FALSE,
    ZERO,
    Constraint,
    check_parameters,
    one_of,
    refuse_old_names,
    whole_from,
)
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels, refuse_mostly_absent_labels
from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.progress import Progress
from polyseme.machine.threads import count_jobs
from polyseme.metrics import precision_at_k
from polyseme.partition.assignment import METHODS, Assignment, CoOccurrence, method_named
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree
from polyseme.partition.merging import MERGES, merge_slots
from polyseme.training.cross_matching import usable_folds
from polyseme.training.disentangle import disentangle
from polyseme.training.training_rows import TRAINING_ROWS

__all__ = ["PartitionedClassifier"]

Self = TypeVar("Self", bound="PartitionedClassifier")


class PartitionedClassifier(BaseEstimator):  # type: ignore[misc]
    """A matcher, a ranker, and labels that may be in several clusters.

    Subclasses have the parameters (see `polyseme.XRLinear`) and make the matcher and the ranker.

    Attributes
    ----------
    tree_ : LabelTree
    clusters_ : LabelClusters
        The slots: which labels are in which cluster.
    matcher_, ranker_
        The two trained parts.
    label_names_ : Names or None
        If the labels were given by name.
    classes_ : ndarray, shape (n_labels,)
        The names of the labels, or their numbers where they have none.
    feature_names_ : Names or None
        As given to `fit`, or the columns of a data frame.
    feature_names_in_ : ndarray of str
        Only after `fit` with a data frame: its columns, which later ones must have as well.
    label_counts_ : ndarray of int64, shape (n_labels,)
        Training documents of each label.
    slot_documents_ : ndarray of int64, shape (n_slots,)
        Training documents of each slot's label that were matched to the slot's cluster when the
        slots were chosen; without re-assignment, all of the label's.
    assignments_ : list of dict
        For each round, the pairs that the beam can reach before and after.
    phase_seconds_ : dict
        What each phase of `fit` took.
    updates_ : list of dict
        How many documents and labels were added since `fit`; see `polyseme.update`.
    n_labels_, n_features_in_, n_documents_ : int
    """

    copies: int
    beam_size: int
    rounds: int
    finetune_matcher: bool
    assignment: str
    max_cluster_size: int | None
    match_folds: int
    branching: int
    max_leaf_size: int
    training_rows: str
    sense_positives: bool
    merge: str
    n_jobs: int | None
    random_state: int
    verbose: int

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "copies": whole_from(1),
        "beam_size": whole_from(1),
        "rounds": whole_from(0),
        "finetune_matcher": TRUE_OR_FALSE,
        "assignment": one_of(*METHODS),
        "max_cluster_size": NONE | whole_from(1),
        "match_folds": ZERO | whole_from(2),
        "branching": whole_from(2),
        "max_leaf_size": whole_from(1),
        "training_rows": one_of(*TRAINING_ROWS),
        "sense_positives": TRUE_OR_FALSE,
        "merge": one_of(*MERGES),
        "n_jobs": JOBS,
        "random_state": SEED,
        "verbose": one_of(0, 1),
    }

    matcher_: Matcher
    ranker_: Ranker
    tree_: LabelTree
    clusters_: LabelClusters
    label_names_: Names | None
    feature_names_: Names | None
    updates_: list[dict[str, int]]

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The names of the labels, or their numbers; made when asked for."""
        names = self.label_names_
        if names is None:
            return np.arange(self.n_labels_)
        return np.array(names, dtype=object if isinstance(names[0], str) else np.int64)

    @abstractmethod
    def _make_matcher(self) -> Matcher: ...

    @abstractmethod
    def _make_ranker(self) -> Ranker: ...

    def set_params(self: Self, **params: Any) -> Self:
        """Set parameters, as in all of scikit-learn."""
        try:
            refuse_old_names(type(self).__name__, params, RENAMED)
        except TypeError as error:
            raise ValueError(str(error)) from None  # as scikit-learn does with unknown ones
        super().set_params(**params)
        return self

    def fit(
        self: Self,
        X: Any,
        Y: Any,
        *,
        label_names: Any = None,
        feature_names: Any = None,
    ) -> Self:
        """Learn to tag documents.

        Parameters
        ----------
        X : sparse matrix, array, or tuple of both side by side, shape (n_documents, n_features)
        Y : sparse or dense 0/1 matrix, shape (n_documents, n_labels), or lists of labels
            A list holds the names (str) or ids (int) of each document's labels; the model then
            remembers them.
        label_names : sequence of str, optional
            Names for the columns of Y.
        feature_names : sequence of str, optional
            Names for the columns of X, so that senses can be explained.

        Returns
        -------
        self
        """
        check_parameters(self)
        features = check_features(X)
        labels, names = check_labels(Y, features.n_rows, label_names=label_names)
        refuse_mostly_absent_labels(labels)
        names_of_labels = None if names is None else Names.from_list(names)
        names_of_features = _feature_names(feature_names, features.n_columns)
        n_threads = count_jobs(self.n_jobs)

        with self._progress() as progress:
            with progress.phase("Label tree") as step:
                tree, clusters = LabelTree.build(
                    features,
                    labels,
                    branching=self.branching,
                    max_leaf_size=self.max_leaf_size,
                    seed=self.random_state,
                    n_threads=n_threads,
                    progress=step,
                )
            matcher, ranker = self._make_matcher(), self._make_ranker()
            found = disentangle(
                features,
                labels,
                tree,
                clusters,
                matcher,
                ranker,
                assign=self._assign,
                beam_size=self.beam_size,
                rounds=self.rounds,
                finetune_matcher=self.finetune_matcher,
                match_folds=usable_folds(features.n_rows, self.match_folds),
                training_rows=self.training_rows,
                sense_positives=self.sense_positives,
                seed=self.random_state,
                n_threads=n_threads,
                progress=progress,
            )

        self._check_trained(matcher, ranker)
        self.matcher_, self.ranker_ = matcher, ranker
        self.tree_, self.clusters_ = tree, found.clusters
        self.assignments_ = [
            {
                "objective_before": made.objective_before,
                "objective_after": made.objective_after,
                "n_positives": made.n_positives,
            }
            for made in found.assignments
        ]
        self.label_counts_ = np.bincount(labels.columns, minlength=labels.n_columns)
        self.slot_documents_ = (
            self.label_counts_[found.clusters.labels]
            if found.slot_documents is None
            else found.slot_documents
        )
        self._note_column_names(X, reset=True)
        if names_of_features is None and hasattr(self, "feature_names_in_"):
            names_of_features = Names.from_list(self.feature_names_in_)
        self.label_names_, self.feature_names_ = names_of_labels, names_of_features
        self.n_documents_, self.n_features_in_ = features.shape
        self.n_labels_ = labels.n_columns
        self.updates_ = []
        self.phase_seconds_ = dict(progress.seconds)
        self._after_fit()
        return self

    def _progress(self) -> Progress:
        return Progress(enabled=bool(self.verbose))

    def _check_trained(self, matcher: Any, ranker: Any) -> None:
        """Refuse parts that cannot be used, before they replace earlier ones."""

    def _after_fit(self) -> None:
        """Forget what belongs to an earlier training."""

    def _assign(self, counted: CoOccurrence, present: LabelClusters) -> Assignment:
        choose = method_named(self.assignment)
        return choose(
            counted,
            present,
            self.copies,
            max_cluster_size=self.max_cluster_size,
            seed=self.random_state,
            n_threads=count_jobs(self.n_jobs),
        )

    def _check(self, X: Any) -> SparseRows:
        if not hasattr(self, "clusters_"):
            check_is_fitted(self, "clusters_")
        # May have been set after training; checked here in a moment, not all parameters again.
        if type(self.beam_size) is not int or not 1 <= self.beam_size < 2**31:
            check_parameters(self)
        # Looked at only where there may be names: it takes longer than to tag one document.
        if not isinstance(X, SparseRows) and (
            hasattr(X, "columns") or hasattr(self, "feature_names_in_")
        ):
            self._note_column_names(X, reset=False)
        return check_features(X, n_features=self.n_features_in_, model_name=type(self).__name__)

    def _note_column_names(self, X: Any, *, reset: bool) -> None:
        """Remember the column names of a data frame, or compare them with those of `fit`."""
        if hasattr(sklearn_validation, "validate_data"):
            sklearn_validation.validate_data(
                self, X, reset=reset, skip_check_array=True, ensure_2d=False
            )
        else:  # scikit-learn before 1.6
            self._check_feature_names(X, reset=reset)

    def _label_scores(self, X: SparseRows) -> SparseRows:
        matched = self.matcher_.match(X, self.beam_size)
        slot_scores = self.ranker_.score(X, matched, self.clusters_)
        return merge_slots(slot_scores, self.clusters_, self.merge)

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
        return self._top_k(self._check(X), check_k(k)) if quick is None else quick

    def _top_k_of_one(
        self, X: Any, k: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]] | None:
        """Answer for a single plain row without the general checks, where that is safe."""
        return None

    def _top_k(
        self, X: SparseRows, k: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        return top_k_of_rows(self._label_scores(X), k)

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
        scores = self.decision_function(X)
        chosen = (scores.data >= 0.5).astype(np.int8)
        result = sp.csr_array((chosen, scores.indices, scores.indptr), shape=scores.shape)
        result.eliminate_zeros()
        return result

    def score(self, X: Any, y: Any) -> float:
        """Return the share of documents whose best label is right: P@1 as a fraction.

        With one label a document this is the accuracy. (The labels are called `y` as in all of
        scikit-learn, and may have any form that `fit` takes.) Labels that the model never saw
        count as not found.
        """
        features = self._check(X)
        known = self._known_labels() or range(self.n_labels_)
        truth, _ = check_labels(y, features.n_rows, label_names=known, allow_unknown=True)
        best, _ = self.predict_top_k(features, 1)
        return float(precision_at_k(best, truth.to_scipy(), 1)) / 100

    def _known_labels(self) -> list[Any] | None:
        return None if self.label_names_ is None else list(self.label_names_)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model as a folder of safetensors and JSON; `polyseme.load` reads it.

        What is at `path` before, if it is a polyseme model, is replaced in one step.
        """
        raise TypeError(f"a {type(self).__name__} cannot be saved")

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that targets are needed and may be many, and that X may be sparse."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        return tags

    def _more_tags(self) -> dict[str, Any]:
        # The same for scikit-learn before 1.6.
        return {"requires_y": True, "multioutput": True}


def _feature_names(given: Any, n_features: int) -> Names | None:
    if given is None:
        return None
    names = Names.from_list(given)
    if len(names) != n_features:
        raise ValueError(f"X has {n_features} features, but there are {len(names)} feature names.")
    return names


def check_k(k: int) -> int:
    """Return k if it is a positive whole number."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k < 2**31:
        raise ValueError(f"k must be a positive whole number, not {k!r}.")
    return int(k)


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
