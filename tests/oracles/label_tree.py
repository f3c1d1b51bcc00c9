"""Recursive balanced spherical 2-means on dense label features, one node after the other."""

import math

import numpy as np

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


def split(rows, n_left, random, max_iter):
    """Return which rows go to the left."""
    n = len(rows)
    first, other = random.below(n), random.below(n - 1)
    difference = rows[first] - rows[other + (other >= first)]
    left = np.zeros(n, dtype=bool)
    for _ in range(max_iter):
        order = np.lexsort((np.arange(n), -(rows @ difference)))
        before, left = left, np.isin(np.arange(n), order[:n_left])
        if (left == before).all():
            break
        difference = unit(rows[left].sum(axis=0)) - unit(rows[~left].sum(axis=0))
    return left


def partition(features, fan_outs, max_iter, seed):
    """Return the labels of each leaf, from left to right."""
    leaves_below = [math.prod(fan_outs[level + 1 :]) for level in range(len(fan_outs))]
    leaves = {}
    nodes = [(np.arange(len(features)), 0, math.prod(fan_outs))]
    n_splits = 0
    while nodes:
        below = []
        for labels, first_leaf, n_leaves in nodes:
            if n_leaves == 1:
                leaves[first_leaf] = labels
                continue
            unit_size = next(size for size in leaves_below if size < n_leaves)
            n_leaves_left = n_leaves // unit_size // 2 * unit_size
            n_left = (len(labels) * n_leaves_left + n_leaves // 2) // n_leaves
            on_left = np.arange(len(labels)) < n_left
            if 0 < n_left < len(labels):
                random = Random(seed, n_splits)
                on_left = split(features[labels], n_left, random, max_iter)
            n_splits += 1
            below.append((labels[on_left], first_leaf, n_leaves_left))
            below.append((labels[~on_left], first_leaf + n_leaves_left, n_leaves - n_leaves_left))
        nodes = below
    return [leaves[leaf] for leaf in sorted(leaves)]
