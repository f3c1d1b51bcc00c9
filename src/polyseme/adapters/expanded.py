"""Labels with several senses for models that have one place for each: one column per slot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from polyseme.adapters.exchange import plain_matrix
from polyseme.backbones.linear.matcher import LinearTreeMatcher
from polyseme.backbones.tasks import MatchingTask
from polyseme.estimators.parameters import (
    JOBS,
    NONE,
    SEED,
    Constraint,
    check_parameters,
    one_of,
    whole_from,
)
from polyseme.estimators.predicting import as_rows, check_k, top_k_of_rows
from polyseme.inputs.documents import Documents
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels, refuse_mostly_absent_labels
from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.run import Run
from polyseme.machine.threads import count_jobs
from polyseme.partition.assignment import METHODS, AssignmentPlan
from polyseme.partition.co_occurrence import co_occurrence
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree
from polyseme.partition.merging import MERGES, merge_slots
from polyseme.partition.training_rows import cluster_targets
from polyseme.partition.trees import balanced
from polyseme.training.cross_matching import cross_match, usable_folds

__all__ = ["ExpandedLabels"]

N_FOLDS = 2
LEAST_ASKED = 10  # labels whose copies are merged, however few are wanted

TopK = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]
Self = TypeVar("Self", bound="ExpandedLabels")


def _is_model(value: Any) -> bool:
    if isinstance(value, tuple):
        return len(value) == 2 and all(map(callable, value))
    return not isinstance(value, type) and all(
        hasattr(value, name) for name in ("fit", "predict_top_k")
    )


class ExpandedLabels(BaseEstimator):  # type: ignore[misc]
    """Gives several senses to the labels of a model that has one place for each.

    A draft of XR-Linear finds the slots of the labels, and the model is trained with a column for
    each of them. Its answers are merged back, so that a label comes up once.

    Parameters
    ----------
    model : object, or pair of callables
        Has ``fit(X, Y)``, with a sparse 0/1 matrix Y, and ``predict_top_k(X, k)``, which gives
        columns and scores, shape (n_documents, k) each, with -1 where there are fewer. Or
        ``train(X, Y)``, whose result ``predict(trained, X, k)`` is given. A model with
        ``fit_in_clusters(X, Y, tree, cluster_of_column)`` is told which clusters were found.
    copies : int, default=2
        In how many clusters a label may be at most.
    positives : str, optional
        The documents of a column: 'all' those of its label, or its 'own', those that are matched
        to its cluster. A model that makes its own clusters can tell columns of a label apart only
        by these. By default 'all' for a model that is told clusters, 'own' for others.
    merge : str, default='sum'
        How scores of a label's columns become one: 'sum', 'mean' or 'max'. Sums are for scores
        that are not negative.
    beam_size, assignment, max_cluster_size, branching, max_leaf_size
        Of the draft, as in `polyseme.XRLinear`.
    n_jobs : int, optional
        Threads of the draft; by default one for each core.
    random_state : int, default=0

    Attributes
    ----------
    model_ : object
        The trained model, with columns as its labels.
    label_of_column_ : ndarray of int32, shape (n_columns,)
        The label behind each column.
    label_names_ : Names or None
        If the labels were given by name.
    n_labels_ : int
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "model": Constraint(
            "an object with fit and predict_top_k, or a pair of callables", _is_model
        ),
        "copies": whole_from(1),
        "positives": NONE | one_of("all", "own"),
        "merge": one_of(*MERGES),
        "beam_size": whole_from(1),
        "assignment": one_of(*METHODS),
        "max_cluster_size": NONE | whole_from(1),
        "branching": whole_from(2),
        "max_leaf_size": whole_from(1),
        "n_jobs": JOBS,
        "random_state": SEED,
    }

    model_: Any
    label_of_column_: npt.NDArray[np.int32]
    label_names_: Names | None
    n_labels_: int

    def __init__(
        self,
        model: Any = None,
        copies: int = 2,
        positives: str | None = None,
        merge: str = "sum",
        beam_size: int = 10,
        assignment: str = "capped",
        max_cluster_size: int | None = None,
        branching: int = 32,
        max_leaf_size: int = 100,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.model = model
        self.copies = copies
        self.positives = positives
        self.merge = merge
        self.beam_size = beam_size
        self.assignment = assignment
        self.max_cluster_size = max_cluster_size
        self.branching = branching
        self.max_leaf_size = max_leaf_size
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self: Self, X: Any, Y: Any, *, label_names: Any = None) -> Self:
        """Find the slots of labels, and train the model with a column for each.

        Parameters
        ----------
        X : sparse matrix or array, shape (n_documents, n_features)
            The model is given it as it is.
        Y : sparse or dense 0/1 matrix, shape (n_documents, n_labels), or lists of labels
        label_names : sequence of str, optional

        Returns
        -------
        self
        """
        check_parameters(self)
        documents = check_features(X)
        labels, names = check_labels(Y, documents.n_rows, label_names=label_names)
        refuse_mostly_absent_labels(labels)
        is_told = hasattr(self.model, "fit_in_clusters")
        positives = self.positives or ("all" if is_told else "own")

        tree, clusters, matched = self._find_slots(documents, labels)
        if positives == "all":
            kept = np.arange(clusters.n_slots)
            columns = plain_matrix(labels).tocsc()[:, clusters.labels].tocsr()
        else:
            own = _own_documents(labels, clusters, matched)
            kept = _in_use(own, clusters)
            columns = own.tocsc()[:, kept].tocsr()
        if isinstance(self.model, tuple):
            trained = self.model[0](X, columns)
        elif is_told:
            trained = clone(self.model, safe=False)
            trained.fit_in_clusters(X, columns, tree, clusters.cluster_of_slot[kept])
        else:
            trained = clone(self.model, safe=False)
            trained.fit(X, columns)
        self.model_, self.label_of_column_ = trained, clusters.labels[kept]
        self.label_names_ = None if names is None else Names.from_list(names)
        self.n_labels_ = labels.n_columns
        return self

    def _find_slots(
        self, documents: Documents, labels: SparsePattern
    ) -> tuple[LabelTree, LabelClusters, SparseRows]:
        """Return the tree, the slots, and the clusters that documents are matched to."""
        run = Run(seed=self.random_state, n_threads=count_jobs(self.n_jobs))
        tree, clusters = balanced.build(documents, labels, self.branching, self.max_leaf_size, run)
        n_folds = usable_folds(documents.n_rows, N_FOLDS)
        targets = cluster_targets(labels, clusters)
        if n_folds:
            matched = cross_match(
                LinearTreeMatcher, documents, targets, tree, self.beam_size, n_folds, run
            )
        else:  # a single document
            draft = LinearTreeMatcher().fit(documents, MatchingTask(targets, tree), run)
            matched = draft.match(documents, self.beam_size, run)
        counted = co_occurrence(labels.to_scipy(), matched.to_scipy(), n_threads=run.n_threads)
        plan = AssignmentPlan(self.assignment, self.copies, self.max_cluster_size)
        return tree, plan.assign(counted, clusters, tree, run).clusters, matched

    def predict_top_k(self, X: Any, k: int = 5) -> TopK:
        """Return the k best labels of each document, best first, each of them once.

        Parameters
        ----------
        X : as the model takes it, shape (n_documents, n_features)
        k : int

        Returns
        -------
        labels : ndarray of int32, shape (n_documents, k)
            -1 where the model found fewer.
        scores : ndarray of float32, shape (n_documents, k)
            0 in the places of -1.
        """
        check_is_fitted(self, "model_")
        check_parameters(self)
        k, n_columns = check_k(k), len(self.label_of_column_)
        n_asked = min(n_columns, max(k, LEAST_ASKED) * self.copies)
        if isinstance(self.model, tuple):
            answer = self.model[1](self.model_, X, n_asked)
        else:
            answer = self.model_.predict_top_k(X, n_asked)
        columns, scores = _checked(answer, n_columns)
        # Every column is a cluster of its own to those who merge.
        slots = LabelClusters(
            self.n_labels_, np.arange(n_columns + 1, dtype=np.int64), self.label_of_column_
        )
        rows = as_rows(columns, scores, n_columns)
        return top_k_of_rows(merge_slots(rows, slots, self.merge), k)

    def save(self, path: Any) -> NoReturn:
        """Refuse to be saved."""
        raise ValueError(
            "an ExpandedLabels cannot be saved: its model may be anything; save model_ in its own "
            "way, and label_of_column_ beside it."
        )


