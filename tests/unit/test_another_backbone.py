"""The backbone of docs/write-a-backbone.md, from another package: everything works with it."""

import json
import sys
from importlib.metadata import EntryPoint

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

import polyseme
from polyseme import TextModel, estimate_training, explain, senses, update
from polyseme.demo import make_corpus
from polyseme.files.kinds import GROUP, METHODS, method_named, methods
from polyseme.tagger import open_tagger, tagger_for
from tests import toy_backbone
from tests.end_to_end.command_line import refuse, succeed
from tests.model_folders import edit_manifest, manifest_of

TRAINING, TEST = make_corpus(600, seed=0), make_corpus(200, seed=1)


@pytest.fixture(scope="module")
def centroids(tmp_path_factory):
    with toy_backbone.installed(tmp_path_factory.mktemp("package")) as estimator:
        yield estimator


@pytest.fixture(scope="module")
def vectorizer():
    return TfidfVectorizer(sublinear_tf=True).fit(TRAINING.texts)


@pytest.fixture(scope="module")
def X(vectorizer):  # noqa: N802
    return vectorizer.transform(TRAINING.texts)


@pytest.fixture(scope="module")
def X_test(vectorizer):  # noqa: N802
    return vectorizer.transform(TEST.texts)


@pytest.fixture(scope="module")
def model(centroids, X, vectorizer):
    names = vectorizer.get_feature_names_out()
    return centroids(max_leaf_size=16, beam_size=5).fit(X, TRAINING.labels, feature_names=names)


@pytest.fixture(scope="module")
def text_model(centroids):
    classifier = centroids(max_leaf_size=16, beam_size=5, verbose=0)
    return TextModel(classifier=classifier, keep_data=True, verbose=0).fit(
        TRAINING.texts, TRAINING.labels
    )


def test_the_toy_is_short():
    lines = [line for line in toy_backbone.code().splitlines() if line.strip()]
    assert len(lines) <= 50


def test_it_is_found_by_its_entry_point(centroids):
    assert methods() == [*METHODS, "centroids"]


def test_a_method_that_nobody_brings_is_refused_with_those_there_are(centroids):
    known = ", ".join([*METHODS, "centroids"])
    with pytest.raises(ValueError, match=f"no method 'centroid'; there are: {known}"):
        method_named("centroid")


def test_a_package_cannot_take_the_names_of_our_own_kinds(monkeypatch):
    brought = [EntryPoint(name, "math:nothing", GROUP) for name in ("text", "xr-linear", "other")]
    monkeypatch.setattr("polyseme.files.kinds.entry_points", lambda group: brought)
    assert methods() == [*METHODS, "other"]
    assert method_named("xr-linear") is polyseme.XRLinear
    with pytest.raises(ValueError, match="no method 'text'"):
        method_named("text")


@pytest.mark.parametrize("place", ["no_such_module:Model", "math:nothing"])
def test_a_package_that_cannot_be_loaded_is_named_by_its_kind(place, monkeypatch):
    broken = EntryPoint("broken", place, GROUP)
    monkeypatch.setattr("polyseme.files.kinds.entry_points", lambda group: [broken])
    with pytest.raises(ValueError, match="the kind 'broken' cannot be loaded from its package"):
        method_named("broken")


def test_it_learns(model, X_test):
    assert model.score(X_test, TEST.labels) > 0.5
    assert (model.clusters_.copies > 1).any()


def test_without_the_package_its_models_are_refused_by_their_kind(model, tmp_path, monkeypatch):
    model.save(tmp_path / "model")
    monkeypatch.setattr("polyseme.files.kinds.entry_points", lambda group: [])
    with pytest.raises(ValueError, match=r"kind 'centroids', which is not known here; .* install"):
        polyseme.load(tmp_path / "model")


def test_senses_are_found_and_named_and_slots_have_no_words(model, X):
    found = senses.senses_of(model, "tank", X, TRAINING.labels)
    assert len(found) == 2
    for sense in found:
        assert sense.name
        assert sense.words
        assert sense.labels
        assert sense.documents
    assert "tank" in [name for name, _ in senses.most_ambiguous(model, 100)]
    number = senses.label_number(model, "tank")
    for slot in senses.slots_of(model, number, n_words=5, n_neighbours=5):
        assert slot.words == []
        assert slot.neighbours
    named = [
        one.sense for row in tagger_for(model).suggest(X) for one in row if one.name == "tank"
    ]
    assert {sense.name for sense in named} == {sense.name for sense in found}


def test_an_explanation_has_the_path_and_scores(model, X_test):
    found = explain.explain(model, X_test[:1], n_labels=2)
    labels, scores = model.predict_top_k(X_test[:1], 2)
    assert [label.label for label in found.labels] == labels[0].tolist()
    assert [label.score for label in found.labels] == pytest.approx(scores[0].tolist())
    assert len(found.levels) == model.tree_.n_levels
    for label in found.labels:
        for slot in label.slots:
            assert slot.margin is None
            assert [step.level for step in slot.path] == [1]
            assert slot.path[-1].node == slot.cluster
            assert 0 < slot.path[-1].score <= 1


def test_it_is_updated_to_what_a_training_with_these_slots_gives(model, X, X_test):
    new_labels = [[*labels, "brand new"] for labels in TEST.labels[:20]]
    grown, made = update.updated(
        model, X, TRAINING.labels, X_test[:20], new_labels, label_names=["brand new"]
    )
    assert made.n_labels == 1
    assert grown.n_documents_ == 620
    assert "brand new" in [
        grown.label_names_[label] for label in grown.predict_top_k(X_test[:20], 5)[0].ravel()
    ]


