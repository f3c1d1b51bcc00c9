"""Exact prediction with dense weights: everything scored, or nodes opened best first."""

import heapq

from tests.oracles.beam_search import beam_search, dense_weights, score_cluster, score_slots
from tests.oracles.merging import merge_slots


def all_labels(levels, ranker, X, slot_labels, activation, merge):
    """Return {label: score} of all labels for each document, by a beam that keeps everything."""
    beams = beam_search(levels, X, 10**9, activation)
    slots = score_slots(ranker, X, beams, activation)
    return [merge_slots(scores, slot_labels, merge) for scores in slots]


def best_first(levels, ranker, document, slot_labels, k, activation):
    """Return the k best (label, score), and how many nodes it took; every label has one slot."""
    below = [(weights, *dense_weights(weights)) for weights in (*levels, ranker)]
    queue = [(-1.0, 0, 0, 0)]  # score, then nodes before labels, then the lower label
    best, n_opened = [], 0
    while queue and len(best) < k:
        score, is_label, number, depth = heapq.heappop(queue)
        if is_label:
            best.append((number, -score))
            continue
        n_opened += 1
        children = score_cluster(*below[depth], document, number, -score, activation)
        for child, value in children.items():
            is_slot = depth == len(levels)
            name = int(slot_labels[child]) if is_slot else child
            heapq.heappush(queue, (-value, int(is_slot), name, depth + 1))
    return best, n_opened
