"""Probabilities from scores, and the thresholds that are chosen by them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.text.calibration import (
    Calibration,
    cut_for_f1,
    cut_for_precision,
    measure_cut,
    reliability,
)
from tests.examples import examples


def drawn(n, seed=0, power=3.0):
    """Scores whose true probability is known: score to the power."""
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return scores, rng.random(n) < scores**power


# A curve of two parameters cannot follow the truth all the way.
@pytest.mark.parametrize(
    ("n", "method", "most_off"), [(20_000, "isotonic", 0.03), (1500, "logistic", 0.08)]
)
def test_probabilities_come_close_to_the_truth_on_data_not_seen(n, method, most_off):
    calibration = Calibration.fit(*drawn(n))
    assert calibration.method == method
    scores, hits = drawn(20_000, seed=1)
    found = reliability(calibration(scores), hits)
    assert found["calibration_error"] < most_off
    assert abs(calibration(0.9) - 0.9**3) < 0.1
    assert abs(calibration(0.3) - 0.3**3) < 0.05


@examples(60)
@given(
    st.lists(st.tuples(st.floats(-3, 3, width=32), st.booleans()), max_size=30),
    st.lists(st.floats(-5, 5), min_size=1, max_size=20),
)
def test_a_higher_score_never_gets_a_lower_probability(pairs, asked):
    calibration = Calibration.fit([s for s, _ in pairs], [h for _, h in pairs])
    calibration.check()
    found = calibration(np.sort(asked))
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) >= 0).all()


def test_nothing_is_certain_or_impossible():
    rng = np.random.default_rng(0)
    hits = np.arange(6000) >= 3000
    scores = hits + rng.random(6000) * 0.1
    calibration = Calibration.fit(scores, hits)
    assert calibration.method == "isotonic"
    assert 0 < calibration(0) < 0.01
    assert 0.99 < calibration(9) < 1


def test_scores_that_say_nothing_get_the_overall_share():
    hits = np.arange(10) < 3
    assert Calibration.fit(np.ones(10), hits)(0.2) == pytest.approx(4 / 12)
    assert Calibration.fit(-np.arange(10.0), ~hits)(5) == pytest.approx(8 / 12)
    assert Calibration.fit([], [])([0.3, 2.0]).tolist() == [0.3, 1.0]


@examples(80)
@given(
    st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.9]), st.booleans()), min_size=1),
    st.floats(0.05, 1),
    st.integers(0, 5),
)
def test_the_chosen_thresholds_are_the_best_of_all(pairs, wanted, n_missed):
    probabilities = np.array([p for p, _ in pairs])
    hits = np.array([h for _, h in pairs])
    n_true = int(hits.sum()) + n_missed
    cuts = [
        measure_cut((probabilities >= t)[np.newaxis], hits[np.newaxis], t, n_true=n_true)
        for t in np.unique(probabilities)
    ]
    best = cut_for_f1(probabilities, hits, n_true=n_true)
    kept = probabilities >= best
    chosen = measure_cut(kept[np.newaxis], hits[np.newaxis], best, n_true=n_true)
    assert chosen.f1 == pytest.approx(max(cut.f1 for cut in cuts))
    precise = [cut.threshold for cut in cuts if cut.precision >= wanted]
    found = cut_for_precision(probabilities, hits, wanted)
    if precise:
        assert found == min(precise)
    else:
        most = max(cut.precision for cut in cuts)
        assert next(c for c in cuts if c.threshold == found).precision == pytest.approx(most)


def test_the_threshold_for_f1_lies_between_what_is_kept_and_what_is_not():
    hits = np.array([True, True, False])
    assert cut_for_f1(np.array([0.99, 0.9, 0.1]), hits, n_true=2) == pytest.approx(0.5)
    assert cut_for_f1(np.array([0.9, 0.8, 0.7]), np.ones(3, bool), n_true=3) == pytest.approx(0.35)
    tiny = np.array([5e-324, 0.0])
    assert cut_for_f1(tiny, np.array([True, False]), n_true=1) == 5e-324


def test_a_wanted_precision_is_reached_on_new_data():
    scores, hits = drawn(30_000, power=2)
    calibration = Calibration.fit(scores, hits)
    threshold = cut_for_precision(calibration(scores), hits, 0.8)
    new_scores, new_hits = drawn(30_000, seed=5, power=2)
    kept = (calibration(new_scores) >= threshold).reshape(1000, 30)
    cut = measure_cut(kept, new_hits.reshape(kept.shape), threshold, n_true=int(new_hits.sum()))
    assert cut.precision == pytest.approx(0.8, abs=0.02)
    assert cut.labels_per_document > 1


def test_documents_without_a_suggestion_are_counted():
    kept = np.array([[True, False], [False, False], [True, True], [False, False]])
    cut = measure_cut(kept, kept, 0.5, n_true=6)
    assert cut.without_label == 0.5
    assert (cut.precision, cut.recall, cut.labels_per_document) == (1, 0.5, 0.75)


def test_bins_add_up_to_all_pairs():
    scores, hits = drawn(1000)
    found = reliability(np.append(scores, 1.0), np.append(hits, True))
    assert sum(one["n"] for one in found["bins"]) == 1001
    assert all(one["low"] <= one["mean_probability"] <= one["high"] for one in found["bins"])
    assert reliability(np.zeros(0), np.zeros(0, bool))["bins"] == []


@pytest.mark.parametrize(
    ("method", "scores", "probabilities"),
    [
        ("guess", [0, 1], [0, 1]),
        ("isotonic", [], []),
        ("isotonic", [0, 1], [0.5]),
        ("isotonic", [1, 0], [0, 1]),
        ("isotonic", [0, 1], [1, 0]),
        ("isotonic", [0, 1], [0, 1.5]),
        ("isotonic", [0, np.nan], [0, 1]),
    ],
)
def test_what_is_no_curve_is_refused(method, scores, probabilities):
    with pytest.raises(ValueError, match="not a curve"):
        Calibration(method, np.array(scores, float), np.array(probabilities, float)).check()


def test_probabilities_are_set_right_and_different_ones_stay_different():
    rng = np.random.default_rng(0)
    scores = rng.uniform(0.01, 0.8, 3000)
    hits = rng.random(3000) < scores / 2  # twice too sure
    curve = Calibration.fit(scores, hits, are_probabilities=True)
    assert curve.method == "logistic"
    curve.check()
    assert curve([0.2, 0.6]) == pytest.approx([0.1, 0.3], abs=0.04)
    beyond = curve([1e-5, 0.001, 0.005, 0.79, 0.85, 0.9, 0.99])
    assert (np.diff(beyond) > 0).all()


@examples(20)
@given(seed=st.integers(0, 2**32 - 1), power=st.floats(0.3, 3))
def test_many_probabilities_are_set_right_by_groups_and_the_curve_rises_everywhere(seed, power):
    rng = np.random.default_rng(seed)
    scores = rng.random(20_000).astype(np.float32)
    curve = Calibration.fit(scores, rng.random(20_000) < scores**power, are_probabilities=True)
    assert curve.method == "isotonic"
    curve.check()
    asked = np.linspace(0, 1, 101)
    assert (np.diff(curve(asked)) > 0).all()
    assert np.abs(curve(asked) - asked**power).mean() < 0.03
    assert len(np.unique(curve(scores))) == len(np.unique(scores))
