"""Prediction with dense weights, one document and one node at a time."""

import numpy as np


def dense_weights(weights):
    """Return (slots x features, bias of each slot) of a ``LinearWeights``."""
    dense = np.zeros((len(weights.bias), weights.n_features))
    for slot in range(len(weights.bias)):
        features, values, _ = weights.weights_of(slot)
        assert len(np.unique(features)) == len(features)
        dense[slot, features] = values
    return dense, weights.bias.astype(np.float64)


def activate(margin, parent, activation):
    if activation == "l3-hinge":
        # Single precision ends near exp(-87): worse than that are all alike.
        return parent * np.exp(max(-87.0, -(max(0.0, 1 - margin) ** 3)))
    if activation == "l2-hinge":
        return parent * np.exp(max(-87.0, -(max(0.0, 1 - margin) ** 2)))
    if activation == "sigmoid":
        return parent / (1 + np.exp(min(87.0, -margin)))
    return margin


def score_cluster(weights, dense, bias, document, cluster, parent, activation):
    """Return the scores of the slots of one cluster."""
    slots = range(weights.slot_starts[cluster], weights.slot_starts[cluster + 1])
    margins = {slot: bias[slot] + (document * dense[slot]).sum() for slot in slots}
    return {slot: activate(margin, parent, activation) for slot, margin in margins.items()}


def best(scores, k):
    """Keep the k highest; ties go to the lower id."""
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k])


def nearly_tied(scores, k):
    """Tell whether rounding may decide which are the k highest."""
    ordered = sorted(scores.values(), reverse=True)
    return len(ordered) > k and ordered[k - 1] - ordered[k] < 1e-5 * max(1, abs(ordered[k]))


def beam_search(levels, X, beam_size, activation):
    """Return {node: score} of the lowest level for each document; None where a tie decides."""
    beams = [{0: 1.0} for _ in X]
    undecided = set()
    for weights in levels:
        dense, bias = dense_weights(weights)
        for i, document in enumerate(X):
            children = {}
            for node, score in beams[i].items():
                children |= score_cluster(weights, dense, bias, document, node, score, activation)
            if nearly_tied(children, beam_size):
                undecided.add(i)
            beams[i] = best(children, beam_size)
    return [None if i in undecided else beam for i, beam in enumerate(beams)]


def score_slots(weights, X, beams, activation):
    """Return {slot: score} of every slot of the reached clusters for each document."""
    dense, bias = dense_weights(weights)
    scores = [{} for _ in X]
    for i, document in enumerate(X):
        for cluster, score in beams[i].items():
            scores[i] |= score_cluster(weights, dense, bias, document, cluster, score, activation)
    return scores
