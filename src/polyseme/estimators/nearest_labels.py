"""Nearest labels: labels whose documents lie near are ranked by linear classifiers (SLICE)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.backbones.linear.weights import LinearTraining
from polyseme.backbones.nearest.labels import NearestClusterMatcher
from polyseme.estimators.one_copy import OneCopyIsPlain
from polyseme.estimators.parameters import Constraint, number_above, whole_from
from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.estimators.xr_linear import XRLinear
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree
from polyseme.partition.trees.registry import TREES

__all__ = ["ALL", "NearestLabels", "labels_one_by_one"]

ALL = 2**31 - 1


class NearestLabels(OneCopyIsPlain, PartitionedClassifier):
    """Labels near a document are looked up in a graph, and ranked by linear classifiers.

    A label is a vector, the sum of its documents, and a graph of neighbours leads from a document
    to the labels whose vectors are nearest: the shortlist. The classifier of a label learns from
    its own documents and from those that have it in their shortlist, which are the ones it is
    mistaken for. This is SLICE (Jain et al., 2019), made for dense features, such as embeddings.
    Sparse ones are projected for the graph; classifiers see all of them. Needs the extra
    ``neighbours``; see docs/nearest.md.

    Parameters
    ----------
    copies : int, default=1
        In how many clusters a label may be at most (the paper's lambda): with more than 1 it is
        found by vectors of other labels, too, which its documents are near. With 1, labels are
        not re-assigned, whatever `rounds` says.
    beam_size : int, default=100
        How many of the nearest labels, or clusters, are in a document's shortlist.
    rounds : int, default=1
        How often labels are re-assigned to clusters.
    assignment : str, default='capped'
        How slots are chosen: 'closed_form' (the paper's Eq. 10), 'coverage', 'capped' (the
        paper's balanced variant), 'random' or 'adaptive'; see `polyseme.assignment`.
    max_cluster_size : int, optional
        Most labels in a cluster for 'capped' and 'adaptive'; by default three times the mean
        (more with more than two copies).
    match_folds : int, default=0
        With k of at least 2, documents are split at random into k parts, and where training asks
        for the shortlist of a document, vectors answer that are sums of the other parts. 0: of
        all documents, as SLICE has it.
    max_leaf_size : int, default=1
        Most labels that share a vector, before re-assignment; 1 for a vector each.
    n_dimensions : int, default=256
        Directions that sparse features are projected to, for the graph only. Dense features stay
        as they are.
    loss : str, default='squared-hinge'
        'squared-hinge' or 'logistic'.
    C : float, default=1.0
        Weight of the loss against the regularisation; larger fits closer.
    tol : float, default=0.03
        When a classifier counts as solved; smaller is more exact and slower.
    max_iter : int, default=10
        Most passes over the training rows for a classifier.
    min_weight : float, default=0.05
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
    activation : str, default='l3-hinge'
        From margins to scores: 'l3-hinge', 'l2-hinge' or 'sigmoid', which are multiplied by the
        likeness of the vector, or 'none' for bare margins.
    ordering : str, default='learned'
        'learned' puts a document's best labels in an order that is learned from training documents
        held out for that, with scores that are probabilities; 'product' leaves the bare product of
        scores. With too few documents to learn from it is the product, too.
    favour_rare : float, default=0.0
        From 0, which finds as many right labels as can be, to 1, which counts each by its inverse
        propensity, as PSP@k does.
    merge : str, default='sum'
        How scores of a label's reached slots become one: 'sum', 'mean' (the paper) or 'max'.
    n_jobs : int, optional
        Threads to use; by default, and with -1, one for each core (-2: all cores but one). The
        model does not depend on it.
    random_state : int, default=0
        Seed of the projection, of the order in which documents are visited, and of `match_folds`.
        The same one gives the same model.
    verbose : int, default=1
        Whether to show progress, on a terminal only (0 or 1).

    Examples
    --------
    >>> import numpy as np
    >>> from polyseme import NearestLabels
    >>> X = np.eye(4, dtype=np.float32)
    >>> model = NearestLabels().fit(X, [["fruit"], ["fruit", "brand"], ["brand"], ["animal"]])
    >>> labels, scores = model.predict_top_k(X, k=1)
    >>> model.label_names_[labels[3, 0]]
    'animal'
    """

    kind: ClassVar[str] = "nearest-labels"

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **{
            name: XRLinear._constraints[name]
            for name in (
                "copies",
                "beam_size",
                "rounds",
                "assignment",
                "max_cluster_size",
                "match_folds",
                "max_leaf_size",
                "loss",
                "tol",
                "max_iter",
                "min_weight",
                "max_weights_per_label",
                "weight_bits",
                "bias",
                "senses",
                "activation",
                "ordering",
                "favour_rare",
                "merge",
                "n_jobs",
                "random_state",
                "verbose",
            )
        },
        "C": number_above(0),
        "n_dimensions": whole_from(1),
    }
    tuned_values: ClassVar[Mapping[str, Sequence[Any]]] = {
        "beam_size": (50, 100, 200, 300),
        "C": XRLinear.tuned_values["C"],
        "min_weight": XRLinear.tuned_values["min_weight"],
        "max_leaf_size": (1, 4, 16),
    }
    tuned_first: ClassVar[Sequence[Mapping[str, Any]]] = ({"beam_size": 300},)

    matcher_: NearestClusterMatcher
    ranker_: LinearSlotRanker

    def __init__(
        self,
        copies: int = 1,
        beam_size: int = 100,
        rounds: int = 1,
        assignment: str = "capped",
        max_cluster_size: int | None = None,
        match_folds: int = 0,
        max_leaf_size: int = 1,
        n_dimensions: int = 256,
        loss: str = "squared-hinge",
        C: float = 1.0,
        tol: float = 0.03,
        max_iter: int = 10,
        min_weight: float = 0.05,
        max_weights_per_label: int | None = None,
        weight_bits: int = 8,
        bias: float = 1.0,
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
            finetune_matcher=False,  # vectors of labels stay where their own documents are
            assignment=assignment,
            max_cluster_size=max_cluster_size,
            match_folds=match_folds,
            branching=ALL,  # clusters are all just below the root
            max_leaf_size=max_leaf_size,
            training_rows="both",
            senses=senses,
            ordering=ordering,
            favour_rare=favour_rare,
            merge=merge,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.n_dimensions = n_dimensions
        self.loss = loss
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.min_weight = min_weight
        self.max_weights_per_label = max_weights_per_label
        self.weight_bits = weight_bits
        self.bias = bias
        self.activation = activation

    def make_matcher(self) -> NearestClusterMatcher:
        """Return a fresh matcher."""
        return NearestClusterMatcher(self.n_dimensions)

    def make_ranker(self) -> LinearSlotRanker:
        """Return a fresh ranker."""
        how = LinearTraining(
            loss=self.loss,
            cost=self.C,
            tolerance=self.tol,
            max_iter=self.max_iter,
            bias=self.bias,
            min_weight=self.min_weight,
            max_weights_per_label=self.max_weights_per_label,
            weight_bits=self.weight_bits,
        )
        return LinearSlotRanker(how, self.activation)

    def _first_clusters(
        self, documents: Documents, labels: SparsePattern, run: Run
    ) -> tuple[LabelTree, LabelClusters]:
        """Return the labels one by one, or in groups of like ones, all just below the root."""
        if self.max_leaf_size == 1:
            return labels_one_by_one(labels.n_columns)
        return TREES["balanced"].build(documents, labels, ALL, self.max_leaf_size, run)


def labels_one_by_one(n_labels: int) -> tuple[LabelTree, LabelClusters]:
    """Return a cluster for each label, all just below the root."""
    starts = np.arange(n_labels + 1, dtype=np.int64)
    labels = np.arange(n_labels, dtype=np.int32)
    tree = LabelTree() if n_labels == 1 else LabelTree.uniform(n_labels)
    return tree, LabelClusters(n_labels, starts, labels)
