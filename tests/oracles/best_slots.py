"""The slot that a document goes to, slot by slot."""

from __future__ import annotations

import numpy as np


def best_slot(scores, clusters, document, label, by_slot):
    """Return slot and score; `scores` is dense, with NaN where nothing is stored."""
    best, best_score = -1, -np.inf
    for slot, owner in enumerate(clusters.labels):
        column = slot if by_slot else clusters.cluster_of_slot[slot]
        if owner == label and scores[document, column] > best_score:
            best, best_score = slot, scores[document, column]
    return best, best_score
