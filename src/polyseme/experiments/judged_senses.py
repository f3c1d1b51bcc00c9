"""Judges senses where it is known what labels are made of."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.estimators.xr_linear import XRLinear
from polyseme.experiments.label_fusion import Ints
from polyseme.experiments.measuring import Figures
from polyseme.experiments.problem import Problem
from polyseme.experiments.separation import (
    GoneTo,
    judge_naming,
    judge_separation,
    pairs_with_one_part,
)
from polyseme.inputs.documents import Documents
from polyseme.inputs.labels import check_labels
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.run import Run
from polyseme.senses.best_slots import best_slots
from polyseme.senses.describe import senses_in
from polyseme.senses.induce import layer_of_parts
from polyseme.senses.layer import SHOWN_FROM, SenseLayer
from polyseme.senses.naming import name_senses
from polyseme.senses.splits import SenseSpace

__all__ = ["N_BINS", "NamingJudge", "auc", "judge_ambiguity", "layer_from_split"]

N_PERMUTATIONS = 20
N_BINS = 10

Pairs = tuple[Ints, Ints, Ints]  # document, fused label, part
Ranked = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]


class NamingJudge:
    """Judges answers to the question which part of a fused label a document has."""

    def __init__(
        self,
        problem: Problem,
        fused: Problem,
        model: XRLinear,
        ranked: Ranked,
        fused_label: Ints,
        n_fused: int,
        seed: int,
    ) -> None:
        self.fused, self.model, self.ranked, self.seed = fused, model, ranked, seed
        self.train, self.test = (
            _fused_pairs(Y, fused_label, n_fused) for Y in (problem.Y_train, problem.Y_test)
        )

    def figures(self) -> Figures:
        """Return NMI, purity and how often senses are right, of each answer, beside chance."""
        answers = {
            "split": self.senses_of(self.model, at_least=0),
            "shown": self.senses_of(self.model, at_least=SHOWN_FROM),
            "slots": self.slots(),
            "parts": self.senses_of(self.with_true_parts(), at_least=0),
            "whole": (np.zeros_like(self.train[0]), np.zeros_like(self.test[0])),
        }
        found: Figures = {}
        for answer, (of_train, of_test) in answers.items():
            train, test = _gone_to(self.train, of_train), _gone_to(self.test, of_test)
            judged = judge_separation(test, n_permutations=N_PERMUTATIONS, seed=self.seed)
            means = judged.means()
            found["n_told_apart"] = len(judged.fused_labels)
            found |= {
                f"{answer}_{name}{suffix}": means[f"{figure}{suffix}"]
                for name, figure in (("NMI", "normalised_mutual_information"), ("purity",) * 2)
                for suffix in ("", "_by_chance")
            }
            named = judge_naming(train, test)
            found |= {f"{answer}_{name}": value for name, value in named.items()}
        return found

    def senses_of(self, model: XRLinear, at_least: float) -> tuple[Ints, Ints]:
        """Name the senses of training documents by their labels, of others by predictions."""
        assert model.senses_ is not None
        of_train = name_senses(
            model.senses_,
            SparseRows.from_scipy(self.fused.X_train),
            SparseRows.from_scipy(self.fused.Y_train),
            *self.train[:2],
            at_least=at_least,
            n_threads=model._run().n_threads,
        )
        document, label, _ = self.test
        place = np.arange(len(document)) - np.searchsorted(document, document)
        labels = np.full((self.fused.X_test.shape[0], place.max(initial=0) + 1), -1)
        labels[document, place] = label
        senses = senses_in(model, self.fused.X_test, labels, ranked=self.ranked, at_least=at_least)
        return of_train, senses[document, place]

    def slots(self) -> tuple[Ints, Ints]:
        """Return the slot that the matcher scores best; the label's largest if it reaches none."""
        clusters = self.model.clusters_
        order = np.lexsort((self.model.slot_documents_, clusters.labels))
        last = np.cumsum(clusters.copies) - 1
        found = []
        for X, (document, label, _) in (
            (self.fused.X_train, self.train),
            (self.fused.X_test, self.test),
        ):
            slot, _ = best_slots(self.model.match(X), clusters, document, label)
            found.append(np.where(slot >= 0, slot, order[last[label]]))
        return found[0], found[1]

    def with_true_parts(self) -> XRLinear:
        """Return the model with the true parts as the senses of fused labels."""
        model = copy(self.model)
        model.senses_ = layer_from_split(
            self.fused.X_train, self.fused.Y_train, *self.train, n_threads=model._run().n_threads
        )
        return model


