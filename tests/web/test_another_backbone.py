"""Models of another package's backbone, and of dense features, behind the server."""

import numpy as np
import pytest

from polyseme import TextModel, XRLinear
from polyseme.demo import make_corpus
from polyseme.server.model_store import ModelStore
from tests import toy_backbone
from tests.small_data import topics
from tests.web.conftest import client_with

TEXT = make_corpus(500, seed=0).texts[0]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder, corpus, data = tmp_path_factory.mktemp("models"), make_corpus(500, seed=0), topics()
    with toy_backbone.installed(tmp_path_factory.mktemp("package")) as centroids:
        classifier = centroids(branching=8, max_leaf_size=16, beam_size=4, verbose=0)
        TextModel(classifier=classifier, verbose=0).fit(corpus.texts, corpus.labels).save(
            folder / "toy"
        )
        dense = data.X[:, -3:].toarray()
        XRLinear(max_leaf_size=4, verbose=0).fit((data.X[:, :-3], dense), data.Y).save(
            folder / "dense"
        )
        with client_with(ModelStore({"toy": folder / "toy", "dense": folder / "dense"})) as client:
            yield client


def ask(client, path, body=None):
    response = client.get(path) if body is None else client.post(path, json=body)
    assert response.status_code == 200, response.text
    return response.json()


def test_labels_are_suggested_and_explained_by_path_and_scores(client):
    found = ask(client, "/v1/suggest", {"text": TEXT, "threshold": 0})["suggestions"]
    assert found[0]["score"] > 0
    why = ask(client, "/v1/explain", {"text": TEXT, "limit": 2})
    assert [label["label"] for label in why["labels"]] == [one["label"] for one in found[:2]]
    for label in why["labels"]:
        for slot in label["slots"]:
            assert slot["margin"] is None
            assert slot["path"][-1]["score"] > 0
            assert [step["margin"] for step in slot["path"]] == [None] * len(slot["path"])
    assert [label["order"]["place"] for label in why["labels"]] == [1, 2]
    if not any("sense" in label for label in why["labels"]):
        assert why["spans"] == []


def test_labels_clusters_and_the_tree_have_everything_but_words_of_slots(client):
    (tank,) = ask(client, "/v1/labels?query=tank&limit=1")["labels"]
    label = ask(client, f"/v1/labels/{tank['label']}")
    for slot in label["slots"]:
        assert slot["words"] == []
        assert slot["neighbours"]
    assert all(known["examples"] for known in label["senses"] or [label])
    cluster = ask(client, f"/v1/clusters/{label['slots'][0]['cluster']}")
    assert cluster["words"] == []
    assert tank["label"] in [one["label"] for one in cluster["labels"]]
    tree = ask(client, "/v1/tree")
    assert len(tree["levels"]) == len(tree["starts"]) == 2
    assert all(node["words"] == [] and node["labels"] for node in tree["levels"][-1])


def test_the_model_describes_itself(client):
    toy, _ = ask(client, "/v1/models")["models"]
    assert toy["takes"] == ["text", "features"]
    assert "C" not in toy["parameters"]
    assert ask(client, "/v1/quality")["report"]["accuracy"]["P@1"] > 0


def test_features_of_a_dense_block_are_given_as_others_are(client):
    data = topics()
    model = "dense"
    row = data.X[[0]].tocoo()
    pairs = [[int(column), float(value)] for column, value in zip(row.col, row.data, strict=True)]
    found = ask(client, "/v1/suggest", {"features": pairs, "model": model})["suggestions"]
    assert data.Y.toarray()[0, found[0]["label"]] == 1
    why = ask(client, "/v1/explain", {"features": pairs, "model": model, "limit": 1})
    margin = why["labels"][0]["slots"][0]["margin"]
    added = margin["bias"] + margin["rest"] + sum(w["amount"] for w in margin["contributions"])
    assert margin["total"] == pytest.approx(added)
    used = {word["feature"] for word in margin["contributions"]}
    assert used <= set(row.col.tolist())
    assert np.isfinite(found[0]["score"])
