"""How closely classifiers should fit: C, chosen on documents that they did not see.

Where documents say clearly which labels they have, classifiers should fit closely, above all those
of labels with few documents; where they do not, a close fit learns noise. What suits a data set
shows in a part of it: in some clusters of the tree, how well labels are told apart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import minimize_scalar

from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.backbones.linear.weights import LinearTraining
from polyseme.backbones.tasks import RankingTask
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.training_rows import cluster_targets

__all__ = ["COSTS", "USUAL_COST", "choose_cost"]

COSTS = (0.5, 1.0, 2.0)
USUAL_COST = 1.0
# Pairs of a held-out document and a cluster of its labels: so many are enough to tell costs apart,
# and with fewer than the least it is the usual cost.
ENOUGH_PAIRS, FEWEST_PAIRS = 3000, 500
FEWEST_CLUSTERS = 16
MOST_ITER, TOLERANCE = 10, 0.03
COST_SEED = 0xC057
SCALES = (0.1, 50.0)  # of margins, as logarithms of odds


def choose_cost(
    documents: Documents,
    labels: SparsePattern,
    clusters: LabelClusters,
    held_out: npt.NDArray[np.int64],
    how: LinearTraining,
    run: Run,
) -> float:
    """Return the cost with which right labels are most probable among those of their clusters.

    Parameters
    ----------
    documents : Documents
    labels : SparsePattern, shape (n_documents, n_labels)
    clusters : LabelClusters
        Some of them are tried.
    held_out : ndarray of int64
        The documents to judge by; the others are learned from.
    how : LinearTraining
        Whatever its cost.
    run : Run
        Progress is not told of.
    """
    targets = cluster_targets(labels, clusters)
    tried = _some_clusters(targets.take(held_out), run.seed)
    if tried is None:
        return USUAL_COST
    known = np.delete(np.arange(documents.n_rows), held_out)
    own_clusters, own_targets = _only(clusters, tried), targets.take_columns(tried)
    # No draft: in few passes a low cost looks better than it is.
    task = RankingTask(labels.take(known), own_clusters, own_targets.take(known))
    to_learn, to_judge = documents.take(known), documents.take(held_out)
    matched = _with_ones(own_targets.take(held_out))
    truth = labels.take(held_out).to_scipy()
    quiet = run.reporting_to(None)
    # A choice needs no more than that, however exact the model is to be.
    how = replace(
        how, max_iter=min(how.max_iter, MOST_ITER), tolerance=max(how.tolerance, TOLERANCE)
    )
    surprise = []
    for cost in COSTS:
        ranker = LinearSlotRanker(replace(how, cost=cost), "none").fit(to_learn, task, quiet)
        margins = ranker.score(to_judge, matched, own_clusters, quiet)
        surprise.append(_surprise(margins, own_clusters, truth))
    return COSTS[int(np.argmin(surprise))]


def _some_clusters(reached: SparsePattern, seed: int) -> npt.NDArray[np.int32] | None:
    """Return clusters drawn at random that have enough pairs together; None if too few do."""
    n_pairs = np.bincount(reached.columns, minlength=reached.n_columns)
    if n_pairs.sum() < FEWEST_PAIRS:
        return None
    order = np.random.default_rng(seed ^ COST_SEED).permutation(reached.n_columns)
    n_tried = 1 + int(np.searchsorted(np.cumsum(n_pairs[order]), ENOUGH_PAIRS))
    return np.sort(order[: max(n_tried, FEWEST_CLUSTERS)]).astype(np.int32)


def _only(clusters: LabelClusters, kept: npt.NDArray[np.int32]) -> LabelClusters:
    starts = np.concatenate([[0], np.cumsum(clusters.sizes[kept])]).astype(np.int64)
    is_kept = np.zeros(clusters.n_clusters, dtype=np.bool_)
    is_kept[kept] = True
    labels = clusters.labels[np.repeat(is_kept, clusters.sizes)]
    return LabelClusters(clusters.n_labels, starts, labels)


def _with_ones(pattern: SparsePattern) -> SparseRows:
    values = np.ones(len(pattern.columns), dtype=np.float32)
    return SparseRows(pattern.starts, pattern.columns, values, pattern.n_columns)


def _surprise(margins: SparseRows, clusters: LabelClusters, truth: sp.csr_array) -> float:
    """Return how improbable right labels are, each against the wrong ones of its cluster.

    What a margin is worth differs from cost to cost, so it is scaled as suits best.
    """
    document = np.repeat(np.arange(margins.n_rows), np.diff(margins.starts))
    cluster = np.repeat(np.arange(clusters.n_clusters), clusters.sizes)[margins.columns]
    pair = document * np.int64(clusters.n_clusters) + cluster
    order = np.argsort(pair, kind="stable")
    _, first = np.unique(pair[order], return_index=True)
    of_pair = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(order))))
    keys = _keys(truth)
    own_keys = document * np.int64(truth.shape[1]) + clusters.labels[margins.columns]
    is_right = np.isin(own_keys, keys)[order]
    values = margins.values[order].astype(np.float64)
    values -= np.maximum.reduceat(values, first)[of_pair]

    def mean_surprise(scale: float) -> float:
        chances = np.exp(scale * values)
        wrong = np.bincount(of_pair, chances * ~is_right)[of_pair]
        return float(np.log1p(wrong[is_right] / chances[is_right]).mean())

    found = minimize_scalar(mean_surprise, bounds=SCALES, method="bounded")
    return float(found.fun)


def _keys(truth: sp.csr_array) -> npt.NDArray[np.int64]:
    rows = np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr))
    found: npt.NDArray[np.int64] = rows * np.int64(truth.shape[1]) + truth.indices
    return found
