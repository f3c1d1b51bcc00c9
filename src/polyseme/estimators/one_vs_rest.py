"""One-vs-rest: a linear classifier for every label, against all other documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from polyseme.backbones.linear.every_cluster import EveryCluster
from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.backbones.linear.weights import LinearTraining
from polyseme.estimators.parameters import RENAMED, Constraint, number_above, one_of
from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.estimators.xr_linear import XRLinear
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.old_names import knows_old_names
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree

__all__ = ["OneVsRest"]

MOST_SLOTS = 1 << 16  # of a cluster: its slots are numbered in two bytes
ALL = 2**31 - 1
# Margins keep their order however large they are, and a score of one half is a margin of 0.
ACTIVATION = "sigmoid"


class OneVsRest(PartitionedClassifier):
    """A linear classifier for every label, trained against all documents that do not have it.

    Nothing is left out, neither in training nor in prediction: this is what methods with clusters
    are measured against (DiSMEC, and with ``penalty='l1'`` ProXML). The labels are one cluster, or
    a few where they are more than 65,536, and every document gets to all of them.

    Parameters
    ----------
    loss : str, default='squared-hinge'
        'squared-hinge' or 'logistic'.
    penalty : str, default='l2'
        What keeps weights small: 'l2' their squares, 'l1' their magnitudes, which leaves most of
        them at zero; only with squared hinge.
    C : float, default=1.0
        Weight of the loss against the regularisation; larger fits closer.
    tol : float, default=0.01
        When a classifier counts as solved; smaller is more exact and slower.
    max_iter : int, default=50
        Most passes over the documents for a classifier.
    min_weight : float, default=0.01
        Weights of smaller magnitude are dropped after training; those of dense features never.
    max_weights_per_label : int, optional
        Keep only that many of the largest weights of a classifier, dense features aside.
    weight_bits : int, default=8
        How weights are stored: 8 for one byte each, good to about one percent, or 32 for exact
        ones in four times the space.
    bias : float, default=1.0
        Value of a constant feature added to each document; 0 for none.
    senses : str, default='induce'
        'induce' finds the senses of labels in the training documents, to show and to name them;
        'none' leaves that out. What is predicted does not depend on it.
    ordering : str, default='learned'
        'learned' puts a document's best labels in an order that is learned from training documents
        held out for that, with scores that are probabilities; 'product' leaves the order of
        margins, as the methods named above have it.
    favour_rare : float, default=0.0
        From 0, which finds as many right labels as can be, to 1, which counts each by its inverse
        propensity, as PSP@k does: the documents of rare labels count for more in training, and
        these labels come earlier in the learned order.
    n_jobs : int, optional
        Threads to use; by default, and with -1, one for each core (-2: all cores but one). The
        model does not depend on it.
    random_state : int, default=0
        Seed of the order in which documents are visited. The same one gives the same model.
    verbose : int, default=1
        Whether to show progress, on a terminal only (0 or 1).

    Examples
    --------
    >>> import numpy as np
    >>> from polyseme import OneVsRest
    >>> X = np.eye(4, dtype=np.float32)
    >>> model = OneVsRest().fit(X, [["fruit"], ["fruit", "brand"], ["brand"], ["animal"]])
    >>> labels, scores = model.predict_top_k(X, k=1)
    >>> model.label_names_[labels[3, 0]]
    'animal'
    """

    kind: ClassVar[str] = "one-vs-rest"
    learns_from_all: ClassVar[bool] = True

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "penalty": one_of("l2", "l1"),
        "C": number_above(0),
    } | {
        name: XRLinear._constraints[name]
        for name in (
            "loss",
            "tol",
            "max_iter",
            "min_weight",
            "max_weights_per_label",
            "weight_bits",
            "bias",
            "senses",
            "ordering",
            "favour_rare",
            "n_jobs",
            "random_state",
            "verbose",
        )
    }
    tuned_values: ClassVar[Mapping[str, Sequence[Any]]] = {
        name: XRLinear.tuned_values[name] for name in ("C", "min_weight", "favour_rare")
    }
    tuned_first: ClassVar[Sequence[Mapping[str, Any]]] = ({"favour_rare": 0.5}, {"C": 2.0})

    matcher_: EveryCluster
    ranker_: LinearSlotRanker

    @knows_old_names(None, RENAMED)
    def __init__(
        self,
        loss: str = "squared-hinge",
        penalty: str = "l2",
        C: float = 1.0,
        tol: float = 0.01,
        max_iter: int = 50,
        min_weight: float = 0.01,
        max_weights_per_label: int | None = None,
        weight_bits: int = 8,
        bias: float = 1.0,
        senses: str = "induce",
        ordering: str = "learned",
        favour_rare: float = 0.0,
        n_jobs: int | None = None,
        random_state: int = 0,
        verbose: int = 1,
    ) -> None:
        super().__init__(
            copies=1,
            beam_size=ALL,
            rounds=0,
            max_cluster_size=MOST_SLOTS,
            match_folds=0,
            branching=ALL,
            max_leaf_size=MOST_SLOTS,
            training_rows="matcher-aware",  # and the matcher sends all documents everywhere
            senses=senses,
            ordering=ordering,
            favour_rare=favour_rare,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.loss = loss
        self.penalty = penalty
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.min_weight = min_weight
        self.max_weights_per_label = max_weights_per_label
        self.weight_bits = weight_bits
        self.bias = bias

    def check_parameters(self) -> None:
        """Refuse a loss that magnitudes are not solved for, besides what all estimators refuse."""
        super().check_parameters()
        if self.penalty == "l1" and self.loss != "squared-hinge":
            raise ValueError(
                "penalty='l1' is solved for loss='squared-hinge' only, but loss is "
                f"{self.loss!r}; choose that loss, or penalty='l2'."
            )

    def make_matcher(self) -> EveryCluster:
        """Return a fresh matcher; it has nothing to learn."""
        return EveryCluster(activation=ACTIVATION)

    def make_ranker(self) -> LinearSlotRanker:
        """Return a fresh ranker."""
        how = LinearTraining(
            loss=self.loss,
            penalty=self.penalty,
            cost=self.C,
            tolerance=self.tol,
            max_iter=self.max_iter,
            bias=self.bias,
            min_weight=self.min_weight,
            max_weights_per_label=self.max_weights_per_label,
            weight_bits=self.weight_bits,
        )
        return LinearSlotRanker(how, ACTIVATION)

    def _first_clusters(
        self, documents: Documents, labels: SparsePattern, run: Run
    ) -> tuple[LabelTree, LabelClusters]:
        """Return the labels as they come, in as few clusters as can hold them."""
        n_labels = labels.n_columns
        tree = LabelTree.shape_for(n_labels, self.branching, self.max_leaf_size)
        starts = np.arange(tree.n_clusters + 1, dtype=np.int64) * n_labels // tree.n_clusters
        return tree, LabelClusters(n_labels, starts, np.arange(n_labels, dtype=np.int32))