def _fused_pairs(Y: sp.csr_array, fused_label: Ints, n_fused: int) -> Pairs:
    document, label, part = pairs_with_one_part(Y, fused_label)
    kept = label < n_fused
    return document[kept], label[kept], part[kept]


def _gone_to(pairs: Pairs, sense: Ints) -> GoneTo:
    return GoneTo(*pairs, slot=sense, score=np.zeros(len(sense)))


def layer_from_split(
    X: sp.csr_array, Y: sp.csr_array, document: Ints, label: Ints, part: Ints, n_threads: int = 1
) -> SenseLayer:
    """Return senses for labels whose documents are divided as given.

    Parameters
    ----------
    X : csr_array, shape (n_documents, n_features)
    Y : csr_array of 0/1, shape (n_documents, n_labels)
    document, label, part : ndarray of int64, shape (n_pairs,)
        The part of each pair of a document and a label; every part belongs to one label.
    """
    labels_of, _ = check_labels(Y, X.shape[0])
    nowhere = np.zeros((X.shape[0], 1), dtype=np.float32)  # nothing is left to be split
    space = SenseSpace(nowhere, labels_of, Run(n_threads=n_threads))
    labels, place = np.unique(label, return_inverse=True)
    (label_of_part, _), number = np.unique(np.stack([label, part]), axis=1, return_inverse=True)
    number = number.ravel() - np.searchsorted(label_of_part, label)
    return layer_of_parts(
        Documents(SparseRows.from_scipy(X)),
        space,
        labels.astype(np.int32),
        (place, document.astype(np.int32), number.astype(np.int8), nowhere[document, 0]),
        np.ones(len(labels), dtype=np.float32),
    )


def judge_ambiguity(
    probability: npt.NDArray[np.floating[Any]], is_fused: npt.NDArray[np.bool_]
) -> Figures:
    """Hold the probability of being ambiguous against the truth of having been fused.

    Parameters
    ----------
    probability : ndarray of float, shape (n_labels,)
        Not a number where a label was not judged: such a label is shown with one meaning, and
        says nothing of how far probabilities can be relied on.
    is_fused : ndarray of bool, shape (n_labels,)

    Returns
    -------
    dict
        ``AUC``; ``Brier`` score and that of the constant answer; ``calibration_error``, the mean
        distance of bins' probabilities from their shares of fused labels; ``reliability``, for
        each bin its labels, mean probability and share; ``precision`` (0 if nothing is) and
        ``recall`` of what is shown. Some are not a number where there is nothing to tell apart.
    """
    known = ~np.isnan(probability)
    p, truth = probability[known].astype(np.float64), is_fused[known].astype(np.float64)
    bins = np.minimum((p * N_BINS).astype(np.int64), N_BINS - 1)
    n = np.bincount(bins, minlength=N_BINS)
    mean_p, share = (np.bincount(bins, values, N_BINS) / np.maximum(1, n) for values in (p, truth))
    answer = np.where(known, probability, 0).astype(np.float64)
    shown = answer >= SHOWN_FROM
    return {
        "fused_percent": 100 * _mean(is_fused),
        "AUC": auc(answer, is_fused),
        "Brier": _mean((p - truth) ** 2),
        "Brier_of_constant": _mean((truth - _mean(truth)) ** 2),
        "calibration_error": _mean(np.abs(mean_p - share)[bins]),
        "reliability": np.column_stack([n, mean_p, share]).tolist(),
        "precision": _mean(is_fused[shown]) if shown.any() else 0.0,
        "recall": _mean(shown[is_fused]),
    }


def auc(score: npt.NDArray[Any], is_positive: npt.NDArray[np.bool_]) -> float:
    """Return how often a positive one scores higher than another, ties counting half."""
    from scipy.stats import rankdata

    n_positive = int(np.count_nonzero(is_positive))
    n_pairs = n_positive * (len(score) - n_positive)
    if n_pairs == 0:
        return float("nan")
    ranks = rankdata(score)[is_positive].sum()
    return float(ranks - n_positive * (n_positive + 1) / 2) / n_pairs


def _mean(values: npt.NDArray[Any]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
