"""A small model, and documents with new labels that it is to learn.

A test module takes the fixture by name: ``case = growing_models.case``.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from polyseme import XRLinear
from tests.small_data import topics

SMALL = {
    "max_leaf_size": 8,
    "branching": 4,
    "beam_size": 4,
    "senses": "none",
    "verbose": 0,
    "n_jobs": 2,
}


def split(data, n_new_labels):
    """Return old documents without the last labels, and new ones with all of them."""
    n_known = data.Y.shape[1] - n_new_labels
    has_new = np.diff(data.Y[:, n_known:].indptr) > 0
    old, new = np.flatnonzero(~has_new), np.flatnonzero(has_new)
    return data.X[old], data.Y[old][:, :n_known], data.X[new], data.Y[new]


@cache
def usual_case():
    data = topics(n_labels=80, n_documents=1600)
    X_old, Y_old, X_new, Y_new = split(data, n_new_labels=4)
    model = XRLinear(**SMALL).fit(X_old, Y_old)
    return data, model, (X_old, Y_old, X_new, Y_new)


@pytest.fixture(scope="module")
def case():
    return usual_case()
