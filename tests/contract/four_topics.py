"""A problem that every matcher and every ranker solves: four topics, and a cluster for each."""

import numpy as np

from polyseme.backbones.tasks import MatchingTask, RankingTask
from polyseme.inputs.documents import Documents
from polyseme.partition.label_tree import LabelTree
from tests.small_problems import clusters_of, pattern, sparse

# Four topics of six documents; a document has two of its topic's three words. Each topic is a
# cluster of two labels, and label 8 is at home in topics 0 and 3.
TREE = LabelTree.uniform(2, 2)
TOPIC = np.repeat(np.arange(4), 6)
CLUSTERS = clusters_of([0, 1, 8], [2, 3], [4, 5], [6, 7, 8], n_labels=9)


def frozen(rows):
    """Make the arrays read-only: nobody may write into what was given."""
    for part in vars(rows).values():
        if isinstance(part, np.ndarray):
            part.flags.writeable = False
    return rows


def features():
    X = np.zeros((24, 13), dtype=np.float32)
    for i, topic in enumerate(TOPIC):
        X[i, topic * 3 : topic * 3 + 3] = 1
        X[i, topic * 3 + i % 3] = 0
        X[i, 12] = 0.1
    return X


FORMS = {
    "sparse": lambda X: Documents(frozen(sparse(X))),
    "dense": lambda X: Documents(dense=frozen_array(X)),
    "both": lambda X: Documents(frozen(sparse(X[:, :5])), frozen_array(X[:, 5:])),
}


def frozen_array(X):
    X = np.ascontiguousarray(X, dtype=np.float32)
    X.flags.writeable = False
    return X


def documents(form="sparse"):
    return FORMS[form](features())


def no_documents(n):
    return Documents(sparse(np.zeros((n, 13))))


def matching(targets, tree=None, **others):
    return MatchingTask(pattern(targets), TREE if tree is None else tree, **others)


def topics():
    return MatchingTask(topic_targets(), TREE)


def ranking(Y=None, clusters=None, rows=None, **others):
    return RankingTask(
        labels() if Y is None else pattern(Y),
        CLUSTERS if clusters is None else clusters,
        topic_targets() if rows is None else pattern(rows),
        **others,
    )


def labels():
    Y = np.zeros((24, 9))
    Y[np.arange(24), TOPIC * 2 + (np.arange(24) % 3 == 0)] = 1
    Y[(TOPIC % 3 == 0) & (np.arange(24) % 3 == 1), 8] = 1
    return frozen(pattern(Y))


def topic_targets():
    return frozen(pattern(np.eye(4)[TOPIC]))


def frozen_copy(array):
    array = array.copy()
    array.flags.writeable = False
    return array
