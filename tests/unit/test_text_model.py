"""Text models: what they suggest and learn from, and their place among scikit-learn's tools."""

from __future__ import annotations

import copy
import pickle
from itertools import chain

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

import polyseme
from polyseme import TextModel, XRLinear
from polyseme.demo import make_corpus
from polyseme.tagger import tagger_for
from polyseme.text import Record, TextFeatures
from tests import small_text_models
from tests.small_text_models import SMALL, TEST, TRAINING, fitted, records

model = small_text_models.model


@pytest.fixture
def saved(model, tmp_path):
    model.save(tmp_path / "model")
    return tmp_path / "model"


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
        (([3],), r"text 0 must be a str, not int \(3\)"),
        ((["a", float("nan")],), r"text 1 must be a str, not float \(nan\)"),
        ((None,), "texts must be a list, one entry per document, not None"),
        ((5,), "texts must be a list, one entry per document, not int"),
        (({"a": 1},), "texts must be a list, one entry per document, not dict"),
    ],
)
def test_a_wrong_question_is_refused(model, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.suggest(*arguments)


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


# Learning


def test_every_phase_of_the_training_is_timed(model):
    assert set(model.classifier_.phase_seconds_) < set(model.phase_seconds_)
    assert {
        "Counting words and labels",
        "Computing features",
        "Training without held-out documents",
        "Measuring held-out documents",
        "Choosing examples",
    } < set(model.phase_seconds_)


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


def test_texts_without_labels_are_left_out_and_counted():
    texts, labels = [*TRAINING.texts[:40], "untagged"], [*TRAINING.labels[:40], []]
    model = TextModel(classifier=XRLinear(verbose=0), verbose=0).fit(texts, labels)
    assert model.n_without_labels_ == 1
    assert model.classifier_.n_documents_ == 40


def test_labels_without_a_text_are_doubted_aloud():
    texts, labels = [*TRAINING.texts[:40], " ", ""], [*TRAINING.labels[:40], ["a"], ["b"]]
    with pytest.warns(UserWarning, match=r"^2 documents with labels had no text; is a column"):
        TextModel(classifier=XRLinear(verbose=0), verbose=0).fit(texts, labels)


@pytest.mark.parametrize(
    ("texts", "labels", "sentence"),
    [
        ([], [], "there are no documents"),
        (["a"], [[]], "none of the 1 documents has a label"),
        (["a"], [["x"], ["y"]], "more lists of labels than texts"),
        (["a", "b"], [["x"]], "more texts than lists"),
        (["a"], ["x"], "must be a list of str, not 'x'"),
        (["a"], [[3]], "must be a list of str"),
        (["a", float("nan")], [["x"], ["y"]], r"text 1 must be a str, not float \(nan\)"),
        (["a", "b"], [["x"], float("nan")], "the labels of text 1 must be a list of str, not nan"),
        (["a b", "c d"], [["x"], None], "the labels of text 1 must be a list of str, not None"),
        (None, [["x"]], "texts must be a list, one entry per document, not None"),
        (["a"], {"x": ["a"]}, "labels must be a list, one entry per document, not dict"),
        (iter(["a"]), [["x"]], "texts can be walked through only once"),
        (["a"], iter([["x"]]), "labels can be walked through only once"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(texts, labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        TextModel(verbose=0).fit(texts, labels)


def test_a_data_frame_in_place_of_one_of_its_columns_is_refused(model):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["a cat", "a dog"], "label": [["x"], ["y"]]})
    with pytest.raises(ValueError, match=r"not DataFrame; give one of its columns, .*'text'"):
        model.suggest(frame[["text"]])
    with pytest.raises(ValueError, match=r"texts must be a list.*df\['text'\]"):
        TextModel(verbose=0).fit(frame[["text"]], frame["label"])
    with pytest.raises(ValueError, match=r"labels must be a list.*df\['label'\]"):
        TextModel(verbose=0).fit(frame["text"], frame[["label"]])
    assert len(model.suggest(frame["text"])) == 2


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
    assert repr(loaded.vocabulary_).startswith(f"<KeptVocabulary: {len(names)} of ")
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
    assert all(name in model._repr_html_() for name in ("TextFeatures", "XRLinear"))


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
    "ask",
    [
        lambda model: TextModel().fit_records("new.csv"),
        lambda model: TextModel().estimate_records("new.csv"),
        lambda model: model.suggest_records("new.csv"),
        lambda model: model.evaluate("new.csv"),
        lambda model: model.update_records("new.csv"),
        lambda model: model.update(["a"], [["x"]], old="new.csv"),
    ],
)
def test_the_name_of_a_file_is_answered_with_what_opens_it(model, ask):
    with pytest.raises(ValueError, match=r"give polyseme.text.open_corpus\('new.csv'\)"):
        ask(model)
