"""Slow, obvious twins of the ways to choose slots. Dense arrays throughout.

``Y`` is documents x labels (0/1), ``matched`` documents x clusters (scores), ``is_matched`` the
same as True and False, ``present`` labels x clusters (True and False).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, milp

Array = npt.NDArray[np.generic]


def co_occurrence(Y: Array, matched: Array, is_matched: Array) -> tuple[Array, Array]:
    """Counts and sums of scores, labels x clusters."""
    Y = Y.astype(np.float64)
    scores = Y.T @ np.where(is_matched, matched, 0).astype(np.float64)
    return (Y.T @ is_matched).astype(np.int64), scores.astype(np.float32)


def count_reached(Y: Array, is_matched: Array, chosen: Array) -> int:
    """The paper's (7): Tr(Y^T Binary(M C^T))."""
    reached = is_matched.astype(int) @ chosen.T.astype(int) > 0
    return int(np.trace(Y.T.astype(int) @ reached))


def order_of_choice(counts: Array, scores: Array, present: Array) -> list[list[int]]:
    """The candidates of each label, best first."""
    return [
        sorted(
            np.flatnonzero(counts[label]).tolist(),
            key=lambda c: (-counts[label, c], -scores[label, c], not present[label, c], c),
        )
        for label in range(len(counts))
    ]


def _as_matrix(chosen: list[list[int]], present: Array, copies: int) -> Array:
    """Labels that were never matched keep their present clusters."""
    matrix = np.zeros_like(present, dtype=bool)
    for label, clusters in enumerate(chosen):
        matrix[label, clusters or np.flatnonzero(present[label])[:copies]] = True
    return matrix


def closed_form(counts: Array, scores: Array, present: Array, copies: int) -> Array:
    order = order_of_choice(counts, scores, present)
    return _as_matrix([clusters[:copies] for clusters in order], present, copies)


def covered(Y: Array, is_matched: Array, label: int, clusters: list[int]) -> int:
    """How many documents of the label are matched to one of the clusters."""
    return int(is_matched[Y[:, label] > 0][:, clusters].any(axis=1).sum())


def greedy_cover(
    Y: Array, is_matched: Array, label: int, order: list[int], start: list[int]
) -> list[tuple[int, int]]:
    """(gain, cluster) from `start` on, best gain first, until all candidates are used."""
    taken, steps = list(start), []
    while rest := [c for c in order if c not in taken]:
        before = covered(Y, is_matched, label, taken)
        gains = [covered(Y, is_matched, label, [*taken, c]) - before for c in rest]
        best = int(np.argmax(gains))
        steps.append((gains[best], rest[best]))
        taken.append(rest[best])
    return steps


def coverage(
    Y: Array, is_matched: Array, counts: Array, scores: Array, present: Array, copies: int
) -> Array:
    """All pairs tried where copies = 2; beyond, greedy or the closed form."""
    chosen = []
    for label, order in enumerate(order_of_choice(counts, scores, present)):
        options = [order[:copies]]
        if copies == 2:
            options += [list(pair) for pair in combinations(order, 2)]
        else:
            steps = greedy_cover(Y, is_matched, label, order, [])
            options.append([cluster for _, cluster in steps[:copies]])
        chosen.append(max(options, key=lambda option: covered(Y, is_matched, label, option)))
    return _as_matrix(chosen, present, copies)


def best_cover(Y: Array, is_matched: Array, copies: int) -> int:
    """The best value of (7) with `copies` clusters per label, by brute force."""
    n_clusters = is_matched.shape[1]
    subsets = np.array(list(combinations(range(n_clusters), min(copies, n_clusters))))
    documents = [is_matched[Y[:, label] > 0] for label in range(Y.shape[1])]
    return sum(int(rows[:, subsets].any(axis=2).sum(axis=0).max()) for rows in documents)


def adaptive(
    Y: Array, is_matched: Array, counts: Array, scores: Array, present: Array, copies: int
) -> Array:
    """Without a limit on the clusters."""
    first = closed_form(counts, scores, present, 1)
    wishes = []
    for label, order in enumerate(order_of_choice(counts, scores, present)):
        for gain, cluster in greedy_cover(Y, is_matched, label, order, order[:1]):
            if gain > 0:
                wishes.append((-gain, -scores[label, cluster], label, cluster))
    for _, _, label, cluster in sorted(wishes)[: (copies - 1) * Y.shape[1]]:
        first[label, cluster] = True
    return first


def strongest(
    counts: Array, scores: Array, first: Array, n_slots: int, max_cluster_size: int
) -> Array:
    """Every size is tried, from the largest on."""
    n_labels, n_clusters = counts.shape
    for size in range(max_cluster_size, -1, -1):
        chosen = first.copy()
        for cluster in range(n_clusters):
            free = [i for i in range(n_labels) if counts[i, cluster] and not first[i, cluster]]
            free.sort(key=lambda i: (-counts[i, cluster], -scores[i, cluster], i))
            n_wanted = max(0, size - int(first[:, cluster].sum()))
            chosen[free[:n_wanted], cluster] = True
        if chosen.sum() <= n_slots:
            return chosen
    return first


def best_capped_total(counts: Array, copies: int, max_cluster_size: int) -> int:
    """The paper's (PGD-v2) with every label in at least one cluster, exactly."""
    n_labels, n_clusters = counts.shape
    of_label = np.kron(np.eye(n_labels), np.ones(n_clusters))
    of_cluster = np.kron(np.ones(n_labels), np.eye(n_clusters))
    result = milp(
        -counts.ravel().astype(float),
        constraints=[
            LinearConstraint(of_label, 1, copies),
            LinearConstraint(of_cluster, 0, max_cluster_size),
        ],
        integrality=np.ones(counts.size),
        bounds=Bounds(0, 1),
    )
    assert result.success, result.message
    return round(-result.fun)
