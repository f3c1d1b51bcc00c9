"""What is measured of a trained model."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme import metrics
from polyseme.estimators.xr_linear import XRLinear
from polyseme.experiments.problem import Problem
from polyseme.experiments.run_names import run_named
from polyseme.experiments.statistics import hits_to_text
from polyseme.machine.threads import count_threads

if TYPE_CHECKING:
    from polyseme.experiments.definition import Method

__all__ = [
    "KS",
    "Figures",
    "accuracy",
    "fit_and_measure",
    "measure",
    "prediction_times",
    "reach",
    "sizes",
]

Figures = dict[str, Any]

KS = (1, 3, 5)
N_PASSES = 5  # over the test documents; the median counts
PASSES_SECONDS = 1.5  # fewer passes where one takes long
N_SINGLE_DOCUMENTS = 300


@run_named("measure")
def fit_and_measure(problem: Problem, method: Method, seed: int) -> Figures:
    """Train with the parameters of a method and measure everything."""
    return measure(problem.fit(method.parameters, seed), problem)


def measure(model: XRLinear, problem: Problem) -> Figures:
    """Return all figures of a model: accuracy, reach, sizes, seconds.

    Accuracy and reach are in percent. See the parts for the names.
    """
    top_labels, _ = model.predict_top_k(problem.X_test, max(KS))
    return {
        **accuracy(top_labels, problem),
        **reach(model, problem),
        **sizes(model),
        **seconds(model),
        **prediction_times(lambda X: model.predict_top_k(X, max(KS)), problem.X_test),
    }


def accuracy(top_labels: npt.NDArray[np.int32], problem: Problem) -> Figures:
    """Return ``P@k``, ``PSP@k``, and ``hits`` of each document for paired comparisons.

    Parameters
    ----------
    top_labels : ndarray of int32, shape (n_test, 5)
        As from ``predict_top_k``.
    """
    found = metrics.evaluate(top_labels, problem.Y_test, ks=KS, propensities=problem.propensities)
    figures: Figures = {f"{what}@{k}": found[f"{what}@{k}"] for what in ("P", "PSP") for k in KS}
    return {**figures, "hits": hits_to_text(metrics.hits(top_labels, problem.Y_test))}


def reach(model: XRLinear, problem: Problem) -> Figures:
    """Return ``reach_train`` and ``reach_test``: true pairs that the beam reaches."""
    n_threads = count_threads(problem.n_threads)
    parts = {"train": (problem.X_train, problem.Y_train), "test": (problem.X_test, problem.Y_test)}
    figures = {}
    for part, (X, Y) in parts.items():
        matched = model.match(X).to_scipy()
        figures[f"reach_{part}"] = metrics.reach(matched, model.clusters_, Y, n_threads=n_threads)
    return figures


def sizes(model: XRLinear) -> Figures:
    """Return sizes of clusters and model, and the reach before and after each round.

    That is the paper's objective (7), in percent of all training pairs; none without a round.
    """
    of_cluster = model.clusters_.sizes
    arrays = model.contents().arrays
    figures: Figures = {
        "n_slots": int(model.clusters_.n_slots),
        "n_clusters": int(model.clusters_.n_clusters),
        "mean_cluster_size": float(of_cluster.mean()),
        "max_cluster_size": int(of_cluster.max()),
        "model_bytes": sum(array.nbytes for array in arrays.values()),
    }
    if model.assignments_:
        n_positives = max(1, model.assignments_[-1]["n_positives"])
        after = [100 * made["reached_after"] / n_positives for made in model.assignments_]
        before = [100 * made["reached_before"] / n_positives for made in model.assignments_]
        figures |= {"reach_before": before[0], "reach_after": after[-1]}
        figures |= {"reaches_before": before, "reaches_after": after}
    return figures


def seconds(model: XRLinear) -> Figures:
    """Return ``training_seconds`` and those of each phase."""
    return {
        "training_seconds": sum(model.phase_seconds_.values()),
        "phase_seconds": dict(model.phase_seconds_),
    }


def prediction_times(predict: Callable[[sp.csr_array], object], X: sp.csr_array) -> Figures:
    """Time prediction of all documents at once and one at a time, in microseconds per document.

    ``prediction_us`` is the median of a few passes with all threads, ``one_document_us`` the
    median over single documents.
    """
    passes: list[float] = []
    while len(passes) < N_PASSES and (not passes or sum(passes) < PASSES_SECONDS):
        passes.append(_seconds_of(predict, X))
    n_single = min(N_SINGLE_DOCUMENTS, X.shape[0])
    singles = [_seconds_of(predict, X[i : i + 1]) for i in range(n_single)]
    return {
        "prediction_us": 1e6 * float(np.median(passes)) / max(1, X.shape[0]),
        "one_document_us": 1e6 * float(np.median(singles)),
    }


def _seconds_of(predict: Callable[[sp.csr_array], object], X: sp.csr_array) -> float:
    began = time.perf_counter()
    predict(X)
    return time.perf_counter() - began
