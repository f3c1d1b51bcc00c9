"""One face for models of texts and of matrices."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.preprocessing import MultiLabelBinarizer

from polyseme import TextModel, XRLinear, metrics
from polyseme.demo import make_corpus
from polyseme.suggestions import SuggestedSense, Suggestion, named_suggestions
from polyseme.tagger import open_tagger, tagger_for
from tests.without_weights import without_weights

CORPUS = make_corpus(500, seed=0)
TEXTS, LABELS = CORPUS.texts, CORPUS.labels


@pytest.fixture(scope="module")
def text_model():
    classifier = XRLinear(branching=8, max_leaf_size=16, assignment="coverage", verbose=0)
    model = TextModel(classifier=classifier, verbose=0)
    return model.fit(TEXTS, LABELS, label_names={"tank": "Tank (any)"})


@pytest.fixture(scope="module")
def of_texts(text_model):
    return tagger_for(text_model)


@pytest.fixture(scope="module")
def of_matrices(of_texts):
    return tagger_for(of_texts.classifier)


def test_texts_and_their_features_get_the_same_suggestions(of_texts):
    by_text = of_texts.suggest(TEXTS[:5], limit=4)
    assert by_text == of_texts.suggest(of_texts.rows(TEXTS[:5]), limit=4)
    assert all(one.score >= of_texts.threshold for found in by_text for one in found)
    assert len(of_texts.suggest(TEXTS[:1], 4, threshold=0)[0]) == 4


def test_suggestions_of_texts_are_those_of_the_model_with_its_probabilities(of_texts, text_model):
    assert of_texts.suggest(TEXTS[:5], 4) == text_model.suggest(TEXTS[:5], 4)
    _, scores = of_texts.rank(TEXTS[:5], 4)
    assert (of_texts.shown(scores) == text_model.calibration_(scores)).all()
    assert (of_texts.shown(scores) != scores).any()


def test_suggestions_of_matrices_are_what_the_estimator_predicts(of_texts, of_matrices):
    X = of_texts.rows(TEXTS[:5])
    labels, scores = of_matrices.classifier.predict_top_k(X, 3)
    names = of_matrices.classifier.label_names_
    for i, found in enumerate(of_matrices.suggest(X, 3)):
        assert [(one.label, one.name, one.score, one.uri) for one in found] == [
            (label, names[label], score, None)
            for label, score in zip(labels[i].tolist(), scores[i].tolist(), strict=True)
        ]
    strong = of_matrices.suggest(X, 3, threshold=1.0)
    assert [[one for one in found if one.score >= 1] for found in of_matrices.suggest(X, 3)] == (
        strong
    )


def test_a_label_is_found_by_name_uri_and_number(of_texts, of_matrices):
    number = of_texts.label_number("Tank (any)")
    assert of_texts.label_number("tank") == number  # what the training data call it
    assert of_texts.label_number(str(number)) == of_texts.label_number(number) == number
    assert of_texts.label_name(number) == "Tank (any)"
    of_tanks = [text for text, labels in zip(TEXTS, LABELS, strict=True) if "tank" in labels]
    suggested = {one.name: one.uri for found in of_texts.suggest(of_tanks) for one in found}
    assert suggested["Tank (any)"] == "tank"
    assert of_matrices.label_number("tank") == of_matrices.label_number("Tank (any)")
    with pytest.raises(ValueError, match="no label named 'tan'"):
        of_matrices.label_number("tan")


def test_labels_are_found_by_a_part_of_their_name(of_texts):
    n_found, (first, *_) = of_texts.labels.find("tank")
    assert n_found == 1
    assert first.n_senses == len(of_texts.senses(first.label)) == 2
    assert first.n_clusters == of_texts.classifier.clusters_.copies[first.label]
    assert first.n_documents == sum("tank" in labels for labels in LABELS)


def test_evaluating_matrices_gives_the_figures_of_the_metrics(of_texts, of_matrices):
    X, names = of_texts.rows(TEXTS), list(of_texts.model.label_uris_)
    Y = MultiLabelBinarizer(classes=names, sparse_output=True).fit_transform(LABELS)
    report = of_matrices.evaluate(X, Y, threshold=0.5)
    top, _ = of_matrices.classifier.predict_top_k(X, 10)
    plain = metrics.evaluate(top, Y)
    assert {name: report["accuracy"][name] for name in plain} == pytest.approx(plain)
    assert report["n_documents"] == len(TEXTS)
    assert 0 < report["threshold"]["precision"] <= 1
    assert report["threshold"]["threshold"] == 0.5
    by_text = of_texts.evaluate(TEXTS, LABELS)
    assert by_text["accuracy"] == pytest.approx(report["accuracy"])


def test_the_constants_of_propensities_count_for_matrices_and_for_texts(of_texts, of_matrices):
    X, names = of_texts.rows(TEXTS), list(of_texts.model.label_uris_)
    wrong = LABELS[::-1]  # so that some are missed
    Y = MultiLabelBinarizer(classes=names, sparse_output=True).fit_transform(wrong)
    usual, other = (
        of_matrices.evaluate(X, Y, **constants)["accuracy"]
        for constants in ({}, {"a": 0.6, "b": 2.6})
    )
    assert other == pytest.approx(of_texts.evaluate(TEXTS, wrong, a=0.6, b=2.6)["accuracy"])
    assert other["P@5"] == usual["P@5"]
    assert other["PSP@5"] != pytest.approx(usual["PSP@5"])


def test_senses_show_texts_of_their_documents_or_those_that_were_kept(of_texts, of_matrices):
    def beginning(row):
        return " ".join(TEXTS[row].split())[:100]

    kept, number = of_texts.senses("tank"), of_texts.label_number("tank")
    assert len(kept) == 2
    assert [sense.documents for sense in kept] == [[] for _ in kept]
    assert [s.examples for s in kept] == [of_texts.examples(number, place) for place in (0, 1)]
    assert of_texts.examples(number) == [text for s in kept for text in s.examples]
    assert of_matrices.examples(number) == of_matrices.examples(number, 0) == []
    assert all(len(sense.examples) == 3 for sense in kept)
    listed = of_texts.senses("tank", TEXTS, LABELS, n_documents=3)
    assert any(sense.documents for sense in listed)
    for sense in listed:
        assert all("tank" in LABELS[row] for row in sense.documents)
        if sense.documents:
            assert [s[:100] for s in sense.examples] == [beginning(i) for i in sense.documents]
    Y = MultiLabelBinarizer(classes=list(of_texts.model.label_uris_)).fit_transform(LABELS)
    by_rows = of_matrices.senses("Tank (any)", of_texts.rows(TEXTS), Y, texts=TEXTS, n_documents=3)
    assert [s.documents for s in by_rows] == [s.documents for s in listed]
    assert [s.documents for s in of_texts.senses("tank", [])] == [[] for _ in kept]
    for n_documents in (1, 7):
        found = of_texts.senses("tank", TEXTS, LABELS, n_documents=n_documents)
        assert max(len(sense.documents) for sense in found) == n_documents


def test_a_text_and_its_row_have_one_explanation(of_texts, of_matrices):
    row = of_texts.rows(TEXTS[:1])
    assert of_texts.explain(TEXTS[0]) == of_texts.explain(row) == of_matrices.explain(row)
    assert of_texts.spans(TEXTS[0])
    assert of_matrices.spans(TEXTS[0]) == []


def test_what_is_only_of_texts_is_empty_for_matrices(of_texts, of_matrices):
    assert (of_texts.takes_texts, of_matrices.takes_texts) == (True, False)
    assert of_texts.about_texts()["report"] == of_texts.report
    assert of_matrices.about_texts() == of_matrices.report == {}
    assert of_matrices.threshold is None
    named = {"n_named_labels": of_texts.n_named_labels}  # of a vocabulary, which goes with texts
    assert of_texts.sizes() == of_matrices.sizes() | named
    sizes = of_texts.classifier.clusters_.sizes
    assert of_texts.sizes()["cluster_sizes"] == {
        "smallest": sizes.min(),
        "median": np.median(sizes),
        "largest": sizes.max(),
    }
    assert {"Computing features"} <= set(of_texts.phase_seconds)
    assert of_texts.added_since_report is None


def test_a_saved_model_opens_as_its_kind(of_texts, of_matrices, tmp_path):
    for name, tagger in (("texts", of_texts), ("matrices", of_matrices)):
        tagger.model.save(tmp_path / name)
        opened = open_tagger(tmp_path / name, n_jobs=1)
        assert opened.takes_texts == tagger.takes_texts
        X = of_texts.rows(TEXTS[:3])
        assert opened.suggest(X) == tagger.suggest(X)


def test_a_label_with_one_meaning_shows_its_own_examples(of_texts, of_matrices):
    one = next(label for label in range(9) if not of_texts.classifier.senses_.senses_of(label))
    (found,) = of_texts.senses(one)
    assert found.name == ""
    assert found.examples == of_texts.examples(one) != []
    assert of_matrices.senses(of_texts.label_name(one))[0].examples == []


def test_without_data_a_model_of_matrices_lists_typical_training_rows(of_texts, of_matrices):
    kept = of_matrices.senses("Tank (any)", n_documents=4)
    layer = of_matrices.classifier.senses_
    for sense, number in zip(kept, layer.senses_of(of_texts.label_number("tank")), strict=True):
        assert sense.documents == layer.typical[number][:4].tolist()


def test_without_weights_there_are_the_same_senses_and_paths_without_margins(of_texts):
    full, number = tagger_for(of_texts.classifier), of_texts.label_number("tank")
    bare = tagger_for(without_weights(copy.copy(full.classifier)))
    row = of_texts.rows(TEXTS[:1])
    for mine, theirs in zip(bare.senses(number), full.senses(number), strict=True):
        assert (mine.name, mine.share, mine.words) == (theirs.name, theirs.share, theirs.words)
    assert bare.suggest(row)[0][0].sense == full.suggest(row, threshold=0)[0][0].sense

    mine, theirs = bare.explain(row), full.explain(row)
    assert [one.label for one in mine.labels] == [one.label for one in theirs.labels]
    assert mine.levels[-1] == theirs.levels[-1]
    assert {one.score for level in mine.levels[:-1] for one in level} == {None}
    for one, other in zip(mine.labels, theirs.labels, strict=True):
        assert one.score == pytest.approx(other.score)
        assert one.not_reached == other.not_reached
        for slot, weighed in zip(one.slots, other.slots, strict=True):
            assert slot.margin is None
            assert [step.node for step in slot.path] == [step.node for step in weighed.path]
            assert slot.path[-1].score == weighed.path[-1].score
            assert {step.margin for step in slot.path} == {None}


def test_without_weights_and_without_a_tree_a_document_is_explained_as_well():
    X, Y = np.eye(3), np.eye(3, dtype=int)
    model = XRLinear(verbose=0).fit(X, Y)
    assert model.tree_.n_levels == 0
    found = tagger_for(without_weights(model)).explain(X[:1])
    assert found.labels[0].label == 0
    assert found.labels[0].slots[0].path == []


def test_a_threshold_of_zero_leaves_out_scores_below_it():
    labels, scores = np.array([[2, 0, 1, -1]], dtype=np.int32), np.array([[1.5, 0.0, -0.5, 0.0]])
    model = XRLinear(verbose=0).fit(np.eye(3), np.eye(3, dtype=int))
    (all_of_them,) = named_suggestions(model, labels, scores, None)
    assert [one.label for one in all_of_them] == [2, 0, 1]
    (found,) = named_suggestions(model, labels, scores, 0.0)
    assert [one.label for one in found] == [2, 0]


def test_a_suggestion_as_json_keeps_six_digits_its_uri_and_its_sense():
    plain = Suggestion(3, "tank", 0.123456789)
    assert plain.as_json() == {"label": 3, "name": "tank", "score": 0.123457}
    assert plain._replace(uri="urn:3").as_json() == {**plain.as_json(), "uri": "urn:3"}
    named = plain._replace(sense=SuggestedSense(1, "war, army"))
    assert named.as_json() == {**plain.as_json(), "sense": {"place": 1, "name": "war, army"}}


def test_without_held_out_documents_scores_are_not_called_probabilities(of_texts):
    classifier = XRLinear(max_leaf_size=16, verbose=0)
    model = TextModel(classifier=classifier, held_out=0, verbose=0).fit(TEXTS[:60], LABELS[:60])
    assert model.classifier_.ordering_ is None
    assert not tagger_for(model).has_probabilities
    assert of_texts.has_probabilities


def test_scores_of_a_learned_order_are_probabilities_of_texts_and_of_matrices(of_matrices):
    classifier = XRLinear(max_leaf_size=16, senses="none", verbose=0)
    of_texts = tagger_for(
        TextModel(classifier=classifier, held_out=0, verbose=0).fit(TEXTS, LABELS)
    )
    assert of_texts.model.calibration_.method == "none"
    for tagger in (of_texts, of_matrices):
        assert tagger.has_probabilities
        n_documents = tagger.classifier.ordering_.n_documents
        assert tagger.sizes()["ordering"] == {"n_documents": n_documents}
        scores = [one.score for one in tagger.suggest(of_texts.rows(TEXTS[:1]), 5)[0]]
        assert scores
        assert 0 < min(scores) <= max(scores) < 1
