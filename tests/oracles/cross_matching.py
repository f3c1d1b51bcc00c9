"""Cross-matching, document by document."""

import numpy as np

from polyseme.backbones.tasks import MatchingTask
from tests.small_problems import documents, pattern


def cross_match(make_matcher, X, targets, tree, beam_size, folds, run):
    """Match each document by a matcher trained on the folds without it; dense in, dense out."""
    matched = np.zeros(targets.shape, dtype=np.float32)
    for document in range(len(X)):
        (own_fold,) = (fold for fold in folds if document in fold)
        others = [i for i in range(len(X)) if i not in own_fold]
        task = MatchingTask(pattern(targets[others]), tree, is_draft=True)
        matcher = make_matcher().fit(documents(X[others]), task, run)
        clusters, scores = matcher.match(documents(X[[document]]), beam_size, run).row(0)
        matched[document, clusters] = scores
    return matched
