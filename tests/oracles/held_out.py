"""Held-out matching, document by document."""

import numpy as np

from tests.small_problems import pattern, sparse


def match_held_out(make_matcher, X, targets, tree, beam_size, folds):
    """Match each document by a matcher trained on the folds without it; dense in, dense out."""
    matched = np.zeros(targets.shape, dtype=np.float32)
    for document in range(len(X)):
        (own_fold,) = (fold for fold in folds if document in fold)
        others = [i for i in range(len(X)) if i not in own_fold]
        matcher = make_matcher()
        matcher.fit(sparse(X[others]), pattern(targets[others]), tree, is_draft=True)
        clusters, scores = matcher.match(sparse(X[[document]]), beam_size).row(0)
        matched[document, clusters] = scores
    return matched
