"""Probabilistic label trees: a label is as likely as all the turns on the way to it together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.backbones.linear.walk import LinearWalk
from polyseme.estimators.one_copy import OneCopyIsPlain
from polyseme.estimators.parameters import RENAMED, Constraint, number_above, one_of
from polyseme.estimators.predicting import check_k
from polyseme.estimators.xr_linear import XRLinear
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.old_names import knows_old_names

__all__ = ["PLT"]


class PLT(OneCopyIsPlain, XRLinear):
    """A probabilistic label tree, in which a label may have several senses.

    Logistic classifiers in the nodes of a binary tree say how likely a document goes on to each
    of their children, and those in a cluster how likely each label is, given that it got there.
    These multiply, as in eXtremeText and napkinXC, and with ``search='exact'`` the most likely
    labels are found whatever the tree, or all that are likely enough: `predict_above`. With
    ``copies=1`` every label stays where the tree put it. With more, labels are re-assigned as in
    `XRLinear`, and what a label gets in its clusters is summed, which may exceed 1; with
    ``n_trees`` it is the mean of several trees.

    Parameters
    ----------
    copies : int, default=1
        In how many clusters a label may be at most (the paper's lambda). With 1, labels are not
        re-assigned, whatever `rounds` says.
    beam_size : int, default=10
        How many nodes of each tree level, and so clusters, a document is matched to: where labels
        are re-assigned, in `match` and `decision_function`, and with ``search='beam'``.
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
    branching : int, default=2
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
    loss : str, default='logistic'
        'squared-hinge' or 'logistic'.
    C : float, default=10.0
        Weight of the loss against the regularisation; larger fits closer.
    tol : float, default=0.1
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
    activation : str, default='sigmoid'
        From margins to scores: 'sigmoid', 'l3-hinge' or 'l2-hinge', which multiply along the
        path, or, with ``search='beam'`` only, 'none' for bare margins.
    ordering : str, default='product'
        'product' leaves the product of probabilities; 'learned', with ``search='beam'`` only, puts
        a document's best labels in an order that is learned from training documents held out.
    favour_rare : float, default=0.0
        From 0, which finds as many right labels as can be, to 1, which counts each document of a
        label by the label's inverse propensity when its classifiers are trained. Rare labels then
        come out more likely, by about as much as PSP@k counts them more: it serves PSP@k, at the
        expense of P@k, and scores are no longer probabilities that a label was given.
    merge : str, default='sum'
        How scores of a label's slots become one: 'sum', 'mean' (the paper) or 'max'; of all its
        slots with ``search='exact'``, of those that were reached with 'beam'.
    search : str, default='exact'
        'exact' opens nodes in the order of their probabilities and stops when no other label can
        be among the best, so that none is missed. 'beam' keeps the best `beam_size` nodes of each
        level. May be changed after training.
    n_jobs : int, optional
        Threads to use; by default, and with -1, one for each core (-2: all cores but one). The
        model does not depend on it.
    random_state : int, default=0
        Seed of the tree, of the order in which documents are visited, and of `match_folds`. The
        same one gives the same model.
    verbose : int, default=1
        Whether to show progress, on a terminal only (0 or 1).

    Examples
    --------
    >>> import numpy as np
    >>> from polyseme import PLT
    >>> X = np.eye(4, dtype=np.float32)
    >>> model = PLT().fit(X, [["fruit"], ["fruit", "brand"], ["brand"], ["animal"]])
    >>> model.predict_above(X, 0.5).toarray()[3] > 0
    array([ True, False, False])
    """

    kind: ClassVar[str] = "plt"
    changed_at_will: ClassVar[Sequence[str]] = (*XRLinear.changed_at_will, "search")
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **XRLinear._constraints,
        "C": number_above(0),
        "search": one_of("exact", "beam"),
    }

    tuned_values: ClassVar[Mapping[str, Sequence[Any]]] = {
        **{name: values for name, values in XRLinear.tuned_values.items() if name != "beam_size"},
        "C": (2.0, 5.0, 10.0, 20.0),
    }
    tuned_first: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"min_weight": 0.05},
        {"n_trees": 3},
        {"copies": 2},
        {"max_leaf_size": 200},
        {"favour_rare": 0.5},
    )

    @knows_old_names(None, RENAMED)
    def __init__(
        self,
        copies: int = 1,
        beam_size: int = 10,
        rounds: int = 1,
        finetune_matcher: bool = True,
        assignment: str = "capped",
        max_cluster_size: int | None = None,
        match_folds: int = 2,
        n_trees: int = 1,
        branching: int = 2,
        max_leaf_size: int = 100,
        tree: str = "balanced",
        tree_features: str = "documents",
        loss: str = "logistic",
        C: float = 10.0,
        tol: float = 0.1,
        max_iter: int = 10,
        min_weight: float = 0.1,
        max_weights_per_label: int | None = None,
        weight_bits: int = 8,
        bias: float = 1.0,
        training_rows: str = "teacher-forcing",
        sense_positives: bool = False,
        slot_weights: str = "own",
        senses: str = "induce",
        activation: str = "sigmoid",
        ordering: str = "product",
        favour_rare: float = 0.0,
        merge: str = "sum",
        search: str = "exact",
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
            loss=loss,
            C=C,
            tol=tol,
            max_iter=max_iter,
            min_weight=min_weight,
            max_weights_per_label=max_weights_per_label,
            weight_bits=weight_bits,
            bias=bias,
            training_rows=training_rows,
            sense_positives=sense_positives,
            slot_weights=slot_weights,
            senses=senses,
            activation=activation,
            ordering=ordering,
            favour_rare=favour_rare,
            merge=merge,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.search = search

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense, alone or together."""
        super().check_parameters()
        if self.search == "beam":
            return
        if self.activation == "none":
            raise ValueError(
                "search='exact' needs scores that multiply, but activation is 'none'; "
                "choose another activation, or search='beam'."
            )
        if self.ordering == "learned":
            raise ValueError(
                "search='exact' finds the best products, but ordering is 'learned'; "
                "choose ordering='product', or search='beam'."
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
            Label numbers, the columns of Y; -1 where there are fewer than k labels, or where a
            beam reached fewer.
        scores : ndarray of float32, shape (n_documents, k)
            0 in the places of -1.
        """
        if self.search == "beam":
            return super().predict_top_k(X, k)
        if self._is_plain_row(X, k):
            quick = self._exact_walk().top_k_of_row(X, None, k, self.merge)
            if quick is not None:
                return quick
        documents, k = self._check(X), check_k(k)
        return self._exact_walk().top_k(documents, None, k, self.merge, self._run())

    def predict_above(self, X: Any, threshold: Any = 0.5) -> sp.csr_array:
        """Return the scores of all labels of each document that reach a threshold.

        Nodes that cannot lead to such a label are never opened, and with ``search='exact'`` no
        label is missed. With 'beam' it is those among the labels that the beam reaches.

        Parameters
        ----------
        X : sparse matrix or array, shape (n_documents, n_features)
        threshold : float or array of float, shape (n_labels,)
            Above 0 and at most 1: one for all labels, or each its own.

        Returns
        -------
        csr_array of float32, shape (n_documents, n_labels)
            What is stored reaches the threshold.
        """
        documents = self._check(X)
        thresholds = self._checked_thresholds(threshold)
        if self.search != "beam":
            walk, run = self._exact_walk(), self._run()
            return walk.above(documents, thresholds, self.merge, run).to_scipy()
        scores = self._label_scores(documents)
        least = thresholds if len(thresholds) == 1 else thresholds[scores.columns]
        is_kept = scores.values >= least
        starts = np.concatenate([[0], np.cumsum(is_kept)])[scores.starts]
        kept = scores.columns[is_kept], scores.values[is_kept]
        return SparseRows(starts.astype(np.int64), *kept, scores.n_columns).to_scipy()

    def predict(self, X: Any) -> sp.csr_array:
        """Return the labels with a score of at least one half.

        Returns
        -------
        csr_array of 0/1 (int8), shape (n_documents, n_labels)
        """
        if self.search == "beam":
            return super().predict(X)
        found = self.predict_above(X, 0.5)
        ones = np.ones(found.nnz, dtype=np.int8)
        return sp.csr_array((ones, found.indices, found.indptr), shape=found.shape)

    def _checked_thresholds(self, given: Any) -> npt.NDArray[np.float32]:
        try:
            thresholds = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            thresholds = np.zeros(0)
        if thresholds.shape not in ((), (self.n_labels_,)) or isinstance(given, bool | str):
            raise ValueError(
                f"threshold must be a number, or one for each of the {self.n_labels_} labels."
            )
        if not ((thresholds > 0) & (thresholds <= 1)).all():
            raise ValueError("threshold must be above 0 and at most 1.")
        return np.atleast_1d(thresholds).astype(np.float32)

    def _exact_walk(self) -> LinearWalk:
        """Return the walk, if an exact search can be made with it."""
        # Parameters may have been set after training.
        if self.search != "exact" or self.activation == "none" or self.ordering == "learned":
            self.check_parameters()
        walk = self._walk
        if not isinstance(walk, LinearWalk):
            raise ValueError(
                "search='exact' needs the parts that were trained; use search='beam'."
            )
        return walk
