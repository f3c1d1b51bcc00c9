"""Model cards say what a model is, what it can do, and where it comes from."""

from __future__ import annotations

import pytest

import polyseme
from polyseme import TextModel, XRLinear
from polyseme.cards import _cell, model_card, write_card
from polyseme.demo import make_corpus
from polyseme.files.origin import Fingerprint, fingerprint_of
from polyseme.tagger import tagger_for
from polyseme.text import open_corpus
from tests.small_data import topics

CORPUS = make_corpus(300, seed=0)
SMALL = {"max_leaf_size": 16, "beam_size": 4, "verbose": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def model():
    classifier = XRLinear(**SMALL)
    return TextModel(classifier=classifier, verbose=0).fit(CORPUS.texts, CORPUS.labels)


def test_a_card_has_figures_senses_limits_and_all_settings(model):
    card = model_card(tagger_for(model), "articles")
    assert card.startswith("---\nlibrary_name: polyseme\n")
    for heading in ("# articles", "## Figures", "## Senses", "## Limits", "## Training"):
        assert f"\n{heading}\n" in card
    report, origin = model.report_, model.origin_
    held_out = f"on {report['n_documents']:,} documents that were held out of a first training"
    assert held_out in card
    assert f"| {report['accuracy']['P@1']:.1f} |" in card
    assert f"{100 * report['threshold']['without_label']:.1f} |" in card
    assert "beginnings of some of the texts" in card
    assert origin["fingerprint"] in card
    lasting = set(model.classifier_.get_params()) - set(model.classifier_.of_the_machine)
    for name in (*lasting, "ngrams", "held_out", "keep_data"):
        assert f"| {name} | " in card, name
    assert f"| C | {model.classifier_.C_:g}, chosen by the data |" in card


def test_a_hub_reads_the_figures_of_a_card_whatever_the_model_is_called(model):
    hub = pytest.importorskip("huggingface_hub")
    report, name = model.report_, 'my "articles": ü'
    data = hub.ModelCard(model_card(tagger_for(model), name)).data
    assert (data.model_name, data.pipeline_tag) == (name, "text-classification")
    figures = {one.metric_type: one.metric_value for one in data.eval_results}
    assert figures["p_at_1"] == round(report["accuracy"]["P@1"], 2)
    assert figures["f1"] == round(100 * report["threshold"]["f1"], 2)


def test_a_card_says_whether_its_very_model_was_measured_and_how_its_threshold_was_chosen():
    classifier = XRLinear(**SMALL, senses="none")
    how = {"refit": False, "precision": 0.8, "per_label": True}
    model = TextModel(classifier=classifier, verbose=0, **how).fit(CORPUS.texts, CORPUS.labels)
    card = model_card(tagger_for(model), "my articles")
    assert "documents that it was not trained on." in card
    assert "At the threshold, which was chosen for 80% precision; " in card
    assert "polyseme predict 'my articles' new.csv" in card
    assert "| max_weights_per_label | not set |" in card
    assert "| ngrams | (1, 2) |" in card


def test_names_of_labels_cannot_break_a_card():
    texts = [f"{word} {i}" for i in range(6) for word in ("cat", "dog")]
    classifier = XRLinear(**SMALL)
    model = TextModel(classifier=classifier, held_out=0, verbose=0)
    model.fit(texts, [["a | <b>"], ["c\nd"]] * 6)
    assert _cell("a | <b>\nc") == "a \\| &lt;b&gt; c"
    assert model_card(tagger_for(model), "pets").count("\n## ") == 5


def test_a_card_of_a_model_of_matrices_says_what_is_known():
    X, Y = topics().X, topics().Y
    card = model_card(tagger_for(XRLinear(**SMALL).fit(X, Y)), "topics")
    assert "Nothing was held out, so nobody has measured it." in card
    assert "tabular-classification" in card


def test_a_card_is_replaced_with_its_model_unless_people_have_made_it_their_own(model, tmp_path):
    model.save(tmp_path / "m")
    card = tmp_path / "m" / "README.md"
    assert write_card(tmp_path / "m")
    assert write_card(tmp_path / "m")
    model.save(tmp_path / "m")
    assert not card.exists()  # it would speak of another model
    card.write_text("# My words")
    assert not write_card(tmp_path / "m")
    model.save(tmp_path / "m")
    assert card.read_text() == "# My words"


def test_the_fingerprint_in_a_card_is_said_to_be_from_before_an_update():
    texts, labels = CORPUS.texts[:60], CORPUS.labels[:60]
    model = TextModel(classifier=XRLinear(**SMALL), held_out=0, keep_data=True, verbose=0)
    model.fit(texts, labels)
    assert "| fingerprint of the data | sha256:" in model_card(tagger_for(model), "m")
    model.update(CORPUS.texts[60:70], CORPUS.labels[60:70])
    assert "| fingerprint of the data before the update | " in model_card(tagger_for(model), "m")


def test_a_saved_model_knows_where_it_comes_from(model, tmp_path):
    model.save(tmp_path / "m")
    loaded = polyseme.load(tmp_path / "m")
    assert loaded.origin_ == model.origin_
    assert set(loaded.origin_["versions"]) == {
        "python",
        "polyseme",
        "numpy",
        "scipy",
        "scikit-learn",
    }
    assert loaded.classifier_.origin_["trained_at"].endswith("+00:00")


def test_the_fingerprint_is_that_of_texts_and_labels_whatever_the_file(tmp_path):
    (tmp_path / "a.csv").write_text("text,labels\na bat,x|y\nan owl,z\nnothing,\n")
    (tmp_path / "b.jsonl").write_text(
        '{"text": "a bat", "labels": ["x", "y"]}\n{"text": "an owl", "labels": ["z"]}\n'
    )
    found = []
    for name in ("a.csv", "b.jsonl"):
        corpus = open_corpus(tmp_path / name)
        model = TextModel(classifier=XRLinear(**SMALL), held_out=0, verbose=0)
        origin = model.fit_records(corpus).origin_
        assert origin["data"] == name
        found.append(origin["fingerprint"])
    assert found[0] == found[1]
    assert found[0].startswith("sha256:")


def test_another_border_between_texts_and_labels_is_another_fingerprint():
    def of(*documents):
        fingerprint = Fingerprint()
        for text, labels in documents:
            fingerprint.add(text, labels)
        return str(fingerprint)

    assert of(("a", ["b"])) == of(("a", ["b"]))
    others = [
        of(("a", ["b", "c"])),
        of(("a", ["b"]), ("c", [])),
        of(("ab", [])),
        of(("a", ["bc"])),
    ]
    assert len(set(others)) == 4


def test_the_fingerprint_of_matrices_does_not_depend_on_their_form():
    X, Y = topics().X, topics().Y
    assert fingerprint_of(X, Y) == fingerprint_of(X.tocsc(), Y.tocoo())
    assert fingerprint_of(X, Y) != fingerprint_of(2 * X, Y)
