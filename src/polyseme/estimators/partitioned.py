"""What all estimators share: labels in clusters around any backbone; fit, predict, score, save."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from polyseme.estimators import model_parts
from polyseme.estimators.learning import Learning
from polyseme.estimators.parameters import (
    JOBS,
    NONE,
    RENAMED,
    SEED,
    TRUE_OR_FALSE,
    ZERO,
    Constraint,
    one_of,
    share,
    whole_from,
)
from polyseme.estimators.tuned import TUNED_FIRST, TUNED_VALUES
from polyseme.files.model_folder import save_model
from polyseme.files.stored_model import Contents, StoredModel
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels, refuse_mostly_absent_labels
from polyseme.inputs.names import Names
from polyseme.machine.old_names import knows_old_names, refuse_old_names
from polyseme.machine.progress import Progress
from polyseme.machine.quantities import counted
from polyseme.ordering.name_words import NameWords
from polyseme.partition.assignment import METHODS
from polyseme.partition.merging import MERGES
from polyseme.partition.training_rows import TRAINING_ROWS
from polyseme.partition.trees.given import LabelHierarchy, check_hierarchy
from polyseme.partition.trees.label_features import TREE_FEATURES
from polyseme.partition.trees.registry import TREES

__all__ = ["PartitionedClassifier"]

Self = TypeVar("Self", bound="PartitionedClassifier")


class PartitionedClassifier(Learning):
    """Labels in clusters, each in one or several, around a matcher and a ranker of any kind.

    A subclass says how matchers and rankers are made, and has the parameters for these besides
    the ones below. See docs/write-a-backbone.md.

    Parameters
    ----------
    copies : int, default=3
        In how many clusters a label may be at most (the paper's lambda).
    beam_size : int, default=10
        How many nodes of each tree level, and so clusters, a document is matched to.
    rounds : int, default=1
        How often labels are re-assigned to clusters and the matcher trained again.
    finetune_matcher : bool, default=True
        Train the matcher again for the new clusters (the paper's "alternative update").
    assignment : str, default='capped'
        How slots are chosen: 'closed_form' (the paper's Eq. 10), 'coverage', 'capped' (the
        paper's balanced variant), 'random', 'adaptive' or 'strongest' (ELIAS' choice); see
        `polyseme.assignment`.
    max_cluster_size : int, optional
        Most labels in a cluster for 'capped', 'adaptive' and 'strongest'; by default three times
        the mean (more with more than two copies).
    match_folds : int, default=2
        With k of at least 2, documents are split at random into k parts, and where training asks
        which clusters a document is matched to, a matcher answers that was trained on the other
        parts. 0 (and a single document): the matcher that was trained on it itself.
    n_trees : int, default=1
        Trees of labels that differ by chance: a label has up to `copies` clusters in each, and its
        score is the mean of them. `beam_size` is for each tree.
    branching : int, default=32
        Most children of a node of the tree.
    max_leaf_size : int, default=100
        Most labels in a cluster of the tree, before re-assignment.
    tree : str, default='balanced'
        How labels are grouped at first: 'balanced' (by likeness, into equal halves again and
        again), 'parabel' (the same, with room for labels that have documents), 'k-means' (by
        likeness, wide and uneven), 'bonsai' (the same, shallow), 'huffman' (by frequency) or
        'random'; see docs/trees.md. A `hierarchy` that `fit` is given comes in its place.
    tree_features : str, default='documents'
        What labels are alike by: the features of their 'documents', half of these ('sampled',
        other ones for each tree), the labels that go with them ('co-occurrence'), documents and
        labels side by side ('both'), or 'varied': 'documents', 'both' and 'sampled' in turns.
    training_rows : str, default='teacher-forcing'
        The documents a slot is trained on: those whose labels are in its cluster
        ('teacher-forcing'), those that the matcher sends there ('matcher-aware'), or 'both'.
    sense_positives : bool, default=False
        Give a slot only those documents of its label that are matched to its cluster.
    senses : str, default='induce'
        'induce' finds the senses of labels in the training documents, to show and to name them;
        'none' leaves that out. What is predicted does not depend on it.
    ordering : str, default='learned'
        'learned' puts a document's best labels in an order that is learned from training documents
        held out for that, with scores that are probabilities; 'product' leaves the bare product of
        scores. With too few documents to learn from it is the product, too.
    favour_rare : float, default=0.0
        From 0, which finds as many right labels as can be, to 1, which counts each by its inverse
        propensity, as PSP@k does: in training, for kinds that can, and in the learned order, whose
        probabilities then need not descend.
    merge : str, default='sum'
        How scores of a label's reached slots become one: 'sum', 'mean' (the paper) or 'max'.
    n_jobs : int, optional
        Threads to use; by default, and with -1, one for each core (-2: all cores but one). The
        model does not depend on it.
    random_state : int, default=0
        Seed of the tree, of the order in which documents are visited, and of `match_folds`. The
        same one gives the same model.
    verbose : int, default=1
        Whether to show progress, on a terminal only (0 or 1).

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
    ordering_ : LabelOrdering or None
        The learned order of a document's best labels; None for the bare product.
    name_words_ : NameWords or None
        The words of the names of labels, if that order goes by how much of a name stands in a
        document.
    senses_ : SenseLayer or None
        The senses of the labels; see `polyseme.senses`.
    assignments_ : list of dict
        For each round, the pairs that the beam can reach before and after.
    phase_seconds_ : dict
        What each phase of `fit` took.
    origin_ : dict
        When it was trained and by which versions, and if that is known, on what.
    updates_ : list of dict
        How many documents and labels were added since `fit`; see `polyseme.update`.
    layout_, seen_layout_ : tuple of int
        How many of the features are sparse and how many are a dense block; the same of what the
        ranker sees, which is more where the matcher makes features.
    trained_parameters_ : dict
        The parameters that only another `fit` can change, as they were in this one.
    n_labels_, n_features_in_, n_documents_ : int
    """

    kind: ClassVar[str] = ""  # the name that saved models know the class by
    learns_from_all: ClassVar[bool] = False  # whether every document trains every cluster
    reads_texts: ClassVar[bool] = False  # whether it needs the texts beside the features

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "copies": whole_from(1),
        "beam_size": whole_from(1),
        "rounds": whole_from(0),
        "finetune_matcher": TRUE_OR_FALSE,
        "assignment": one_of(*METHODS),
        "max_cluster_size": NONE | whole_from(1),
        "match_folds": ZERO | whole_from(2),
        "n_trees": whole_from(1),
        "branching": whole_from(2),
        "max_leaf_size": whole_from(1),
        "tree": one_of(*TREES),
        "tree_features": one_of(*TREE_FEATURES),
        "training_rows": one_of(*TRAINING_ROWS),
        "sense_positives": TRUE_OR_FALSE,
        "senses": one_of("induce", "none"),
        "ordering": one_of("learned", "product"),
        "favour_rare": share("from 0 to 1", lambda value: 0 <= value <= 1),
        "merge": one_of(*MERGES),
        "n_jobs": JOBS,
        "random_state": SEED,
        "verbose": one_of(0, 1),
    }

    # What may be set on a trained model; all else needs another fit.
    changed_at_will: ClassVar[Sequence[str]] = ("beam_size", "merge", "n_jobs", "verbose")

    # How to use a machine belongs to the machine: not stored with a model.
    of_the_machine: ClassVar[Sequence[str]] = ("n_jobs", "verbose")

    # Whether a document takes milliseconds, so that estimates make do with one sample, of so many.
    takes_long: ClassVar[bool] = False
    n_sampled: ClassVar[int] = 200

    # What `polyseme.tune` tries: values of parameters, and settings known to be good.
    tuned_values: ClassVar[Mapping[str, Sequence[Any]]] = TUNED_VALUES
    tuned_first: ClassVar[Sequence[Mapping[str, Any]]] = TUNED_FIRST

    @knows_old_names(None, RENAMED)
    def __init__(
        self,
        copies: int = 3,
        beam_size: int = 10,
        rounds: int = 1,
        finetune_matcher: bool = True,
        assignment: str = "capped",
        max_cluster_size: int | None = None,
        match_folds: int = 2,
        n_trees: int = 1,
        branching: int = 32,
        max_leaf_size: int = 100,
        tree: str = "balanced",
        tree_features: str = "documents",
        training_rows: str = "teacher-forcing",
        sense_positives: bool = False,
        senses: str = "induce",
        ordering: str = "learned",
        favour_rare: float = 0.0,
        merge: str = "sum",
        n_jobs: int | None = None,
        random_state: int = 0,
        verbose: int = 1,
    ) -> None:
        self.copies = copies
        self.beam_size = beam_size
        self.rounds = rounds
        self.finetune_matcher = finetune_matcher
        self.assignment = assignment
        self.max_cluster_size = max_cluster_size
        self.match_folds = match_folds
        self.n_trees = n_trees
        self.branching = branching
        self.max_leaf_size = max_leaf_size
        self.tree = tree
        self.tree_features = tree_features
        self.training_rows = training_rows
        self.sense_positives = sense_positives
        self.senses = senses
        self.ordering = ordering
        self.favour_rare = favour_rare
        self.merge = merge
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The names of the labels, or their numbers; made when asked for."""
        check_is_fitted(self, "clusters_")
        names = self.label_names_
        if names is None:
            return np.arange(self.n_labels_)
        return np.array(names, dtype=object if isinstance(names[0], str) else np.int64)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown: str = super().__repr__(N_CHAR_MAX)
        return f"{shown}{self.trained_on}"

    @property
    def trained_on(self) -> str:
        """How many documents and labels it knows, for people; nothing before training."""
        if not hasattr(self, "clusters_"):
            return ""
        n_ambiguous = 0 if self.senses_ is None else self.senses_.n_shown
        also = f", {n_ambiguous:,} of them likely ambiguous" if n_ambiguous else ""
        n_documents = self.n_documents_  # 0 in a model of PECOS, which does not tell
        of = f" of {counted(n_documents, 'document')}" if n_documents else ""
        return f"{of} with {counted(self.n_labels_, 'label')}{also}"

    def set_params(self: Self, **params: Any) -> Self:
        """Set parameters, as in all of scikit-learn."""
        try:
            refuse_old_names(type(self).__name__, params, RENAMED, self.get_params(deep=False))
        except TypeError as error:
            raise ValueError(str(error)) from None  # as scikit-learn does with unknown ones
        super().set_params(**params)
        return self

    # Learning

    def fit(
        self: Self,
        X: Any,
        Y: Any,
        *,
        label_names: Any = None,
        feature_names: Any = None,
        hierarchy: LabelHierarchy | None = None,
        order_from: PartitionedClassifier | None = None,
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
            Names for the columns of X, so that senses can be explained, and that the order of
            labels can tell how much of a label's name stands in a document.
        hierarchy : LabelHierarchy, optional
            A tree of the labels from outside, in the place of the one that `tree`, `branching`
            and `max_leaf_size` would make. Labels are in it by name, or by column of Y where they
            have no names; those that Y does not have are passed over.
        order_from : estimator, optional
            A trained one of the same class, with much the same documents and parameters, whose
            order of labels is taken over, or its lack of one, and what else it chose; by default
            both are learned, as the parameters say.

        Returns
        -------
        self
        """
        self.check_parameters()
        documents = check_features(X)
        labels, names = check_labels(Y, documents.n_rows, label_names=label_names)
        refuse_mostly_absent_labels(labels)
        names_of_labels = None if names is None else Names.from_list(names)
        names_of_features = _feature_names(feature_names, documents.n_features)
        if order_from is not None:
            self._check_order_from(order_from)
        outside = check_hierarchy(hierarchy)
        if outside is not None and self.n_trees > 1:
            raise ValueError(
                f"n_trees={self.n_trees} and a hierarchy do not go together: all trees would be "
                "that one; leave out one of them."
            )
        given = None if outside is None else outside.tree_of(labels.n_columns, names)
        words = None
        if self.ordering == "learned":
            words = NameWords.of(names_of_labels, names_of_features, documents.layout[0])
        progress = Progress(enabled=bool(self.verbose))
        self._learn(documents, labels, progress, order_from, given, words)
        self._note_column_names(X, reset=True)
        if names_of_features is None and hasattr(self, "feature_names_in_"):
            names_of_features = Names.from_list(self.feature_names_in_)
        self.label_names_, self.feature_names_ = names_of_labels, names_of_features
        return self

    def _check_order_from(self, other: Any) -> None:
        if type(other) is not type(self) or not hasattr(other, "ordering_"):
            raise ValueError(f"order_from must be a trained {type(self).__name__}, not {other!r}.")
        for name in ("ordering", "activation"):
            if getattr(self, name, None) != getattr(other, name, None):
                raise ValueError(
                    f"order_from has {name}={getattr(other, name)!r}, but this estimator has "
                    f"{getattr(self, name)!r}; an order holds for scores of the same kind."
                )

    def chosen(self) -> dict[str, float]:
        """Return the numbers that training chose where a parameter left them open, by name."""
        return {}

    def take_chosen(self, chosen: Mapping[str, float]) -> None:
        """Take over what was chosen in the training of a stored model."""

    def for_samples(self: Self) -> Self:
        """Return the estimator that is trained on samples where only an estimate is wanted."""
        copy: Self = clone(self)
        return copy

    def own_work(self, n_documents: int, n_labels: int) -> dict[str, float]:
        """Return the work of phases that this kind counts in units of its own."""
        return {}

    def own_bytes(self, n_documents: int, n_labels: int) -> dict[str, float]:
        """Return the memory that grows with a job, in phases of which this kind knows it."""
        return {}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model as a folder of safetensors and JSON; `polyseme.load` reads it.

        A polyseme model that is at `path` already is replaced in one step.
        """
        save_model(path, self.contents())

    def contents(self) -> Contents:
        """Return what makes up the trained model, to be stored."""
        check_is_fitted(self, "clusters_")
        self.check_parameters()
        for name, value in self._lasting_parameters().items():
            if value != self.trained_parameters_.get(name, value):
                raise ValueError(
                    f"{name} was {self.trained_parameters_[name]!r} in training and is {value!r} "
                    "now; fit again, or set it back, before saving."
                )
        return model_parts.contents_of(self)

    @classmethod
    def restored(cls: type[Self], stored: StoredModel, *, n_jobs: int | None = None) -> Self:
        """Return the model that was stored, after checking all of it."""
        model = cls()
        model.n_jobs = n_jobs
        model._restore_own(stored)
        model_parts.restore(model, stored)
        model.trained_parameters_ = model._lasting_parameters()
        model._make_walk()
        return model

    def _restore_own(self, stored: StoredModel) -> None:
        """Take over what only this kind stores, before matcher and ranker are made."""

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