@pytest.mark.slow
def test_its_cost_is_estimated(centroids, X):
    found = estimate_training(centroids(max_leaf_size=16), X, TRAINING.labels)
    assert found.total_seconds.about > 0
    assert found.model_bytes.about > 0


@pytest.mark.slow
def test_a_text_model_is_made_around_it(text_model, tmp_path):
    text_model.save(tmp_path / "model")
    tagger = open_tagger(tmp_path / "model")
    assert tagger.suggest(TEST.texts[:3]) == tagger_for(text_model).suggest(TEST.texts[:3])
    assert [sense.examples for sense in tagger.senses("tank")] == [
        text_model.examples_of(text_model.label_number("tank"), place) for place in (0, 1)
    ]
    assert text_model.update(TEST.texts[:5], TEST.labels[:5]).n_documents == 5


@pytest.mark.slow
def test_the_command_line_knows_it(centroids, tmp_path):
    data = tmp_path / "data.jsonl"
    pairs = zip(TRAINING.texts, TRAINING.labels, strict=True)
    lines = [json.dumps({"text": text, "labels": list(labels)}) for text, labels in pairs]
    data.write_text("\n".join(lines))
    folder = tmp_path / "model"
    options = ("--max-leaf-size", "16", "--keep-data")
    assert "Total" in succeed("train", data, "--estimate", "--method", "centroids")
    succeed("train", data, "-o", folder, "--method", "centroids", *options)
    assert "Accuracy on 600 documents" in succeed("evaluate", folder, data)
    assert "tank" in succeed("senses", folder, "tank")
    assert "method" in succeed("info", folder)
    assert succeed("predict", folder, data, "--json").count("\n") == 600
    assert "changed" in succeed("update", folder, data, "--with", data)


def test_an_option_of_another_method_is_refused(centroids, tmp_path):
    said = refuse("train", "x.csv", "-o", tmp_path / "m", "--method", "centroids", "--C", "2")
    assert "CentroidClassifier has no C, so --C means nothing to it." in said


# Mistakes of other packages


def package_with(folder, code, entry_point):
    (folder / "polyseme_other.py").write_text(code)
    info = folder / "polyseme_other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: polyseme_other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[polyseme.backbones]\n{entry_point}\n")
    return folder


@pytest.fixture
def other_package(tmp_path, monkeypatch):
    def install(code, entry_point):
        folder = tmp_path / "other"
        folder.mkdir()
        monkeypatch.syspath_prepend(package_with(folder, code, entry_point))
        monkeypatch.delitem(sys.modules, "polyseme_other", raising=False)

    return install


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("Other = 3", "must lead to a class whose kind is 'other'"),
        ("class Other: kind = 'another'", "must lead to a class whose kind is 'other'"),
        ("raise SystemExit('bye')", "cannot be loaded from its package: bye"),
    ],
)
def test_an_entry_point_that_leads_to_no_kind_is_told(other_package, code, sentence):
    other_package(code, "other = polyseme_other:Other")
    with pytest.raises(ValueError, match=sentence):
        method_named("other")


@pytest.mark.slow
def test_a_backbone_may_have_few_parameters(centroids, other_package, X, X_test, tmp_path):
    other_package(
        """
from polyseme_centroids import CentroidClassifier
class Few(CentroidClassifier):
    kind = "few"
    def __init__(self, power=1.0, copies=2):
        super().__init__(copies=copies, max_leaf_size=16, verbose=0)
        self.power = power
""",
        "few = polyseme_other:Few",
    )
    model = method_named("few")(power=2.0).fit(X, TRAINING.labels)
    model.save(tmp_path / "model")
    loaded = polyseme.load(tmp_path / "model", n_jobs=1)
    assert (loaded.power, loaded.n_jobs) == (2.0, 1)
    np.testing.assert_array_equal(
        loaded.predict_top_k(X_test, 3)[0], model.predict_top_k(X_test, 3)[0]
    )
    assert loaded.senses_.n_judged == model.senses_.n_judged > 0
    texts = TextModel(classifier=method_named("few")(), verbose=0)
    texts.fit(TRAINING.texts[:200], TRAINING.labels[:200])
    assert texts.classifier_.senses_ is not None

    # As before there were senses: it has none, and gets none by an update.
    described = manifest_of(tmp_path / "model")["description"]
    del described["senses"]
    edit_manifest(tmp_path / "model", description=described, format_version=2)
    older = polyseme.load(tmp_path / "model")
    assert older.senses_ is None
    grown, _ = update.updated(older, X, TRAINING.labels, X[:9], TRAINING.labels[:9])
    assert grown.senses_ is None


def test_what_a_backbone_cannot_bring_back_is_told(centroids, model, tmp_path, monkeypatch):
    model.save(tmp_path / "model")
    monkeypatch.setattr(type(model.ranker_), "restore", lambda self, stored, shape: {}["x"])
    with pytest.raises(ValueError, match=r"its ranker cannot be brought back: KeyError\('x'\)"):
        polyseme.load(tmp_path / "model")


def test_old_names_of_parameters_that_it_never_had_are_only_unknown(centroids):
    with pytest.raises(ValueError, match="Invalid parameter 'cost'"):
        centroids().set_params(cost=1)
    with pytest.raises(
        TypeError, match="CentroidClassifier has no parameter 'seed'; it is called"
    ):
        centroids(seed=1)
