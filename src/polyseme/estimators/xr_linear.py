"""XR-Linear: linear classifiers for the nodes of the tree and for the slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from polyseme.backbones.linear.choosing_cost import USUAL_COST, choose_cost
from polyseme.backbones.linear.matcher import LinearTreeMatcher
from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.backbones.linear.shared_ranker import SharedSlotRanker
from polyseme.backbones.linear.weights import LinearTraining
from polyseme.estimators.learning import Learning
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
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine import phases
from polyseme.machine.old_names import knows_old_names
from polyseme.machine.progress import Progress
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters
from polyseme.training.held_out import held_out_parts

__all__ = ["XRLinear"]


class XRLinear(PartitionedClassifier):
    """Linear extreme multi-label classification in which a label may have several senses.

    A tree of linear classifiers finds a few clusters of labels for a document (the matcher),
    and a linear classifier for every label in them ranks the labels. With ``copies=3`` a label
    may be in three clusters, with weights of its own in each, so that documents of all its
    senses reach it. With ``copies=1, rounds=0`` this is plain XR-Linear.

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
    loss : str, default='squared-hinge'
        'squared-hinge' or 'logistic'.
    C : float, optional
        Weight of the loss against the regularisation; larger fits closer. By default 0.5, 1 or 2,
        whichever tells the labels of held-out documents best from others in some clusters; 1 for
        up to 6,000 documents.
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
    slot_weights : str, default='own'
        'own' trains weights for each slot, on the documents of its cluster. 'shared' trains each
        label once, on the documents of all its clusters, and its slots have the same weights; for
        sparse features only.
    senses : str, default='induce'
        'induce' finds the senses of labels in the training documents, to show and to name them;
        'none' leaves that out. What is predicted does not depend on it.
    activation : str, default='l3-hinge'
        From margins to scores: 'l3-hinge', 'l2-hinge' or 'sigmoid', which multiply along the
        path, or 'none' for bare margins.
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
    C_ : float
        The C that was chosen, or given. All other attributes are those of
        `polyseme.estimators.partitioned.PartitionedClassifier`.

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
        "C": number_above(0) | NONE,
        "tol": number_above(0),
        "max_iter": whole_from(1),
        "min_weight": number_from(0),
        "max_weights_per_label": NONE | whole_from(1),
        "weight_bits": one_of(8, 32),
        "bias": number_from(0),
        "slot_weights": one_of("own", "shared"),
        "activation": one_of("l3-hinge", "l2-hinge", "sigmoid", "none"),
    }

    tuned_values: ClassVar[Mapping[str, Sequence[Any]]] = {
        **PartitionedClassifier.tuned_values,
        "C": (0.5, 1.0, 2.0, 4.0),
        "min_weight": (0.02, 0.05, 0.1, 0.2),
    }
    tuned_first: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"min_weight": 0.05},
        {"training_rows": "both", "min_weight": 0.05},
        {"training_rows": "both", "min_weight": 0.05, "copies": 2},
        {"training_rows": "both", "min_weight": 0.05, "max_leaf_size": 200},
        *PartitionedClassifier.tuned_first,
    )

    C_: float
    matcher_: LinearTreeMatcher
    ranker_: LinearSlotRanker

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
        loss: str = "squared-hinge",
        C: float | None = None,
        tol: float = 0.03,
        max_iter: int = 10,
        min_weight: float = 0.1,
        max_weights_per_label: int | None = None,
        weight_bits: int = 8,
        bias: float = 1.0,
        training_rows: str = "teacher-forcing",
        sense_positives: bool = False,
        slot_weights: str = "own",
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
            n_trees=n_trees,
            branching=branching,
            max_leaf_size=max_leaf_size,
            tree=tree,
            tree_features=tree_features,
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
        self.slot_weights = slot_weights
        self.activation = activation

    def make_matcher(self) -> LinearTreeMatcher:
        """Return a fresh matcher.

        It always learns by teacher-forcing: with the beam's rows it reaches fewer labels.
        """
        return LinearTreeMatcher(
            self._how(), beam_size=self.beam_of_all_trees, activation=self.activation
        )

    def make_ranker(self) -> LinearSlotRanker:
        """Return a fresh ranker."""
        kind = SharedSlotRanker if self.slot_weights == "shared" else LinearSlotRanker
        return kind(self._how(), self.activation)

    def _settle(
        self,
        documents: Documents,
        labels: SparsePattern,
        clusters: LabelClusters,
        order_from: Learning | None,
        run: Run,
        progress: Progress,
    ) -> None:
        """Choose C where it is not given."""
        if self.C is not None:
            self.C_ = float(self.C)
        elif isinstance(order_from, XRLinear):
            self.C_ = order_from.C_
        else:
            parts = held_out_parts(labels, run.seed)
            self.C_ = USUAL_COST
            if len(parts) == 1:  # half of few documents would tell of another problem
                with progress.phase(phases.CHOOSING_COST):
                    self.C_ = choose_cost(documents, labels, clusters, parts[0], self._how(), run)

    def chosen(self) -> dict[str, float]:
        """Return what was chosen in training, to be stored."""
        return {"C": self._how().cost}

    def take_chosen(self, chosen: Mapping[str, float]) -> None:
        """Take over what was chosen in the training of a stored model."""
        self.C_ = chosen.get("C", USUAL_COST if self.C is None else self.C)

    def _how(self) -> LinearTraining:
        return LinearTraining(
            loss=self.loss,
            cost=float(getattr(self, "C_", USUAL_COST) if self.C is None else self.C),
            tolerance=self.tol,
            max_iter=self.max_iter,
            bias=self.bias,
            min_weight=self.min_weight,
            max_weights_per_label=self.max_weights_per_label,
            weight_bits=self.weight_bits,
        )
