"""Estimates of training, from the samples that are tried to whether the whole fits."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from polyseme import TextModel, XRLinear, estimate_training
from polyseme.cli.estimate import verdict
from polyseme.cost import estimate, memory, samples
from polyseme.cost.estimate import Range
from polyseme.demo import make_corpus
from polyseme.estimators.model_parts import contents_of
from polyseme.machine import phases
from polyseme.text import TextFeatures
from polyseme.text import estimate as text_estimate
from polyseme.text.problem import Pairs
from tests.small_data import two_senses

pytestmark = pytest.mark.slow  # every test tries a training to tell what a larger one takes


def test_a_range_holds_its_figure():
    assert Range.around(6.0, 2.0) == Range(6.0, 3.0, 12.0)


def test_a_small_job_is_tried_whole_and_its_model_size_is_exact():
    data = two_senses(8, n_documents=1000)
    X, Y = data.X, data.Y
    model = XRLinear(max_leaf_size=2, branching=2, n_jobs=1, verbose=0)
    found = estimate_training(model, X, Y)
    assert found.n_sampled == X.shape[0]
    model.fit(X, Y)
    assert set(found.seconds) == set(model.phase_seconds_)
    n_bytes = sum(array.nbytes for array in contents_of(model).arrays.values())
    assert found.model_bytes.about == pytest.approx(n_bytes)
    assert found.total_seconds.low <= found.total_seconds.about <= found.total_seconds.high


@pytest.mark.parametrize("settings", [{"copies": 1, "rounds": 0}, {"copies": 3}])
def test_the_estimate_has_the_phases_of_the_job(settings):
    rng = np.random.default_rng(0)
    X = (rng.random((40, 30)) < 0.2) * rng.random((40, 30))
    Y = rng.random((40, 12)) < 0.2
    model = XRLinear(max_leaf_size=2, n_jobs=1, verbose=0, **settings)
    found = estimate_training(model, X.astype(np.float32), Y.astype(np.int8))
    assert ("Cross-matching" in found.seconds) == (settings["copies"] > 1)
    assert not hasattr(model, "clusters_")


def test_documents_without_labels_or_features_are_no_trouble():
    X, Y = np.zeros((5, 3), np.float32), np.zeros((5, 4), np.int8)
    found = estimate_training(XRLinear(n_jobs=1, verbose=0), X, Y)
    assert found.total_seconds.about >= 0


@pytest.mark.slow
def test_the_estimate_counts_the_folds():
    data = two_senses(n_documents=200)
    model = XRLinear(max_leaf_size=8, n_jobs=1, verbose=0, match_folds=50)
    found = estimate_training(model, data.X, data.Y)
    assert set(found.seconds) == set(model.fit(data.X, data.Y).phase_seconds_)
    phases = found.seconds
    assert phases["Cross-matching"].about > phases["Training the matcher again"].about


def test_a_sample_has_a_document_for_every_fold(monkeypatch):
    monkeypatch.setattr(samples, "FIRST_SAMPLE_ENTRIES", 1)
    monkeypatch.setattr(samples, "SAMPLE_SECONDS", 0.0)
    data = two_senses(n_documents=50)
    model = XRLinear(n_jobs=1, verbose=0, match_folds=7)
    assert estimate_training(model, data.X, data.Y).n_sampled == 7


def test_bad_input_is_refused_as_fit_refuses_it():
    X, Y = np.ones((5, 3), np.float32), np.ones((5, 4), np.int8)
    with pytest.raises(ValueError, match="copies"):
        estimate_training(XRLinear(copies=0), X, Y)
    with pytest.raises(ValueError, match="rows"):
        estimate_training(XRLinear(), X, Y[:4])


def test_the_peak_is_that_of_the_whole_process_with_what_was_there_before(monkeypatch):
    monkeypatch.setattr(estimate, "resident_memory", lambda: 10**12)
    monkeypatch.setattr(samples, "resident_memory", lambda: 10**12)
    monkeypatch.setattr(samples, "peak_memory", lambda: 10**12 + 5000)
    monkeypatch.setattr(samples, "forget_peak", lambda: True)
    data = two_senses(n_documents=50)
    found = estimate_training(XRLinear(n_jobs=1, verbose=0), data.X, data.Y)
    assert 10**12 < found.peak_bytes.low < found.peak_bytes.high < 10**12 + 10**5


@pytest.mark.slow
def test_the_names_of_labels_count_for_the_size_of_the_model():
    data = two_senses(n_documents=50)
    names = [f"label {i}" for i in range(data.Y.shape[1])]
    model = XRLinear(n_jobs=1, verbose=0)
    with_names, without = (
        estimate_training(model, data.X, data.Y, label_names=given).model_bytes.about
        for given in (names, None)
    )
    assert with_names - without == sum(len(name) + 8 for name in names)


def test_phases_add_up_to_the_total_where_the_whole_is_larger_than_the_sample(monkeypatch):
    monkeypatch.setattr(samples, "FIRST_SAMPLE_ENTRIES", 1)
    monkeypatch.setattr(samples, "SAMPLE_SECONDS", 0.0)
    data = two_senses(n_documents=200)
    found = estimate_training(XRLinear(n_jobs=1, verbose=0, match_folds=20), data.X, data.Y)
    assert found.n_sampled == 20
    assert found.total_seconds.about == pytest.approx(
        sum(seconds.about for seconds in found.seconds.values())
    )


def test_prediction_is_estimated_in_microseconds_a_document():
    class Slow(XRLinear):
        def predict_top_k(self, X, k):
            time.sleep(0.02)
            return super().predict_top_k(X, k)

    data = two_senses(n_documents=100)
    found = estimate_training(Slow(n_jobs=1, verbose=0), data.X, data.Y)
    assert 200 <= found.microseconds_per_document.about < 5000


def test_a_job_fits_if_its_peak_is_no_higher_than_what_is_available():
    data = two_senses(n_documents=50)
    model = XRLinear(n_jobs=1, verbose=0)
    found = replace(estimate_training(model, data.X, data.Y), peak_bytes=Range(10, 5, 20))
    for available, fits, beginning in (
        (4, False, "Does NOT fit"),
        (9, False, "Does NOT fit"),
        (10, True, "Probably fits"),
        (19, True, "Probably fits"),
        (20, True, "Fits: 20 bytes"),
        (None, None, "This system does not tell"),
    ):
        one = replace(found, available_bytes=available)
        assert one.fits is fits
        assert verdict(model, one).startswith(beginning)


def test_fewer_copies_are_no_advice_where_the_tree_needs_most():
    data = two_senses(n_documents=50)
    model = XRLinear(n_jobs=1, verbose=0)
    found = replace(
        estimate_training(model, data.X, data.Y), peak_bytes=Range(10, 5, 20), available_bytes=4
    )
    for phase, is_named in ((phases.TRAINING_RANKER, True), (phases.LABEL_TREE, False)):
        said = verdict(model, replace(found, peak_phase=phase))
        assert f"{phase} needs most" in said
        assert ("fewer --copies than 3" in said) == is_named


def test_a_control_group_limits_what_is_available(tmp_path, monkeypatch):
    limit, usage = tmp_path / "limit", tmp_path / "usage"
    usage.write_text("400000\n")
    monkeypatch.setattr(memory, "_CGROUP_FILES", ((str(limit), str(usage)),))
    monkeypatch.setattr(memory, "resident_memory", lambda: 7)
    limit.write_text("1000000\n")
    assert memory.available_memory() == 600_007
    limit.write_text("max\n")
    assert memory.available_memory() > 600_007


def test_texts_are_trained_on_twice_and_their_words_are_kept(monkeypatch):
    corpus = make_corpus(40, seed=0)
    model = TextModel(TextFeatures(ngrams=(1, 1)), XRLinear(n_jobs=1, verbose=0), verbose=0)
    data = two_senses(n_documents=50)
    known = replace(
        estimate_training(XRLinear(n_jobs=1, verbose=0), data.X, data.Y),
        seconds={"all": Range.exactly(10)},
        total_seconds=Range.exactly(10),
        model_bytes=Range.exactly(1000),
    )
    monkeypatch.setattr(text_estimate, "estimate_training", lambda *_, **__: known)
    found = text_estimate.estimate_text_training(model, Pairs(corpus.texts, corpus.labels))
    assert found.seconds["Training without held-out documents"] == Range.exactly(9)
    assert found.seconds["all"] == Range.exactly(10)
    assert found.total_seconds.about == pytest.approx(
        sum(seconds.about for seconds in found.seconds.values())
    )
    words = TextFeatures(ngrams=(1, 1)).fit(corpus.texts).vocabulary_
    n_bytes = 4 * len(words) + sum(len(word) + 8 for word in words)
    assert found.model_bytes == Range.exactly(1000 + n_bytes)


@pytest.mark.parametrize("refit", [True, False])
def test_senses_of_texts_are_looked_for_once(monkeypatch, refit):
    corpus = make_corpus(40, seed=0)
    model = TextModel(refit=refit, verbose=0)
    known = estimate.TrainingEstimate(
        {"all": Range.exactly(10), phases.SENSES: Range.exactly(5)},
        *[Range.exactly(15)] * 2,
        None,
        *[Range.exactly(15)] * 2,
        *[1] * 3,
        "all",
    )
    monkeypatch.setattr(text_estimate, "estimate_training", lambda *_, **__: known)
    found = text_estimate.estimate_text_training(model, Pairs(corpus.texts, corpus.labels))
    first = found.seconds["Training without held-out documents"].about
    assert first == pytest.approx(9 if refit else 0.9 * 15)
    assert (phases.SENSES in found.seconds) == refit


def test_folds_count_on_the_way_from_the_sample_to_the_whole(monkeypatch):
    monkeypatch.setattr(samples, "FIRST_SAMPLE_ENTRIES", 1)
    monkeypatch.setattr(samples, "SAMPLE_SECONDS", 0.0)
    scaled, seen = estimate._phase_seconds, []
    monkeypatch.setattr(
        estimate, "_phase_seconds", lambda *sizes: (seen.append(sizes), scaled(*sizes))[1]
    )
    data = two_senses(n_documents=200)
    estimate_training(XRLinear(n_jobs=1, verbose=0, match_folds=5), data.X, data.Y)
    ((sample, job, *_),) = seen
    assert (sample.size.match_folds, job.match_folds) == (5, 5)
