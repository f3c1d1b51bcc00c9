"""Text models measured on held-out documents: the report, thresholds and reliability."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import polyseme
from polyseme import TextModel, XRLinear
from polyseme.demo import make_corpus
from polyseme.machine.progress import Progress
from polyseme.text import Record, TextFeatures
from polyseme.text.evaluation import Judged, by_label_frequency, cross_checked
from polyseme.text.measuring import measure_held_out
from polyseme.text.problem import as_new_documents, read_problem
from tests import small_text_models
from tests.small_text_models import SMALL, TEST, TRAINING, fitted, records

model = small_text_models.model


# The report


def test_the_report_agrees_with_an_evaluation_on_new_texts(model):
    report, measured = model.report_, model.evaluate(records(TEST))
    assert report["n_documents"] == 120
    assert report["n_training_documents"] == 1080
    assert report["accuracy"]["P@1"] == pytest.approx(measured["accuracy"]["P@1"], abs=12)
    assert report["reach"] > 80
    assert report["reliability"]["calibration_error"] < 0.1
    assert measured["reliability"]["calibration_error"] < 0.1
    assert measured["threshold"]["f1"] == pytest.approx(report["threshold"]["f1"], abs=0.1)
    for figures in (report, measured):
        n_true = sum(row["n_true"] for row in figures["by_label_frequency"])
        assert n_true > figures["n_documents"]


@pytest.mark.slow
def test_a_narrower_beam_is_reported_to_reach_less(model):
    narrow = TextModel(
        TextFeatures(ngrams=(1, 1)), XRLinear(**{**SMALL, "beam_size": 1}), verbose=0
    )
    narrow.fit(TRAINING.texts, TRAINING.labels)
    assert narrow.report_["reach"] < model.report_["reach"] - 1


def test_labels_are_counted_apart_by_their_training_documents():
    first = np.arange(6, dtype=np.int32)
    top = np.stack([first, (first + 1) % 6], axis=1)
    judged = Judged.judge(top, np.ones((6, 2), dtype=np.float32), sp.eye_array(6, format="csr"))
    rows = by_label_frequency(judged, np.array([0, 1, 2, 3, 9, 10]), k=1)
    assert [(row["least"], row["most"], row["n_labels"]) for row in rows] == [
        (0, 0, 1),
        (1, 2, 2),
        (3, 9, 2),
        (10, 29, 1),
    ]
    assert [row["n_suggested"] for row in rows] == [1, 2, 2, 1]
    assert {(row["precision"], row["recall"]) for row in rows} == {(100, 100)}


def test_labels_that_the_model_does_not_know_count_as_not_found(model):
    known = records(TEST)[:50]
    odd = [Record(r.text, (*r.labels, "unheard of")) for r in known]
    with_unknown, without = model.evaluate(odd), model.evaluate(known)
    assert with_unknown["n_unknown_labels"] == without["n_unknown_labels"] + 1
    assert with_unknown["accuracy"]["P@1"] == without["accuracy"]["P@1"]
    assert with_unknown["accuracy"]["R@10"] < without["accuracy"]["R@10"]


def test_documents_without_labels_are_left_out_and_counted(model):
    known = records(TEST)[:50]
    mixed = [Record("nobody tagged this", ()), *known, Record("", ())]
    measured, usual = model.evaluate(mixed), model.evaluate(known)
    assert (measured["n_documents"], measured["n_without_labels"]) == (50, 2)
    assert (usual["n_without_labels"], usual["accuracy"]) == (0, measured["accuracy"])
    with pytest.raises(ValueError, match="nothing to measure"):
        model.evaluate([Record("text", ())])


@pytest.mark.slow
def test_without_refit_the_model_is_the_one_that_was_measured():
    model = fitted(refit=False)
    assert model.classifier_.n_documents_ == 1080
    assert model.report_["refitted"] is False


@pytest.mark.slow
@pytest.mark.parametrize("n_texts", [150, 190, 400])
def test_the_refit_has_the_order_that_was_measured_or_none(n_texts):
    texts, labels = TRAINING.texts[:n_texts], TRAINING.labels[:n_texts]
    model = TextModel(classifier=XRLinear(verbose=0), verbose=0).fit(texts, labels)
    is_ordered = model.classifier_.ordering_ is not None
    found = model.evaluate([Record(*pair) for pair in zip(TEST.texts, TEST.labels, strict=True)])
    assert found["reliability"]["calibration_error"] < 0.25
    assert is_ordered == (n_texts == 400)


@pytest.mark.slow
def test_without_held_out_documents_there_is_no_report():
    model = fitted(held_out=0)
    assert model.report_ == {}
    assert model.calibration_.method == "none"
    assert model.threshold_ == 0
    assert model.classifier_.n_documents_ == 1200
    assert all(0 <= one.score <= 1 for one in model.suggest(TEST.texts[:1])[0])


# Thresholds and reliability


@pytest.mark.slow
def test_a_wanted_precision_is_reached_on_held_out_documents():
    model = fitted(precision=0.9)
    cut = model.report_["threshold"]
    assert cut["precision"] >= 0.9
    assert cut["threshold"] == model.threshold_
    assert cut["wanted_precision"] == 0.9
    measured = model.evaluate(records(TEST))["threshold"]
    assert measured["precision"] > 0.8
    assert measured["recall"] > 0.05


@pytest.mark.slow
def test_each_label_has_a_threshold_of_its_own_if_wanted(tmp_path):
    model = fitted(precision=0.9, per_label=True)
    of_labels = model.label_thresholds_
    assert of_labels.shape == (model.classifier_.n_labels_,)
    n_own = int((of_labels != model.threshold_).sum())
    assert 0 < n_own == model.report_["threshold"]["n_labels_with_own"]
    found, everything = model.suggest(TEST.texts[:50]), model.suggest(TEST.texts[:50], threshold=0)
    for kept, ranked in zip(found, everything, strict=True):
        assert kept == [one for one in ranked if one.score >= of_labels[one.label]]
    model.save(tmp_path / "m")
    loaded = polyseme.load(tmp_path / "m")
    assert loaded.per_label
    assert loaded.label_thresholds_.tolist() == of_labels.tolist()
    measured = loaded.evaluate(records(TEST))["threshold"]
    assert measured["n_labels_with_own"] == n_own
    assert "n_labels_with_own" not in loaded.evaluate(records(TEST), threshold=0.5)["threshold"]
    assert loaded.suggest(TEST.texts[:20]) == model.suggest(TEST.texts[:20])
    assert model.evaluate(records(TEST))["threshold"]["precision"] > 0.8


def test_thresholds_of_labels_need_a_precision():
    with pytest.raises(ValueError, match="per_label needs a precision"):
        TextModel(per_label=True).check_parameters()


def test_reliability_is_that_of_probabilities_learned_from_other_documents():
    # Every second document is right and the others are wrong, whatever the scores.
    n_documents = 400
    labels = np.zeros((n_documents, 1), dtype=np.int32)
    scores = np.random.default_rng(0).random((n_documents, 1)).astype(np.float32)
    Y = sp.csr_array((np.arange(n_documents) % 2 == 0)[:, None].astype(np.float32))
    judged = Judged.judge(labels, scores, Y)
    for are_probabilities in (True, False):
        found = cross_checked(judged, are_probabilities=are_probabilities)
        assert found["brier_score"] > 0.8


# The documents that are held out


class Endless:
    """Documents that would take gigabytes if anyone kept them."""

    def __init__(self, n_documents, n_dots=0):
        self.n_documents, self.n_dots, self.n_walks = n_documents, n_dots, 0

    def __iter__(self):
        self.n_walks += 1
        for i in range(self.n_documents):
            text = f"word{i % 40} other{i % 7} " + "." * self.n_dots
            yield Record(text, (f"label{i % 40}",))


@pytest.mark.parametrize(
    ("n_documents", "n_held_out"), [(19, 0), (20, 2), (1000, 100), (10**6, 20_000)]
)
def test_of_few_documents_none_are_held_out_and_of_many_no_more_than_needed(
    n_documents, n_held_out
):
    assert TextModel(held_out=0.1).count_held_out(n_documents) == n_held_out


def test_few_documents_are_all_learned_from():
    corpus = make_corpus(19, seed=3)
    assert fitted(corpus).report_ == {}


@pytest.mark.slow
def test_texts_are_walked_through_twice_and_never_kept():
    corpus = Endless(3000, n_dots=10_000)  # 30 MB a walk
    tracemalloc.start()
    problem = read_problem(
        corpus, TextFeatures(), count_held_out=lambda n: n // 10, seed=0, progress=Progress(False)
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert corpus.n_walks == 2
    assert problem.X.n_rows == 3000
    assert problem.n_training == 2700
    assert peak < 12_000_000  # a batch of 512 texts and its shadows, not more


def test_held_out_documents_are_the_last_rows_and_keep_their_labels():
    corpus = Endless(100)
    problem = read_problem(
        corpus, TextFeatures(), count_held_out=lambda n: 30, seed=1, progress=Progress(False)
    )
    features = TextFeatures().fit(record.text for record in corpus)
    X = features.transform(record.text for record in corpus).toarray()
    rows = problem.X.to_scipy().toarray()
    own = {f"label{i}": features.vocabulary_.index(f"word{i}") for i in range(40)}
    for row, labels in zip(rows, map(problem.Y.row, range(100)), strict=True):
        (label,) = labels
        assert row[own[problem.labels[label]]] > 0
    assert sorted(rows.round(4).tolist()) == sorted(X.round(4).tolist())


def test_held_out_documents_look_as_new_ones_do():
    features = TextFeatures(ngrams=(1, 1)).fit(["a b", "a c", "b d"])
    training, new = features.rows(["a b"]), features.rows(["a c", "c d", "a b"])
    seen = as_new_documents(new, training).to_scipy().toarray()
    assert seen[:, 2:].sum() == 0
    np.testing.assert_allclose(np.linalg.norm(seen, axis=1), [1, 0, 1], atol=1e-6)


def test_held_out_documents_are_measured_as_new_ones_look(monkeypatch):
    n_texts, own_words = 100, [f"own{i}" for i in range(100)]
    corpus = [Record(f"common word{i % 5} {own_words[i]}", (f"l{i % 5}",)) for i in range(n_texts)]
    seen, predict = [], XRLinear.predict_top_k

    def spy(self, X, k):
        seen.append(X.to_scipy())
        return predict(self, X, k)

    problem = read_problem(
        corpus, TextFeatures(), count_held_out=lambda n: 30, seed=1, progress=Progress(False)
    )
    training = problem.X.rows(0, problem.n_training)
    classifier = XRLinear(**SMALL).fit(training, problem.Y.rows(0, problem.n_training))
    monkeypatch.setattr(XRLinear, "predict_top_k", spy)
    measure_held_out(classifier, problem, None)
    (measured,) = seen
    assert set(measured.indices) <= set(training.columns)
    np.testing.assert_allclose(sp.linalg.norm(measured, axis=1), 1, rtol=1e-5)
