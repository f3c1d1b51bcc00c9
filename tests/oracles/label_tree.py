"""Recursive balanced spherical 2-means on dense label features, depth first."""

import math

import numpy as np

from tests.oracles.label_features import even_sample

_WORD = 2**64 - 1


class Random:
    """SplitMix64, as in ``native/random.hpp``: one stream for each split."""

    def __init__(self, seed, stream):
        self.state = seed ^ (stream * 0xD1342543DE82EF95 & _WORD)
        self.next()
        self.next()

    def next(self):
        self.state = self.state + 0x9E3779B97F4A7C15 & _WORD
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _WORD
        z = (z ^ z >> 27) * 0x94D049BB133111EB & _WORD
        return z ^ z >> 31

    def below(self, bound):
        return (self.next() >> 32) * bound >> 32


def unit(vector):
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else vector


def two_means(rows, n_left, random, max_iter):
    """Return which rows go to the left, and the difference of the two centroids."""
    n = len(rows)
    rows = rows * (np.count_nonzero(rows, axis=0) >= 2)  # other features tell nothing
    first, other = random.below(n), random.below(n - 1)
    difference = rows[first] - rows[other + (other >= first)]
    left = np.zeros(n, dtype=bool)
    for _ in range(max_iter):
        before, left = left, largest(rows, difference, n_left)
        if (left == before).all():
            break
        difference = unit(rows[left].sum(axis=0)) - unit(rows[~left].sum(axis=0))
    return left, difference


def largest(rows, difference, n_chosen):
    scores = (rows * difference).sum(axis=1)  # unlike @, the same for equal rows
    order = np.argsort(-scores, kind="stable")
    return np.isin(np.arange(len(rows)), order[:n_chosen])


def split(rows, n_left, random, max_iter, sample_size):
    """Return which rows go to the left; where there are many, a sample begins."""
    n = len(rows)
    if n <= sample_size:
        return two_means(rows, n_left, random, max_iter)[0]
    sample = rows[even_sample(n, sample_size)]
    _, difference = two_means(sample, n_left * sample_size // n, random, max_iter)
    for _ in range(2):
        left = largest(rows, difference, n_left)
        difference = unit(rows[left].sum(axis=0)) - unit(rows[~left].sum(axis=0))
    return largest(rows, difference, n_left)


def partition(features, fan_outs, max_iter, seed, sample_size):
    """Return the labels of each leaf, from left to right."""
    leaves_below = [math.prod(fan_outs[level + 1 :]) for level in range(len(fan_outs))]

    def leaves(labels, n_leaves, node):
        if n_leaves == 1:
            return [labels]
        unit_size = next(size for size in leaves_below if size < n_leaves)
        n_leaves_left = n_leaves // unit_size // 2 * unit_size
        n_left = (len(labels) * n_leaves_left + n_leaves // 2) // n_leaves
        on_left = np.arange(len(labels)) < n_left
        if 0 < n_left < len(labels):
            random = Random(seed, node)
            on_left = split(features[labels], n_left, random, max_iter, sample_size)
        return leaves(labels[on_left], n_leaves_left, 2 * node + 1) + leaves(
            labels[~on_left], n_leaves - n_leaves_left, 2 * node + 2
        )

    return leaves(np.arange(len(features)), math.prod(fan_outs), 0)
