"""Thresholds of single labels, against all thresholds tried one by one."""

from __future__ import annotations

import numpy as np
import pytest

from polyseme.text.calibration import cut_for_precision
from polyseme.text.label_thresholds import PRIOR, label_thresholds


def by_trying_all(labels, probabilities, hits, wanted, n_labels):
    """The same by its definition: each label and each threshold on its own."""
    tried = np.unique(np.append(probabilities, np.nextafter(probabilities, 2)))
    tried = tried[tried <= probabilities.max()]
    exact = np.array([hits[probabilities >= threshold].mean() for threshold in tried])
    of_all = np.maximum.accumulate(exact)  # the best at this threshold or a lower one
    found = np.full(n_labels, cut_for_precision(probabilities, hits, wanted))
    for label in np.unique(labels):
        just_above = np.nextafter(probabilities[labels == label].max(), 2)
        found[label] = max(found[label], just_above)  # where no threshold is as precise
        for threshold, overall in zip(tried, of_all, strict=True):
            own = hits[(labels == label) & (probabilities >= threshold)]
            if own.sum() + PRIOR * overall >= wanted * (len(own) + PRIOR) - 1e-9:
                found[label] = threshold
                break
    return found


@pytest.mark.parametrize("seed", range(20))
def test_thresholds_of_labels_are_the_lowest_of_all(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, 40).astype(np.int32)
    probabilities = np.round(rng.random(40), 2)
    hits = rng.random(40) < probabilities**2
    wanted = 0.3137 + 0.02 * seed
    found = label_thresholds(labels, probabilities, hits, wanted, 6)
    expected = by_trying_all(labels, probabilities, hits, wanted, 6)
    for one, other in zip(found, expected, strict=True):
        # The same suggestions are kept; thresholds without one between them are equal.
        assert (probabilities >= one).tolist() == (probabilities >= other).tolist()


def test_a_label_that_was_never_suggested_has_the_threshold_of_all():
    probabilities = np.linspace(0.01, 1, 100)
    hits = probabilities > 0.4
    labels = np.zeros(100, dtype=np.int32)
    found = label_thresholds(labels, probabilities, hits, 0.9, 2)
    assert found[1] == cut_for_precision(probabilities, hits, 0.9)
    assert label_thresholds(labels[:0], probabilities[:0], hits[:0], 0.9, 2).tolist() == [1, 1]


def test_labels_that_are_too_sure_of_themselves_are_cut_higher_and_modest_ones_lower():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 6000).astype(np.int32)
    probabilities = rng.random(6000)
    right = np.array([0.8, 1.0, 1.5])[labels] * probabilities
    hits = rng.random(6000) < right
    sure, just, modest = label_thresholds(labels, probabilities, hits, 0.6, 3)
    assert modest < just < sure
    for label, threshold in enumerate((sure, just, modest)):
        kept = hits[(labels == label) & (probabilities >= threshold)]
        assert kept.mean() > 0.58
