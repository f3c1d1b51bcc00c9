import math

import numpy as np
import pytest
from scipy import stats

from polyseme.experiments.statistics import (
    Comparison,
    compare_hits,
    compare_seeds,
    hits_from_text,
    hits_to_text,
    mean_and_deviation,
)
from polyseme.experiments.tables import interval_text


def text_of(*first_places):
    """Return hits of documents that have only a first place."""
    hits = np.zeros((len(first_places), 5), dtype=bool)
    hits[:, 0] = first_places
    return hits_to_text(hits)


def test_mean_and_deviation_are_those_of_a_sample():
    assert mean_and_deviation([1, 2, 3]) == (2, 1)


def test_one_value_has_no_deviation_and_none_has_no_mean():
    mean, deviation = mean_and_deviation([4.0])
    assert mean == 4
    assert math.isnan(deviation)
    assert all(map(math.isnan, mean_and_deviation([])))


def test_a_comparison_of_seeds_is_the_paired_t_interval():
    ours, theirs = [3.0, 4.0, 6.0], [2.0, 2.5, 5.5]
    found = compare_seeds(ours, theirs)
    low, high = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    assert found.difference == pytest.approx(1)
    assert found.margin == pytest.approx((high - low) / 2)
    assert found.n_seeds == 3
    assert not found.is_clear


def test_an_interval_is_that_of_students_t():
    values = [0.5, 0.75, 0.625]
    low, high = stats.t.interval(0.95, 2, loc=0.625, scale=stats.sem(values))
    assert interval_text(values) == f"0.625 [{low:.3f}, {high:.3f}]"
    assert interval_text([0.5]) == "0.500"
    assert interval_text([]) == ""


def test_one_seed_alone_says_nothing_of_chance():
    assert math.isnan(compare_seeds([2.0], [1.0]).margin)
    assert not compare_seeds([2.0], [1.0]).is_clear


def test_with_one_seed_the_documents_are_the_source_of_chance():
    ours, theirs = text_of(1, 1, 0, 1, 0, 1), text_of(0, 1, 0, 0, 1, 1)
    found = compare_hits([ours], [theirs], 1)
    differences = 100 * np.array([1, 0, 0, 1, -1, 0])
    low, high = stats.ttest_1samp(differences, 0).confidence_interval(0.95)
    assert found.difference == pytest.approx(100 / 6)
    assert found.margin == pytest.approx((high - low) / 2)


def test_documents_and_seeds_both_widen_the_interval():
    ours = [text_of(1, 1, 0, 1), text_of(1, 0, 0, 1)]
    theirs = [text_of(0, 1, 0, 0), text_of(0, 0, 0, 1)]
    found = compare_hits(ours, theirs, 1)
    # By hand: documents (100, 0, 0, 50), seeds (50, 25).
    of_documents, of_seeds = np.var([100, 0, 0, 50], ddof=1) / 4, np.var([50, 25], ddof=1) / 2
    total = of_documents + of_seeds
    freedom = total**2 / (of_documents**2 / 3 + of_seeds**2 / 1)
    assert found.difference == pytest.approx(37.5)
    assert found.margin == pytest.approx(stats.t.ppf(0.975, freedom) * math.sqrt(total))


def test_a_method_does_not_differ_from_itself():
    hits = [text_of(1, 0, 1), text_of(0, 0, 1)]
    found = compare_hits(hits, hits, 1)
    assert (found.difference, found.margin, found.is_clear) == (0, 0, False)


def test_precision_at_more_places_counts_all_of_them():
    hits = np.array([[1, 0, 1, 0, 1], [0, 0, 0, 0, 0]], dtype=bool)
    none = np.zeros_like(hits)
    for k, expected in ((1, 50), (3, 100 / 3), (5, 30)):
        found = compare_hits([hits_to_text(hits)], [hits_to_text(none)], k)
        assert found.difference == pytest.approx(expected)


def test_hits_come_back_from_their_text():
    hits = np.random.default_rng(0).random((100, 5)) < 0.4
    text = hits_to_text(hits)
    assert len(text) == 100
    np.testing.assert_array_equal(hits_from_text(text), hits)


def test_a_loss_is_as_clear_as_a_gain():
    for difference in (-2.0, 2.0):
        assert Comparison(difference, 1.0, 3).is_clear
        assert not Comparison(difference, 3.0, 3).is_clear
