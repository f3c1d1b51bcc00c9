"""Estimators with their choices made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from polyseme import _native
from polyseme.backbones.linear.matcher import LinearTreeMatcher
from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.backbones.linear.weights import LinearTraining
from polyseme.estimators.parameters import (
    NONE,
    RENAMED,
    Constraint,
    knows_old_names,
    number_above,
    number_from,
    one_of,
    whole_from,
)
from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.files.classifier_files import contents_of
from polyseme.files.model_folder import save_model
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.threads import count_jobs

__all__ = ["XRLinear"]


class XRLinear(PartitionedClassifier):
    """Linear extreme multi-label classification in which a label may have several senses.

    A tree of linear classifiers finds a few clusters of labels for a document (the matcher),
    and a linear classifier for every label in them ranks the labels. With ``copies=2`` a label
    may be in two clusters, each with weights of its own: one for each of its senses. With
    ``copies=1, rounds=0`` this is plain XR-Linear.

    Parameters
    ----------
    copies : int, default=2
        In how many clusters a label may be at most (the paper's lambda).
    beam_size : int, default=10
        How many nodes of each tree level, and so clusters, a document is matched to.
    rounds : int, default=1
        How often labels are re-assigned to clusters and the matcher trained again.
    finetune_matcher : bool, default=True
        Train the matcher again for the new clusters (the paper's "alternative update").
    assignment : str, default='capped'
        How slots are chosen: 'closed_form' (the paper's Eq. 10), 'coverage', 'capped' (the
        paper's balanced variant), 'random' or 'adaptive'; see `polyseme.assignment`.
    max_cluster_size : int, optional
        Most labels in a cluster for 'capped' and 'adaptive'; by default three times the mean
        (more with more than two copies).
    match_folds : int, default=2
        With k of at least 2, documents are split at random into k parts, and where training asks
        which clusters a document is matched to, a matcher answers that was trained on the other
        parts. 0 (and a single document): the matcher that was trained on it itself.
    branching : int, default=32
        Most children of a node of the tree.
    max_leaf_size : int, default=100
        Most labels in a cluster of the tree, before re-assignment.
    loss : str, default='squared-hinge'
        'squared-hinge' or 'logistic'.
    C : float, default=1.0
        Weight of the loss against the regularisation; larger fits closer.
    tol : float, default=0.03
        When a classifier counts as solved; smaller is more exact and slower.
    max_iter : int, default=10
        Most passes over the training rows for a classifier.
    min_weight : float, default=0.1
        Weights of smaller magnitude are dropped after training.
    max_weights_per_label : int, optional
        Keep only that many of the largest weights of a classifier.
    weight_bits : int, default=8
        How weights are stored: 8 for one byte each, good to about one percent, or 32 for exact
        ones in four times the space.
    bias : float, default=1.0
        Value of a constant feature added to each document; 0 for none.
    training_rows : str, default='teacher-forcing'
        The documents a slot is trained on: those whose labels are in its cluster
        ('teacher-forcing'), those that the matcher sends there ('matcher-aware'), or 'both'.
    sense_positives : bool, default=False
        Give a slot only those documents of its label that are matched to its cluster.
    activation : str, default='l3-hinge'
        From margins to scores: 'l3-hinge' or 'sigmoid', which multiply along the path, or
        'none' for bare margins.
    merge : str, default='sum'
        How scores of a label's reached slots become one: 'sum', 'mean' (the paper) or 'max'.
    n_jobs : int, optional
        Threads to use; by default, and with -1, one for each core (-2: all cores but one). The
        model does not depend on it.
    random_state : int, default=0
        Seed of the tree, of the order in which documents are visited, and of `match_folds`. The
        same one gives the same model.
    verbose : int, default=1
        1: show progress, if there is a terminal to show it on. 0: show none.

    Examples
    --------
    >>> import numpy as np
    >>> from polyseme import XRLinear
    >>> X = np.eye(4, dtype=np.float32)
    >>> model = XRLinear().fit(X, [["fruit"], ["fruit", "brand"], ["brand"], ["animal"]])
    >>> labels, scores = model.predict_top_k(X, k=1)
    >>> model.label_names_[labels[3, 0]]
    'animal'
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **PartitionedClassifier._constraints,
        "loss": one_of("squared-hinge", "logistic"),
        "C": number_above(0),
        "tol": number_above(0),
        "max_iter": whole_from(1),
        "min_weight": number_from(0),
        "max_weights_per_label": NONE | whole_from(1),
        "weight_bits": one_of(8, 32),
        "bias": number_from(0),
        "activation": one_of("l3-hinge", "sigmoid", "none"),
    }

    matcher_: LinearTreeMatcher
    ranker_: LinearSlotRanker
    _walk: _Walk

    @knows_old_names("XRLinear", RENAMED)
    def __init__(
        self,
        copies: int = 2,
        beam_size: int = 10,
        rounds: int = 1,
        finetune_matcher: bool = True,
        assignment: str = "capped",
        max_cluster_size: int | None = None,
        match_folds: int = 2,
        branching: int = 32,
        max_leaf_size: int = 100,
        loss: str = "squared-hinge",
        C: float = 1.0,
        tol: float = 0.03,
        max_iter: int = 10,
        min_weight: float = 0.1,
        max_weights_per_label: int | None = None,
        weight_bits: int = 8,
        bias: float = 1.0,
        training_rows: str = "teacher-forcing",
        sense_positives: bool = False,
        activation: str = "l3-hinge",
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
        self.branching = branching
        self.max_leaf_size = max_leaf_size
        self.loss = loss
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.min_weight = min_weight
        self.max_weights_per_label = max_weights_per_label
        self.weight_bits = weight_bits
        self.bias = bias
        self.training_rows = training_rows
        self.sense_positives = sense_positives
        self.activation = activation
        self.merge = merge
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _how(self) -> LinearTraining:
        return LinearTraining(
            loss=self.loss,
            cost=self.C,
            tolerance=self.tol,
            max_iter=self.max_iter,
            bias=self.bias,
            min_weight=self.min_weight,
            max_weights_per_label=self.max_weights_per_label,
            weight_bits=self.weight_bits,
            seed=self.random_state,
            n_threads=count_jobs(self.n_jobs),
        )

    def _make_matcher(self) -> LinearTreeMatcher:
        # Always teacher-forcing: with the beam's rows the matcher reaches fewer labels.
        return LinearTreeMatcher(self._how(), beam_size=self.beam_size, activation=self.activation)

    def _make_ranker(self) -> LinearSlotRanker:
        return LinearSlotRanker(self._how(), self.activation)

    def _check_trained(self, matcher: LinearTreeMatcher, ranker: LinearSlotRanker) -> None:
        # A solution that grew beyond all numbers shows in its bias, whatever was pruned.
        for weights in (*matcher.levels, ranker.weights):
            if weights is not None and not np.isfinite(weights.bias).all():
                raise ValueError(
                    "Training went beyond what numbers can hold; bring the rows of X to a length "
                    "near 1, or lower C."
                )

    def _after_fit(self) -> None:
        self._walk = _Walk(self)

    def __getstate__(self) -> dict[str, Any]:
        # Copies and processes get the arrays; native objects are made again from them.
        state = dict(super().__getstate__())
        state.pop("_walk", None)
        if "matcher_" in state:
            levels = [replace(level) for level in self.matcher_.levels]
            state["matcher_"] = replace(self.matcher_, levels=levels)
            ranker = self.ranker_.weights
            state["ranker_"] = replace(self.ranker_, weights=ranker and replace(ranker))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "clusters_" in state:
            self._after_fit()

    def _label_scores(self, X: SparseRows) -> SparseRows:
        arrays = self._walk.predictor.all_scores(
            X.starts,
            X.columns,
            X.values,
            self.beam_size,
            self.merge,
            count_jobs(self.n_jobs),
            None,
        )
        return SparseRows(*arrays, self.n_labels_)

    def _top_k(
        self, X: SparseRows, k: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        n_threads = 1 if X.n_rows == 1 else count_jobs(self.n_jobs)
        return self._walk.predictor.top_k(
            X.starts,
            X.columns,
            X.values,
            self.beam_size,
            k,
            self.merge,
            n_threads,
            None,
        )

    def _top_k_of_one(
        self, X: Any, k: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]] | None:
        # The general checks take as long as it takes to tag a document. The native side does its
        # own, and declines whatever is not a plain row.
        if (
            not isinstance(X, sp.csr_matrix | sp.csr_array)
            or type(k) is not int
            or type(self.beam_size) is not int
            or not hasattr(self, "_walk")
            or hasattr(self, "feature_names_in_")
            or X.shape != (1, self.n_features_in_)
        ):
            return None
        return self._walk.predictor.top_k_of_row(
            X.indptr, X.indices, X.data, self.beam_size, k, self.merge
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model as a folder of safetensors and JSON; `polyseme.load` reads it.

        A polyseme model that is at `path` already is replaced in one step.
        """
        check_is_fitted(self, "clusters_")
        save_model(path, *contents_of(self))


class _Walk:
    """The whole walk of a document, from the root to the merged labels.

    Made when it is first asked for, since to lay out weights for quick reading takes a while.
    """

    def __init__(self, model: XRLinear) -> None:
        ranker = model.ranker_.weights
        assert ranker is not None
        self._levels = [*model.matcher_.levels, ranker]
        self._clusters = model.clusters_
        self._activation = model.activation

    @cached_property
    def predictor(self) -> _native.Predictor:
        *matcher, ranker = [weights.level for weights in self._levels]
        n_features = self._levels[-1].n_features
        labels, n_labels = self._clusters.labels, self._clusters.n_labels
        return _native.Predictor(matcher, ranker, labels, n_labels, n_features, self._activation)
