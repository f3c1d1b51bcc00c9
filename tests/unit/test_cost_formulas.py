"""The formulas of what training costs, and how they scale a sample to the whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polyseme import XRLinear, estimate_training
from polyseme.cost import estimate, samples
from polyseme.cost.formulas import (
    JobSize,
    WeightLaw,
    count_weights,
    phase_memory,
    phase_work,
    prediction_work,
    slowdown,
    uncertainty,
)
from polyseme.cost.of_senses import judged_sizes
from polyseme.cost.samples import Sample
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels
from polyseme.machine import phases
from tests.small_data import two_senses

SIZE = JobSize(
    n_documents=1000,
    n_entries=50_000,
    n_pairs=3000,
    n_summed_entries=150_000,
    n_label_entries=100_000,
    n_used_labels=2000,
    slots_per_label=2.0,
    level_sizes=(1, 2, 64),
    nodes_per_document=(1.0, 1.5, 2.5),
    beam_size=10,
)
LARGER = {
    "n_documents": 2000,
    "n_entries": 60_000,
    "n_pairs": 4000,
    "n_summed_entries": 200_000,
    "n_label_entries": 120_000,
    "n_used_labels": 4000,
    "slots_per_label": 3.0,
    "level_sizes": (1, 4, 128),
    "nodes_per_document": (1.0, 1.6, 2.7),
    "beam_size": 20,
    "match_folds": 3,
    "n_features": 5000,
    "n_judged": 40,
    "n_judged_documents": 2000,
    "n_split_documents": 5000.0,
    "n_similarities": 300_000.0,
}
# Larger trees have smaller clusters, and documents share the entries of X: these may fall.
MAY_FALL = {
    ("level_sizes", "Choosing C"),
    ("level_sizes", "Training the ranker"),
    ("level_sizes", "Learning the order"),
    ("n_documents", "prediction"),
}


def costs(size: JobSize) -> dict[str, float]:
    matcher, ranker = count_weights(size, WeightLaw(20, 0.7), WeightLaw(30, 0.8))
    memory = {f"memory, {phase}": units for phase, units in phase_memory(size, ranker).items()}
    return {
        **phase_work(size),
        **memory,
        "prediction": prediction_work(size),
        "matcher weights": matcher,
        "ranker weights": ranker,
    }


@pytest.mark.parametrize("kind", ["teacher-forcing", "matcher-aware", "both"])
@pytest.mark.parametrize("name", LARGER)
def test_nothing_gets_cheaper_when_a_job_grows(name, kind):
    before = costs(replace(SIZE, training_rows=kind))
    after = costs(replace(SIZE, training_rows=kind, **{name: LARGER[name]}))
    cheaper = {cost for cost in before if after[cost] < before[cost] * 0.999}
    if name == "n_used_labels":  # the same pairs on more labels: fewer documents for each
        cheaper -= {"ranker weights"}
    assert {(name, cost) for cost in cheaper} <= MAY_FALL
    if not (name == "nodes_per_document" and kind != "teacher-forcing"):
        assert after != before


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_documents": -1},
        {"n_entries": float("nan")},
        {"n_label_entries": float("inf")},
        {"level_sizes": (1, 2, -64)},
        {"nodes_per_document": (1.0, 2.0)},
    ],
)
def test_sizes_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match=r"sizes of a job|one number for each level"):
        replace(SIZE, **wrong)


def test_the_law_of_weights_goes_through_its_last_point():
    law = WeightLaw.fit([2.0, 8.0], [10.0, 20.0])
    assert law(8.0) == pytest.approx(20.0)
    assert law.exponent == pytest.approx(0.5)
    assert WeightLaw.fit([5.0], [40.0])(5.0) == pytest.approx(40.0)


def test_weights_never_grow_faster_than_documents():
    assert WeightLaw.fit([1.0, 2.0], [1.0, 100.0]).exponent == 1.0


def test_what_is_extrapolated_further_is_less_certain():
    assert uncertainty(100, 100) < uncertainty(1000, 100) < uncertainty(10**6, 100)
    assert slowdown(0.5) == 1.0
    assert slowdown(2.0) < slowdown(4.0)


def test_every_phase_of_training_has_its_formulas():
    data = two_senses(n_documents=200)
    model = XRLinear(n_jobs=1, verbose=0, training_rows="both").fit(data.X, data.Y)
    assert set(model.phase_seconds_) <= set(phase_work(SIZE))
    assert set(phase_work(SIZE)) == set(phase_memory(SIZE, 1.0))


def test_matcher_and_ranker_have_as_many_classifiers_as_nodes_and_slots():
    two_each = WeightLaw(2.0, 0.0)
    assert count_weights(SIZE, two_each, two_each) == (2 * (2 + 64), 2 * 4000)


def test_a_document_meets_the_beam_on_every_level_and_then_its_slots():
    assert prediction_work(SIZE) == 50 * (1 + 2 + 10)


def test_clusters_learn_from_their_own_documents_from_the_beam_or_from_both():
    narrow = replace(SIZE, beam_size=1)
    for rows, usual, with_one in (
        ("teacher-forcing", 2.5, 2.5),
        ("matcher-aware", 10, 1),
        ("both", 10, 2.5),
    ):
        assert replace(SIZE, training_rows=rows).rows_per_document == usual
        assert replace(narrow, training_rows=rows).rows_per_document == with_one


def test_folds_cost_nearly_a_matcher_each_and_less_than_the_data_again():
    work, memory = phase_work(SIZE), phase_memory(SIZE, 1.0)
    phase = "Cross-matching"
    assert work[phase] == 0
    for n_folds in (2, 5, 10):
        folds = replace(SIZE, match_folds=n_folds)
        others = round(SIZE.n_entries * (n_folds - 1) / n_folds)
        draft = phase_work(replace(SIZE, n_entries=others))["Training the matcher"]
        expected = work | {phase: n_folds * draft + work["Matching"]}
        assert phase_work(folds) == pytest.approx(expected)
        assert phase_memory(folds, 1.0)[phase] > memory["Matching"] + others
        assert phase_memory(folds, 1.0)[phase] < 2 * memory["Matching"]


# Senses


@pytest.mark.slow
def test_senses_cost_what_they_are_looked_for_in_and_nothing_if_they_are_not():
    data = two_senses(8, n_documents=400)
    seconds = {
        senses: estimate_training(
            XRLinear(n_jobs=1, verbose=0, senses=senses), data.X, data.Y
        ).seconds
        for senses in ("induce", "none")
    }
    assert seconds["induce"][phases.SENSES].about > 0
    assert phases.SENSES not in seconds["none"]
    job = replace(SIZE, n_judged=40, n_judged_documents=2000)
    assert phase_work(job)[phases.SENSES] > phase_work(SIZE)[phases.SENSES]
    assert phase_memory(job, 1.0)[phases.SENSES] > phase_memory(SIZE, 1.0)[phases.SENSES]


def test_the_space_of_senses_is_learned_from_a_sample_of_many_documents():
    def growth(n_documents):
        one, two = (
            phase_work(replace(SIZE, n_documents=n, n_entries=50 * n))[phases.SENSES]
            for n in (n_documents, 2 * n_documents)
        )
        return two / one

    assert growth(2000) > 1.8
    assert growth(20_000) < 1.4


def test_labels_with_enough_documents_are_counted_and_no_more_of_them_than_are_looked_at():
    pattern, _ = check_labels(np.repeat([[1, 1], [1, 0]], [20, 480], axis=0), 500)
    counts = samples.sizes_of(check_features(np.eye(500, 7, dtype=np.float32)), pattern)
    assert (counts["n_judged"], counts["n_judged_documents"]) == (2, 320)
    assert counts["n_features"] == 7
    fewer = samples.sizes_of(check_features(np.eye(5, 7)), pattern.rows(0, 5))
    assert (fewer["n_judged"], fewer["n_judged_documents"]) == (0, 0)


def test_labels_that_are_fused_on_purpose_are_as_many_however_many_there_are():
    few, many, more = (judged_sizes(np.full(n, 30)) for n in (49, 50, 5000))
    assert (few["n_split_documents"], few["n_similarities"]) == (49 * 30, 49 * 900)
    for sizes, n in ((many, 50), (more, 5000)):
        assert sizes["n_split_documents"] == pytest.approx((n + 600) * 30)
        assert sizes["n_similarities"] == pytest.approx((n + 600) * 900)


# From a sample to the whole


def sampled(**taken) -> Sample:
    facts = {"n_weights": (1, 1), "n_model_bytes": 1, "n_record_bytes": 0, "n_sense_bytes": 0}
    return Sample(
        **{"size": SIZE, "seconds": {}, "peaks": {}, **facts, **taken}, prediction_seconds=1
    )


def test_training_slows_down_with_its_data_and_matching_with_the_model():
    sample = sampled(seconds=dict.fromkeys(phase_work(SIZE), 1.0))
    job = replace(SIZE, n_entries=4 * SIZE.n_entries)
    found = estimate._phase_seconds(sample, job, model_growth=2.0)
    assert found[phases.TRAINING_MATCHER] == pytest.approx(4 * slowdown(4))
    assert found[phases.TRAINING_RANKER] == pytest.approx(4 * slowdown(4))
    assert found[phases.MATCHING] == pytest.approx(4 * slowdown(2))
    assert found[phases.ASSIGNING] == 1


def test_what_threads_hold_for_every_feature_does_not_grow_with_the_documents():
    sample = sampled(peaks={phases.TRAINING_MATCHER: 10**8})
    job = replace(SIZE, n_entries=2 * SIZE.n_entries)
    found = estimate._phase_peaks(sample, job, 1.0, n_features=1000, n_threads=4)
    fixed = estimate.BYTES_PER_FEATURE_AND_THREAD * 1000 * 4
    assert found == {phases.TRAINING_MATCHER: pytest.approx(2 * 10**8 - fixed)}


def test_memory_that_a_kind_knows_of_is_added_and_not_scaled():
    tuning = {phases.FINE_TUNING: 1e6}
    sample = sampled(peaks={phases.FINE_TUNING: 10**9}, own_bytes=tuning)
    job = replace(SIZE, n_documents=200 * SIZE.n_documents)
    found = estimate._phase_peaks(sample, job, 1.0, 1000, 4, {phases.FINE_TUNING: 5e6})
    assert found == {phases.FINE_TUNING: pytest.approx(10**9 + 4e6)}


def test_work_that_a_kind_counts_itself_is_scaled_by_that_alone():
    own = {phases.TRAINING_RANKER: 10.0}
    sample = sampled(seconds={phases.TRAINING_RANKER: 2.0}, own_work=own)
    job = replace(SIZE, n_entries=100 * SIZE.n_entries)
    found = estimate._phase_seconds(sample, job, 2.0, {phases.TRAINING_RANKER: 70.0})
    assert found == {phases.TRAINING_RANKER: pytest.approx(14.0)}


def test_the_size_of_senses_grows_with_the_labels_that_are_judged():
    def n_bytes(n_sampled, n_judged, n_sense_bytes, seconds):
        size = replace(SIZE, n_judged=n_sampled)
        sample = sampled(
            size=size, n_model_bytes=1000, n_sense_bytes=n_sense_bytes, seconds=seconds
        )
        return estimate._model_bytes(sample, replace(SIZE, n_judged=n_judged), 2.0)

    assert n_bytes(10, 10, 400, {phases.SENSES: 1}) == 1000
    assert n_bytes(10, 30, 400, {phases.SENSES: 1}) == 600 + 3 * 400
    assert n_bytes(0, 30, 0, {}) == 1000
    assert n_bytes(0, 30, 0, {phases.SENSES: 1}) > 30_000
