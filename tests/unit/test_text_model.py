"""Text models: from texts to names, before and after they are saved."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from itertools import chain

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

import polyseme
from polyseme import TextModel, XRLinear
from polyseme.demo import make_corpus
from polyseme.machine.progress import Progress
from polyseme.tagger import tagger_for
from polyseme.text import Record, TextFeatures
from polyseme.text.evaluation import Judged, by_label_frequency, cross_checked
from polyseme.text.measuring import measure_held_out
from polyseme.text.problem import as_new_documents, read_problem

TRAINING, TEST = make_corpus(1200, seed=0), make_corpus(300, seed=1)
SMALL = {"max_leaf_size": 16, "beam_size": 4, "verbose": 0, "n_jobs": 2}


def fitted(corpus=TRAINING, **parameters):
    features = parameters.pop("features", TextFeatures(ngrams=(1, 1)))
    model = TextModel(features, XRLinear(**SMALL), verbose=0, **parameters)
    return model.fit(corpus.texts, corpus.labels)


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture
def saved(model, tmp_path):
    model.save(tmp_path / "model")
    return tmp_path / "model"


def records(corpus):
    return [
        Record(t, tuple(labels)) for t, labels in zip(corpus.texts, corpus.labels, strict=True)
    ]


# Suggestions


def test_suggestions_are_named_ordered_and_above_the_threshold(model):
    found = model.suggest(TEST.texts, limit=5)
    assert len(found) == 300
    for labels in found:
        scores = [one.score for one in labels]
        assert len(labels) <= 5
        assert scores == sorted(scores, reverse=True)
        assert all(model.threshold_ <= score <= 1 for score in scores)
        assert all(one.name == model.classifier_.label_names_[one.label] for one in labels)
    right = [labels[0].name in TEST.labels[i] for i, labels in enumerate(found) if labels]
    assert np.mean(right) > 0.7


def test_a_threshold_of_zero_gives_as_many_as_the_limit(model):
    assert all(len(labels) == 7 for labels in model.suggest(TEST.texts[:9], 7, threshold=0))
    assert model.suggest(TEST.texts[:9], 7, threshold=1) == [[]] * 9


def test_one_text_gets_the_same_as_among_others(model):
    together = model.suggest(TEST.texts[:20])
    for text, labels in zip(TEST.texts[:20], together, strict=True):
        (alone,) = model.suggest([text])
        assert [one.label for one in alone] == [one.label for one in labels]
        assert [one.score for one in alone] == pytest.approx([one.score for one in labels])


def test_odd_texts_are_taken(model):
    assert len(model.suggest(["", "zzz", "日本", "\n" * 99], threshold=0)) == 4
    assert model.suggest([]) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("a text",), "put the one text into a list"),
        ((["a"], 10, 1.5), "threshold must be a probability"),
        ((["a"], 0), "limit must be a positive whole number"),
        (([3],), "a text must be a str"),
    ],
)
def test_a_wrong_question_is_refused(model, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.suggest(*arguments)


# The report, calibration and threshold


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


def test_every_phase_of_the_training_is_timed(model):
    assert set(model.classifier_.phase_seconds_) < set(model.phase_seconds_)
    assert {
        "Counting words and labels",
        "Computing features",
        "Training without held-out documents",
        "Measuring held-out documents",
        "Choosing examples",
    } < set(model.phase_seconds_)


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


@pytest.mark.parametrize(
    ("n_documents", "n_held_out"), [(19, 0), (20, 2), (1000, 100), (10**6, 20_000)]
)
def test_of_few_documents_none_are_held_out_and_of_many_no_more_than_needed(
    n_documents, n_held_out
):
    assert TextModel(held_out=0.1).count_held_out(n_documents) == n_held_out


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
    assert loaded.suggest(TEST.texts[:20]) == model.suggest(TEST.texts[:20])
    assert model.evaluate(records(TEST))["threshold"]["precision"] > 0.8


def test_thresholds_of_labels_need_a_precision():
    with pytest.raises(ValueError, match="per_label needs a precision"):
        TextModel(per_label=True).check_parameters()


def test_so_many_labels_as_are_wanted_come_in_any_case(model):
    for found in model.suggest(TEST.texts[:20], threshold=1, at_least=2):
        assert len(found) == 2
    some = model.suggest(TEST.texts[:20], at_least=1)
    usual = model.suggest(TEST.texts[:20])
    assert all(one[: max(1, len(other))] == one for one, other in zip(some, usual, strict=True))
    with pytest.raises(ValueError, match="at_least must be from 0 to the limit, 3"):
        model.suggest(["a bat"], limit=3, at_least=4)


def test_records_are_suggested_for_one_by_one_with_their_ids(model):
    named = [Record(text, (), f"no. {i}") for i, text in enumerate(TEST.texts[:5])]
    found = list(model.suggest_records(iter(named), limit=2, at_least=1))
    assert [(one.row, one.id) for one in found] == [(i, f"no. {i}") for i in range(5)]
    expected = model.suggest(TEST.texts[:5], limit=2, at_least=1)
    assert [one.labels for one in found] == expected


@pytest.mark.slow
def test_without_refit_the_model_is_the_one_that_was_measured():
    model = fitted(refit=False)
    assert model.classifier_.n_documents_ == 1080
    assert model.report_["refitted"] is False


@pytest.mark.slow
def test_without_held_out_documents_there_is_no_report():
    model = fitted(held_out=0)
    assert model.report_ == {}
    assert model.calibration_.method == "none"
    assert model.threshold_ == 0
    assert model.classifier_.n_documents_ == 1200
    assert all(0 <= one.score <= 1 for one in model.suggest(TEST.texts[:1])[0])


def test_few_documents_are_all_learned_from():
    corpus = make_corpus(19, seed=3)
    assert fitted(corpus).report_ == {}


def test_a_corpus_of_one_label_or_one_document_just_works():
    model = TextModel(classifier=XRLinear(verbose=0), verbose=0)
    assert model.fit(["a cat"], [["x"]]).suggest(["cat"], threshold=0)[0][0].name == "x"
    model.fit([f"a cat {i}" for i in range(40)], [["x"]] * 40)
    assert model.suggest(["cat"])[0][0].name == "x"


@pytest.mark.slow
def test_the_same_seed_gives_the_same_model_for_any_number_of_threads(model):
    again = TextModel(
        TextFeatures(ngrams=(1, 1)), XRLinear(**{**SMALL, "n_jobs": 1}), verbose=0
    ).fit(TRAINING.texts, TRAINING.labels)
    assert again.suggest(TEST.texts) == model.suggest(TEST.texts)
    assert again.report_ == model.report_


def test_labels_that_the_model_does_not_know_count_as_not_found(model):
    known = records(TEST)[:50]
    odd = [Record(r.text, (*r.labels, "unheard of")) for r in known]
    with_unknown, without = model.evaluate(odd), model.evaluate(known)
    assert with_unknown["n_unknown_labels"] == without["n_unknown_labels"] + 1
    assert with_unknown["accuracy"]["P@1"] == without["accuracy"]["P@1"]
    assert with_unknown["accuracy"]["R@10"] < without["accuracy"]["R@10"]
    with pytest.raises(ValueError, match="nothing to measure"):
        model.evaluate([Record("text", ())])


# Learning in a stream


class Endless:
    """Documents that would take gigabytes if anyone kept them."""

    def __init__(self, n_documents, n_dots=0):
        self.n_documents, self.n_dots, self.n_walks = n_documents, n_dots, 0

    def __iter__(self):
        self.n_walks += 1
        for i in range(self.n_documents):
            text = f"word{i % 40} other{i % 7} " + "." * self.n_dots
            yield Record(text, (f"label{i % 40}",))


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


def test_texts_without_labels_are_left_out_and_counted():
    texts, labels = [*TRAINING.texts[:40], "untagged"], [*TRAINING.labels[:40], []]
    model = TextModel(classifier=XRLinear(verbose=0), verbose=0).fit(texts, labels)
    assert model.n_without_labels_ == 1
    assert model.classifier_.n_documents_ == 40


@pytest.mark.parametrize(
    ("texts", "labels", "sentence"),
    [
        ([], [], "there are no documents"),
        (["a"], [[]], "none of the 1 documents has a label"),
        (["a"], [["x"], ["y"]], "more lists of labels than texts"),
        (["a", "b"], [["x"]], "more texts than lists"),
        (["a"], ["x"], "must be a list of str, not 'x'"),
        (["a"], [[3]], "must be a list of str"),
        (iter(["a"]), [["x"]], "texts can be walked through only once"),
        (["a"], iter([["x"]]), "labels can be walked through only once"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(texts, labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        TextModel(verbose=0).fit(texts, labels)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [({"held_out": 1}, "held_out must be"), ({"precision": 0}, "precision must be")],
)
def test_parameters_that_make_no_sense_are_refused(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        TextModel(verbose=0, **parameters).fit(["a"], [["x"]])


def test_a_fit_that_fails_leaves_the_earlier_model(model):
    before = model.suggest(TEST.texts[:5])
    with pytest.raises(ValueError, match="no documents"):
        model.fit([], [])
    assert model.suggest(TEST.texts[:5]) == before


# Names of labels that are URIs


@pytest.mark.slow
def test_a_vocabulary_gives_names_and_keeps_uris(tmp_path):
    uris = [[f"http://x/{name}" for name in row] for row in TRAINING.labels]
    names = {uri: uri.removeprefix("http://x/") for row in uris for uri in row}
    del names["http://x/bat"]
    model = TextModel(TextFeatures(ngrams=(1, 1)), XRLinear(**SMALL), verbose=0)
    model.fit(TRAINING.texts, uris, label_names=names)
    model.save(tmp_path / "m")
    loaded = polyseme.load(tmp_path / "m")
    for one in loaded.suggest(TEST.texts[:1], threshold=0)[0]:
        assert one.uri == f"http://x/{one.name}" or one.name == one.uri == "http://x/bat"
    assert loaded.label_number("tank") == loaded.label_number("http://x/tank")
    for label in ("http://x/tank", "tank"):
        measured = loaded.evaluate([Record(TEST.texts[0], (label,))])
        assert measured["n_unknown_labels"] == 0


def test_senses_list_rows_of_a_corpus(model):
    tagger = tagger_for(model)
    found = tagger.senses("tank", records(TRAINING))
    rows = [row for sense in found for row in sense.documents]
    assert rows
    assert all("tank" in TRAINING.labels[row] for row in rows)
    for sense in found:
        beginnings = [" ".join(TRAINING.texts[row].split())[:150] for row in sense.documents]
        assert [text[:150] for text in sense.examples[: len(beginnings)]] == beginnings
    assert len(found) == 2
    assert all(isinstance(word, str) for word, _ in found[0].words)
    assert all(sense.documents == [] for sense in tagger.senses("tank", []))


# Among scikit-learn's tools


def small_text_model(**parameters):
    features = TextFeatures(ngrams=(1, 1))
    return TextModel(features, XRLinear(**SMALL), verbose=0, **parameters)


def test_fit_leaves_the_parameters_as_they_were():
    model = TextModel(held_out=0.2, verbose=0)
    before = model.get_params()
    model.fit(TRAINING.texts[:60], TRAINING.labels[:60])
    assert model.get_params() == before
    assert (model.features, model.classifier) == (None, None)
    given = small_text_model()
    features, classifier = given.features, given.classifier
    given.fit(TRAINING.texts[:60], TRAINING.labels[:60])
    assert (given.features, given.classifier) == (features, classifier)
    assert not hasattr(classifier, "clusters_")
    assert not hasattr(features, "idf_")


def test_a_clone_has_the_parameters_but_not_the_training(model):
    twin = clone(model)
    assert twin.get_params()["classifier__max_leaf_size"] == 16
    assert repr(model).startswith(f"{twin!r} of ")
    assert not hasattr(twin, "classifier_")
    for use in (
        lambda: twin.suggest(["a"]),
        lambda: twin.predict(["a"]),
        lambda: twin.score(["a"], [["x"]]),
        lambda: twin.evaluate([Record("a", ("x",))]),
        lambda: twin.label_number("x"),
    ):
        with pytest.raises(NotFittedError, match="This TextModel is not fitted yet"):
            use()


def test_a_copy_of_a_trained_model_suggests_the_same(model):
    twin = pickle.loads(pickle.dumps(model))
    assert twin.suggest(TEST.texts[:20]) == model.suggest(TEST.texts[:20])
    assert repr(copy.deepcopy(model)) == repr(model)


def test_a_loaded_model_has_the_parameters_that_it_was_trained_with(model, saved):
    loaded = polyseme.load(saved, n_jobs=2).set_params(verbose=0, classifier__verbose=0)
    assert repr(loaded) == repr(model)
    again = loaded.fit(TRAINING.texts, TRAINING.labels)
    assert again.suggest(TEST.texts[:50]) == model.suggest(TEST.texts[:50])


def test_predictions_are_the_names_that_are_suggested(model):
    predicted = model.predict(np.array(TEST.texts[:30]))
    assert predicted.shape == (30,)
    suggested = model.suggest(TEST.texts[:30])
    assert predicted.tolist() == [[one.name for one in labels] for labels in suggested]
    assert model.predict([]).tolist() == []


def test_the_score_is_p_at_1_as_a_fraction(model):
    measured = model.evaluate(records(TEST))["accuracy"]["P@1"]
    assert model.score(TEST.texts, TEST.labels) == pytest.approx(measured / 100)
    odd = [["unheard of"], *TEST.labels[1:]]
    assert model.score(TEST.texts, odd) <= model.score(TEST.texts, TEST.labels)
    assert model.score(TEST.texts[:3], [["unheard of"], [], ["so was this"]]) == 0
    with pytest.raises(ValueError, match="there are no documents"):
        model.score([], [])


def test_classes_are_the_names_of_the_labels(model):
    assert model.classes_.tolist() == list(model.classifier_.label_names_)


@pytest.mark.slow
def test_cross_validation_and_a_grid_search_over_both_parts():
    texts, labels = TRAINING.texts[:300], [list(row) for row in TRAINING.labels[:300]]
    labels[7] = ["seen once"]
    plain = small_text_model(examples=0)
    assert cross_val_score(plain, texts, labels, cv=3, error_score="raise").min() > 0.3
    predicted = cross_val_predict(plain, texts, labels, cv=3)
    assert len(predicted) == 300
    assert all(set(row) <= set(chain.from_iterable(labels)) for row in predicted)
    grid = {"classifier__copies": [1, 2], "features__ngrams": [(1, 1), (1, 2)]}
    search = GridSearchCV(TextModel(examples=0, verbose=0), grid, cv=2, error_score="raise")
    search.fit(texts, labels)
    assert search.best_score_ > 0.3
    assert search.best_estimator_.features_.ngrams == search.best_params_["features__ngrams"]
    assert search.predict(TEST.texts[:2]).shape == (2,)


def test_old_names_of_attributes_tell_the_new_ones(model):
    for name in ("threshold", "report", "reading", "label_uris", "training_data"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; it is called {name}_"):
            getattr(model, name)
    with pytest.raises(AttributeError, match="'TextModel' object has no attribute 'nonsense'"):
        _ = model.nonsense


def test_a_notebook_shows_both_parts_and_whether_it_was_trained(model):
    assert "<span>Fitted</span>" in model._repr_html_()
    assert "<span>Not fitted</span>" in clone(model)._repr_html_()
    assert all(name in model._repr_html_() for name in ("TextFeatures", "XRLinear", "held_out"))


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"classifier": "linear"}, "classifier must be None or a PartitionedClassifier"),
        ({"features": 3}, "features must be None or a TextFeatures"),
        ({"refit": "no"}, "refit must be True or False"),
        ({"examples": -1}, "examples must be a whole number from 0"),
        ({"precision": "high"}, "precision must be None or a share above 0 and at most 1"),
        ({"classifier": XRLinear(copies=0)}, "copies must be a whole number from 1"),
    ],
)
def test_parameters_are_checked_before_anything_is_read(parameters, sentence):
    def texts():
        raise AssertionError("it was read")
        yield

    with pytest.raises(ValueError, match=sentence):
        TextModel(**parameters).fit_records(texts())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"limit": "3"}, "limit must be"),
        ({"limit": 0}, "limit must be"),
        ({"threshold": "a"}, "thr"),
    ],
)
def test_a_wrong_limit_or_threshold_is_named(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        fitted(make_corpus(100, seed=2)).suggest(["fish"], **arguments)


@pytest.mark.slow
@pytest.mark.parametrize("n_texts", [150, 190, 400])
def test_the_refit_has_the_order_that_was_measured_or_none(n_texts):
    texts, labels = TRAINING.texts[:n_texts], TRAINING.labels[:n_texts]
    model = TextModel(classifier=XRLinear(verbose=0), verbose=0).fit(texts, labels)
    is_ordered = model.classifier_.ordering_ is not None
    found = model.evaluate([Record(*pair) for pair in zip(TEST.texts, TEST.labels, strict=True)])
    assert found["reliability"]["calibration_error"] < 0.25
    assert is_ordered == (n_texts == 400)