def _own_documents(
    labels: SparsePattern, clusters: LabelClusters, matched: SparseRows
) -> sp.csr_matrix:
    """Return the documents of each slot: of its label, and matched to its cluster.

    A label's document that is matched to none of its clusters is given to its first slot.

    Returns
    -------
    csr_matrix of float32, shape (n_documents, n_slots)
    """
    document = np.repeat(np.arange(labels.n_rows), np.diff(labels.starts))
    by_label = np.argsort(clusters.labels, kind="stable")
    first = np.concatenate([[0], np.cumsum(clusters.copies)])
    reached = plain_matrix(matched.pattern())
    is_lost = np.ones(labels.n_stored, dtype=bool)
    rows, columns = [], []
    for place in range(int(clusters.copies.max())):
        there = np.flatnonzero(clusters.copies[labels.columns] > place)
        slots = by_label[first[labels.columns[there]] + place]
        is_own = reached[document[there], clusters.cluster_of_slot[slots]].A1 > 0
        rows.append(document[there[is_own]])
        columns.append(slots[is_own])
        is_lost[there[is_own]] = False
    rows.append(document[is_lost])
    columns.append(by_label[first[labels.columns[is_lost]]])
    places = np.concatenate(rows), np.concatenate(columns)
    ones = np.ones(len(places[0]), dtype=np.float32)
    return sp.csr_matrix((ones, places), shape=(labels.n_rows, clusters.n_slots))


def _in_use(own: sp.csr_matrix, clusters: LabelClusters) -> npt.NDArray[np.int64]:
    """Return the slots that have documents, and one of each label that has none."""
    is_used = np.bincount(own.indices, minlength=clusters.n_slots) > 0
    has_one = np.zeros(clusters.n_labels, dtype=bool)
    has_one[clusters.labels[is_used]] = True
    _, first_slots = np.unique(clusters.labels, return_index=True)
    is_used[first_slots[~has_one]] = True
    return np.flatnonzero(is_used)


def _checked(answer: Any, n_columns: int) -> TopK:
    try:
        columns, scores = (np.asarray(part) for part in answer)
        is_sound = columns.ndim == 2 and columns.shape == scores.shape
        is_sound = is_sound and columns.dtype.kind in "iu" and scores.dtype.kind in "iuf"
    except (TypeError, ValueError):
        is_sound = False
    if not is_sound or (columns.size and (columns.min() < -1 or columns.max() >= n_columns)):
        raise ValueError(
            "the model must answer with columns and scores, two arrays of shape (n_documents, k); "
            f"columns are numbers from 0 to {n_columns - 1}, or -1 for none."
        )
    return columns.astype(np.int32), scores.astype(np.float32)
