"""AttentionXML and XML-CNN on texts: as estimators, in files, on the command line, in a server."""

import json
import subprocess
import sys

import numpy as np
import pytest

import polyseme
from polyseme import XMLCNN, AttentionXML, TextModel
from polyseme.backbones.attention.reading import Reading
from polyseme.cost import samples
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.server.model_store import ModelStore
from tests.web.conftest import client_with

pytestmark = pytest.mark.slow  # networks take seconds

pytest.importorskip("torch", reason="the extra 'transformer' is not installed")

TOPICS = {
    "sea": ["fish", "ship", "wave", "salt", "harbour"],
    "air": ["cloud", "wind", "plane", "wing", "storm"],
    "soil": ["root", "worm", "field", "plough", "harvest"],
    "town": ["street", "tram", "house", "market", "bridge"],
}
QUICK = {
    "n_dimensions": 8,
    "n_hidden": 8,
    "n_epochs": 12,
    "batch_size": 16,
    "learning_rate": 0.03,
    "dropout": 0.0,
    "max_leaf_size": 3,
    "beam_size": 2,
    "senses": "none",
    "n_jobs": 1,
    "verbose": 0,
}


def corpus(n, seed=0):
    """Return texts of some words of a topic and one of three places, and the labels of each."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for i in range(n):
        topic = list(TOPICS)[i % 4]
        place = ["north", "south", "east"][int(rng.integers(3))]
        words = [*rng.choice(TOPICS[topic], 3, replace=False), place]
        texts.append(" ".join(rng.permutation(words)))
        labels.append([f"{topic} {place}"])
    return texts, labels


@pytest.fixture(scope="module")
def model():
    classifier = AttentionXML(copies=2, **QUICK)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reading, "least_steps", 20)
        return TextModel(classifier=classifier, held_out=0, verbose=0).fit(*corpus(96))


def test_labels_of_new_texts_are_found(model):
    assert model.score(*corpus(60, seed=1)) > 0.8


def test_the_small_baseline_finds_them_too_also_as_one_network_for_all_labels():
    how = {**QUICK, "max_leaf_size": 100, "n_filters": 8}
    model = TextModel(classifier=XMLCNN(**how), held_out=0, verbose=0).fit(*corpus(96))
    assert model.classifier_.clusters_.n_clusters == 1
    assert model.classifier_.matcher_.readers == []
    assert model.score(*corpus(60, seed=1)) > 0.8


def test_an_empty_text_and_one_of_unknown_words_are_answered(model):
    for found in model.suggest(["", "xyzzy " * 500], limit=2, threshold=0):
        assert len(found) == 2
        assert all(0 < one.score <= 1 for one in found)


def test_a_saved_text_model_answers_as_before(model, tmp_path):
    model.save(tmp_path / "model")
    again = polyseme.load(tmp_path / "model")
    assert isinstance(again.classifier_, AttentionXML)
    texts = corpus(10, seed=1)[0]
    for one, other in zip(again.rank(texts, 3), model.rank(texts, 3), strict=True):
        np.testing.assert_array_equal(one, other)
    assert "device" not in json.dumps(
        json.loads((tmp_path / "model" / "model.json").read_text())["description"]
    )


def test_a_label_is_explained_by_its_path(model):
    tagger = polyseme.tagger.tagger_for(model)
    explained = tagger.explain("fish ship wave north", n_labels=1)
    assert explained.labels[0].slots[0].path
    assert explained.labels[0].slots[0].margin is None


def test_an_update_is_refused_before_anything_is_read(model):
    with pytest.raises(ValueError, match=r"AttentionXML cannot be updated: .* fit it again"):
        model.update(["fish"], [["new"]], old=[])


@pytest.mark.parametrize("kind", [AttentionXML, XMLCNN])
def test_what_is_missing_is_said(kind):
    X = np.eye(4, dtype=np.float32)
    name = kind.__name__
    with pytest.raises(ValueError, match=f"{name} reads texts .* X has no texts; fit a TextModel"):
        kind(verbose=0).fit(X, np.eye(4))
    with pytest.raises(ValueError, match="X has no features"):
        kind(verbose=0).fit(Documents(texts=["a"] * 4), np.eye(4))


def test_features_alone_are_refused_by_a_trained_model(model):
    rows = model.features_.transform(["fish"])
    with pytest.raises(ValueError, match="this method reads texts"):
        model.classifier_.predict_top_k(rows)


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"n_words": 0}, "n_words must be a whole number from 1"),
        ({"dropout": 1.0}, "dropout must be a share from 0 to less than 1"),
        ({"word_vectors": None}, "word_vectors must be a str"),
        ({"device": "abacus"}, "there is no device 'abacus'"),
        ({"word_vectors": "nowhere.txt"}, "not a file of word vectors"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, what):
    texts, labels = corpus(8)
    sparse = SparseRows.from_dense(np.eye(8, dtype=np.float32))
    with pytest.raises((ValueError, FileNotFoundError), match=what):
        AttentionXML(**{**QUICK, **parameters}).fit(Documents(sparse, texts=texts), labels)


def with_features(texts):
    """Return texts with a column for each of their words."""
    words = sorted({word for text in texts for word in text.split()})
    rows = [[word in text.split() for word in words] for text in texts]
    return Documents(SparseRows.from_dense(np.array(rows, dtype=np.float32)), texts=texts)


def test_an_estimate_counts_what_networks_read(monkeypatch):
    monkeypatch.setattr(AttentionXML, "n_sampled", 24)
    monkeypatch.setattr(samples, "SAMPLE_SECONDS", 0.0)
    texts, labels = corpus(96)
    model = AttentionXML(**{**QUICK, "n_epochs": 400})
    found = polyseme.estimate_training(model, with_features(texts), labels)
    assert found.n_sampled == 24
    # A sample has one pass of 8 steps, the whole 400 passes of 6.
    longer = model.own_work(96, 12)["Training the matcher"]
    assert longer > 200 * model.for_samples().own_work(24, 12)["Training the matcher"]
    assert found.seconds["Training the matcher"].about > 0
    if found.peak_bytes is not None:
        assert found.peak_bytes.about < 3e9


@pytest.mark.parametrize("kind", [AttentionXML, XMLCNN])
def test_memory_and_work_grow_with_a_job(kind):
    model = kind()
    for of in (model.own_work, model.own_bytes):
        small, large = of(1_000, 2_000), of(100_000, 200_000)
        assert small.keys() == large.keys()
        assert all(0 < small[phase] < large[phase] for phase in small)


@pytest.mark.slow
def test_nothing_of_torch_is_imported_before_it_is_needed():
    code = (
        "import sys, polyseme; polyseme.AttentionXML(); polyseme.XMLCNN(); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_the_command_line_trains_measures_and_predicts(tmp_path):
    texts, labels = corpus(96)
    lines = [f"{text},{label}" for text, [label] in zip(texts, labels, strict=True)]
    (tmp_path / "a.csv").write_text("text,labels\n" + "\n".join(lines) + "\n")
    own = [f"{k} = {json.dumps(v)}" for k, v in QUICK.items() if k not in ("n_jobs", "verbose")]
    (tmp_path / "c.toml").write_text("\n".join(own))
    polyseme_ = [sys.executable, "-m", "polyseme"]
    train = ["train", "a.csv", "-o", "m", "--method", "attention-xml", "--config", "c.toml"]
    done = subprocess.run(
        [*polyseme_, *train, "--no-held-out"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    asked = subprocess.run(
        [*polyseme_, "predict", "m", "-k", "1"],
        cwd=tmp_path,
        input="fish ship wave north",
        capture_output=True,
        text=True,
    )
    assert "sea north" in asked.stdout, asked.stderr


def test_a_server_takes_texts_and_says_that_features_are_not_enough(model, tmp_path):
    model.save(tmp_path / "model")
    with client_with(ModelStore({"model": tmp_path / "model"})) as client:
        assert client.get("/v1/models").json()["models"][0]["takes"] == ["text"]
        asked = {"text": "fish ship wave north", "threshold": 0}
        assert client.post("/v1/suggest", json=asked).status_code == 200
        refused = client.post("/v1/suggest", json={"features": [[0, 1.0]]})
        assert refused.status_code == 422
        assert "reads texts; send a text" in refused.text
