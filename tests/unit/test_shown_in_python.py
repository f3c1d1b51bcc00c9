"""What people see in Python: suggestions as a data frame, explanations, and what is printed."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import pytest

from polyseme import LabelHierarchy, TextModel, XRLinear
from polyseme.demo import make_corpus
from polyseme.senses.explain import Explanation
from polyseme.suggestions import SuggestedSense, Suggestion, as_frame
from polyseme.tagger import tagger_for
from polyseme.text.problem import Pairs

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


def test_large_parts_of_a_model_are_printed_in_a_line(model):
    fitted, large = model.classifier_, 700
    parts = [value for name, value in vars(fitted).items() if name.endswith("_")]
    parts += [model.calibration_, model.examples_, *model.explain(TANK).labels]
    dull = {"label_counts_", "slot_documents_", "trained_parameters_", "phase_seconds_"}
    dull_ones = [getattr(fitted, name) for name in dull]
    for part in parts:
        if not any(part is one for one in dull_ones):
            assert len(repr(part)) < large, repr(part)
    n_labels, n_slots = fitted.n_labels_, len(fitted.clusters_.labels)
    assert repr(fitted.clusters_).startswith(f"<LabelClusters: {n_labels} labels in {n_slots}")
    assert repr(fitted.tree_).endswith(f"root to clusters: 1, {fitted.tree_.n_clusters}>")
    assert f"<SenseLayer: {fitted.senses_.n_shown} of " in repr(fitted.senses_)
    assert f"weights=LinearWeights(slot_starts=int64[{fitted.tree_.n_clusters + 1}]" in repr(
        fitted.ranker_
    )
    assert "knots=8 items" in repr(fitted.ordering_)
    hierarchy = LabelHierarchy.from_nested([["a", "b"], ["c"]])
    assert repr(hierarchy) == "<LabelHierarchy: 3 labels at 3 nodes>"


def test_an_estimate_says_what_a_training_would_take(model):
    found = TextModel(classifier=model.classifier, verbose=0).estimate_records(
        Pairs(CORPUS.texts, CORPUS.labels)
    )
    assert re.fullmatch(
        r"<TrainingEstimate: about [\d.]+ s, [\d.]+ \w+ of memory, [\d.]+ \w+ on disk; "
        r"from \d+ of 700 documents\.>",
        repr(found),
    )
    assert repr(replace(found, available_bytes=1)).endswith("It does not fit into memory.>")


def test_an_explanation_is_a_table_in_a_notebook_with_names_as_text(model):
    found = model.explain(TANK, ["tank", "mercury"], n_words=5)
    shown = found._repr_html_()
    assert shown.count("<tr>") == 3
    assert "tank<br><small>" in shown
    assert 'title="-' in shown
    assert "<s>" in shown
    assert "not reached" in shown or found.labels[1].score is not None
    (label,) = model.explain(TANK, ["tank"]).labels
    harmful = Explanation([], [replace(label, name="<script>")])._repr_html_()
    assert "&lt;script&gt;" in harmful
    assert "<script>" not in harmful
    assert Explanation([], [])._repr_html_() == "<p>No label was reached.</p>"
