"""PIFA as one product of dense matrices, then cut to the largest features of each label."""

import numpy as np


def even_sample(n, size):
    """Return at most `size` of the numbers below n, evenly spread."""
    n_chosen = min(n, size)
    return np.arange(n_chosen) * n // max(1, n_chosen)


def label_features(X, Y, max_features, max_documents):
    features = np.zeros((Y.shape[1], X.shape[1]))
    for label in range(Y.shape[1]):
        documents = np.flatnonzero(Y[:, label])
        sums = X[documents[even_sample(len(documents), max_documents)]].sum(axis=0, dtype=float)
        largest = np.argsort(-abs(sums), kind="stable")[:max_features]
        length = np.linalg.norm(sums[largest])
        if length > 0:
            features[label, largest] = sums[largest] / length
    return features
