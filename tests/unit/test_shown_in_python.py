"""What people see in Python: suggestions as a data frame, explanations, and what is printed."""

from __future__ import annotations

import sys

import pytest

from polyseme import TextModel, XRLinear
from polyseme.demo import make_corpus
from polyseme.suggestions import SuggestedSense, Suggestion, as_frame
from polyseme.tagger import tagger_for

CORPUS = make_corpus(700, seed=0)
TANK = "The tank needs gravel and a filter."


@pytest.fixture(scope="module")
def model():
    classifier = XRLinear(max_leaf_size=32, verbose=0, n_jobs=2)
    return TextModel(classifier=classifier, verbose=0).fit(CORPUS.texts, CORPUS.labels)


def test_a_data_frame_has_a_row_for_each_suggestion_and_for_a_text_without_any():
    pytest.importorskip("pandas")
    tank = Suggestion(7, "tank", 0.5, "u:7", SuggestedSense(0, "coral"))
    frame = as_frame([[tank, Suggestion(8, 8, 0.25)], []])
    assert list(frame.columns) == ["document", "name", "score", "sense", "uri", "label"]
    assert frame["document"].tolist() == [0, 0, 1]
    assert frame.iloc[0].tolist() == [0, "tank", 0.5, "coral", "u:7", 7]
    assert frame["name"][1] == "8"
    assert frame.iloc[2, 1:].isna().all()
    assert len(as_frame([])) == 0


def test_without_pandas_a_sentence_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ValueError, match="needs pandas; install it"):
        as_frame([])


def test_models_of_texts_and_their_taggers_give_the_same_data_frame(model):
    pytest.importorskip("pandas")
    frame = model.suggest_frame([TANK], 3, 0)
    assert frame["name"].tolist() == [one.name for one in model.suggest([TANK], 3, 0)[0]]
    assert frame.equals(tagger_for(model).suggest_frame([TANK], 3, 0))


def test_an_explanation_has_the_scores_that_are_suggested(model):
    found = model.explain(TANK, n_labels=2, n_words=3)
    suggested = model.suggest([TANK], 2, 0)[0]
    assert [one.name for one in found.labels] == [one.name for one in suggested]
    assert [one.score for one in found.labels] == pytest.approx([s.score for s in suggested])
    first, second = str(found).splitlines()
    assert first.startswith(f"{suggested[0].score:.3f} tank")
    assert "gravel +" in first
    assert suggested[1].name in second
    assert repr(found).startswith("<Explanation of tank 0.")


def test_labels_to_explain_are_given_as_people_type_them(model):
    found = model.explain(TANK, ["MERCURY", model.label_number("tank")])
    assert [one.name for one in found.labels] == ["mercury", "tank"]
    with pytest.raises(ValueError, match="labels must be a list"):
        model.explain(TANK, "tank")
    with pytest.raises(ValueError, match="text must be one text"):
        model.explain([TANK])


def test_what_is_printed_says_something(model):
    counted = f" of 700 documents with {model.classifier_.n_labels_} labels"
    assert counted in repr(model)
    assert f"; P@1 {model.report_['accuracy']['P@1']:.1f}%" in repr(model)
    assert counted in repr(model.classifier_)
    assert repr(model.classifier) == repr(XRLinear(max_leaf_size=32, verbose=0, n_jobs=2))
    assert repr(tagger_for(model)) == f"<Tagger: {model!r}>"
    tank = Suggestion(7, "tank", 0.5, sense=SuggestedSense(0, "coral"))
    assert repr(tank) == "<Suggestion 0.500 tank (coral)>"
    tagger = tagger_for(model)
    (label, *_) = tagger.ambiguous_labels(1)
    assert repr(label).startswith(f"<{label.name}, ambiguous with ")
    (sense, *_) = tagger.senses(label.name)
    assert f"<Sense {sense.name!r}, " in repr(sense)
    assert "<Only meaning, 100% of documents" in repr(tagger.senses("penguin"))
