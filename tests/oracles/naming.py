"""The sense of one document's label, by cosines of dense vectors."""

import numpy as np


def nearness(words, beside, document, other_labels, label):
    """Return how near each sense of a label is to a document, shape (n_senses,).

    Parameters
    ----------
    words, beside : ndarray, shape (n_senses, n_features) and (n_senses, n_labels)
    document, other_labels : ndarray, shape (n_features,) and (n_labels,)
    label : int
        Which says nothing of itself.
    """
    others = np.where(np.arange(len(other_labels)) == label, 0, other_labels.astype(np.float64))
    return words @ _unit(document.astype(np.float64)) + beside @ _unit(others)


def _unit(vector):
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else vector
