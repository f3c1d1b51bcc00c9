"""Recursive spherical k-means on dense label features, depth first."""

import numpy as np

from tests.oracles.label_features import even_sample
from tests.oracles.label_tree import Random

_WORD = 2**64 - 1


def unit_rows(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def nearest(rows, centroids, is_used):
    """Return the centroid with the largest product for each row, the first of equal ones."""
    scores = (rows[:, None, :] * centroids[None, :, :]).sum(axis=2)
    return np.where(is_used, scores, -np.inf).argmax(axis=1)


def centroids_of(rows, chosen, k):
    sums = np.zeros((k, rows.shape[1]))
    np.add.at(sums, chosen, rows)
    return unit_rows(sums), np.bincount(chosen, minlength=k) > 0


def k_means(rows, k, random, max_iter):
    """Return the centroid of each row; the first centroids are rows themselves."""
    rows = rows * (np.count_nonzero(rows, axis=0) >= 2)  # other features tell nothing
    order = np.arange(len(rows))
    for c in range(k):
        other = c + random.below(len(rows) - c)
        order[[c, other]] = order[[other, c]]
    centroids, is_used = unit_rows(rows[order[:k]]), np.ones(k, dtype=bool)
    chosen = np.full(len(rows), -1)
    for _ in range(max_iter):
        before, chosen = chosen, nearest(rows, centroids, is_used)
        if (chosen == before).all():
            break
        centroids, is_used = centroids_of(rows, chosen, k)
    return chosen


def split(rows, k, random, max_iter, sample_size):
    """Return the centroid of each row; where there are many, a sample begins."""
    n = len(rows)
    if n <= sample_size:
        return k_means(rows, k, random, max_iter)
    sample = rows[even_sample(n, sample_size)]
    centroids, is_used = centroids_of(sample, k_means(sample, k, random, max_iter), k)
    chosen = nearest(rows, centroids, is_used)
    for _ in range(2):
        centroids, is_used = centroids_of(rows, chosen, k)
        chosen = nearest(rows, centroids, is_used)
    return chosen


def nested_groups(features, branching, max_leaf_size, max_levels, max_iter, seed, sample_size):
    """Return the tree as nested lists, its leaves as arrays of labels."""
    sample_size = max(sample_size, branching)

    def group(labels, level, node):
        if len(labels) <= max_leaf_size or level == max_levels:
            return labels.tolist()
        k = min(branching, len(labels))
        chosen = split(features[labels], k, Random(seed, node), max_iter, sample_size)
        if len(set(chosen)) == 1:  # nothing tells them apart
            n_parts = min(k, -(-len(labels) // max_leaf_size))
            chosen = np.arange(len(labels)) * n_parts // len(labels)
        return [
            group(labels[chosen == c], level + 1, node * branching + place + 1 & _WORD)
            for place, c in enumerate(np.unique(chosen))
        ]

    return group(np.arange(len(features)), 0, 0)
