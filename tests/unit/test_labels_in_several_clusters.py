"""The labels that are in several clusters, in the order of the map."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from polyseme.senses.slots import split_order


def test_the_most_divided_come_first_then_the_most_frequent_and_none_is_left_out():
    model = SimpleNamespace(
        clusters_=SimpleNamespace(copies=np.array([2, 1, 2, 3, 2])),
        label_counts_=np.array([20, 90, 30, 40, 9]),
    )
    scores = np.array([0.4, 0.0, 0.0, 0.0, 0.5])
    assert split_order(model, scores).tolist() == [0, 3, 2]
    assert split_order(model, scores, min_documents=1).tolist() == [4, 0, 3, 2]
