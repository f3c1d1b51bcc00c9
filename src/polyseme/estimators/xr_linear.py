"""XR-Linear: linear classifiers for the nodes of the tree and for the slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from polyseme.backbones.linear.matcher import LinearTreeMatcher
from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.backbones.linear.weights import LinearTraining
from polyseme.estimators.parameters import (
    NONE,
    RENAMED,
    Constraint,
    number_above,
    number_from,
    one_of,
    whole_from,
)
from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.machine.old_names import knows_old_names

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
        Weights of smaller magnitude are dropped after training; those of dense features never.
    max_weights_per_label : int, optional
        Keep only that many of the largest weights of a classifier, dense features aside.
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
    senses : str, default='induce'
        'induce' finds the senses of labels in the training documents, to show and to name them;
        'none' leaves that out. What is predicted does not depend on it.
    activation : str, default='l3-hinge'
        From margins to scores: 'l3-hinge' or 'sigmoid', which multiply along the path, or
        'none' for bare margins.
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
        1 shows progress, if there is a terminal to show it on; 0 does not.

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

    kind: ClassVar[str] = "xr-linear"
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

    tuned_values: ClassVar[Mapping[str, Sequence[Any]]] = {
        **PartitionedClassifier.tuned_values,
        "C": (0.5, 1.0, 2.0, 4.0),
        "min_weight": (0.02, 0.05, 0.1, 0.2),
    }
    tuned_first: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"min_weight": 0.05},
        {"training_rows": "both", "min_weight": 0.05},
        {"training_rows": "both", "min_weight": 0.05, "copies": 3},
        {"training_rows": "both", "min_weight": 0.05, "max_leaf_size": 200},
        *PartitionedClassifier.tuned_first,
    )

    matcher_: LinearTreeMatcher
    ranker_: LinearSlotRanker

    @knows_old_names(None, RENAMED)
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
        senses: str = "induce",
        activation: str = "l3-hinge",
        ordering: str = "learned",
        favour_rare: float = 0.0,
        merge: str = "sum",
        n_jobs: int | None = None,
        random_state: int = 0,
        verbose: int = 1,
    ) -> None:
        super().__init__(
            copies=copies,
            beam_size=beam_size,
            rounds=rounds,
            finetune_matcher=finetune_matcher,
            assignment=assignment,
            max_cluster_size=max_cluster_size,
            match_folds=match_folds,
            branching=branching,
            max_leaf_size=max_leaf_size,
            training_rows=training_rows,
            sense_positives=sense_positives,
            senses=senses,
            ordering=ordering,
            favour_rare=favour_rare,
            merge=merge,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.loss = loss
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.min_weight = min_weight
        self.max_weights_per_label = max_weights_per_label
        self.weight_bits = weight_bits
        self.bias = bias
        self.activation = activation

    def make_matcher(self) -> LinearTreeMatcher:
        """Return a fresh matcher.

        It always learns by teacher-forcing: with the beam's rows it reaches fewer labels.
        """
        return LinearTreeMatcher(self._how(), beam_size=self.beam_size, activation=self.activation)

    def make_ranker(self) -> LinearSlotRanker:
        """Return a fresh ranker."""
        return LinearSlotRanker(self._how(), self.activation)

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
        )
