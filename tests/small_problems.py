"""Small dense problems, brought into the forms that the library takes."""

import numpy as np

from polyseme.backbones.linear.weights import LinearTraining, LinearWeights
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.run import Run
from polyseme.partition.label_clusters import LabelClusters


def sparse(array):
    return SparseRows.from_dense(np.asarray(array, dtype=np.float32))


def documents(array):
    """Return documents that have sparse features only."""
    return Documents(sparse(array))


def pattern(array):
    return sparse(np.asarray(array) != 0).pattern()


def clusters_of(*labels_by_cluster, n_labels):
    """Return the slot table with the given labels in each cluster."""
    starts = np.cumsum([0, *map(len, labels_by_cluster)], dtype=np.int64)
    labels = [label for labels in labels_by_cluster for label in labels]
    return LabelClusters(n_labels, starts, np.array(labels, dtype=np.int32))


def random_features(rng, n_documents, n_features, density=0.4, signed=False):
    """Documents of unit length, some of them empty where the density is low."""
    draw = rng.standard_normal if signed else rng.random
    X = draw((n_documents, n_features)) * (rng.random((n_documents, n_features)) < density)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return np.divide(X, lengths, out=X, where=lengths > 0).astype(np.float32)


def random_problem(rng, n_documents=60, n_features=15, n_labels=8, noise=0.1, signed=False):
    """Return X and Y; labels follow the features but for some noise."""
    X = random_features(rng, n_documents, n_features, signed=signed)
    margins = X @ rng.standard_normal((n_features, n_labels))
    Y = (margins > np.quantile(margins, 0.7, axis=0)) ^ (
        rng.random((n_documents, n_labels)) < noise
    )
    return X, Y


def train_slots(X, Y, clusters, rows=None, own=None, seed=0, n_threads=1, **how):
    """Train every slot, on all documents unless `rows` (documents x clusters) says otherwise."""
    if rows is None:
        rows = np.ones((len(X), clusters.n_clusters))
    return LinearWeights.train(
        documents(X),
        pattern(rows),
        clusters.starts,
        clusters.labels,
        pattern(Y),
        LinearTraining(**how),
        Run(seed, n_threads),
        own_documents=None if own is None else pattern(own),
    )[0]
