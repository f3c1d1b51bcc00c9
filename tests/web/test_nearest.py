"""Methods of nearest neighbours behind the server."""

import pytest

from polyseme import NearestLabels, NearestNeighbours, TextModel
from polyseme.demo import make_corpus
from polyseme.server.model_store import ModelStore
from tests.web.conftest import client_with

CORPUS = make_corpus(400, seed=0)
METHODS = {"neighbours": NearestNeighbours, "labels": NearestLabels}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, method in METHODS.items():
        model = TextModel(classifier=method(n_jobs=1, verbose=0), verbose=0)
        model.fit(CORPUS.texts, CORPUS.labels).save(folder / name)
    with client_with(ModelStore({name: folder / name for name in METHODS})) as client:
        yield client


def ask(client, path, body=None):
    response = client.get(path) if body is None else client.post(path, json=body)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("name", METHODS)
def test_labels_are_suggested(client, name):
    right = 0
    for text, labels in zip(CORPUS.texts[:20], CORPUS.labels[:20], strict=True):
        asked = {"text": text, "model": name, "threshold": 0}
        right += ask(client, "/v1/suggest", asked)["suggestions"][0]["name"] in labels
    assert right > 14


@pytest.mark.parametrize("name", METHODS)
def test_labels_are_explained_with_words_only_where_there_are_weights(client, name):
    why = ask(client, "/v1/explain", {"text": CORPUS.texts[0], "model": name, "limit": 2})
    slots = [slot for label in why["labels"] for slot in label["slots"]]
    assert slots
    assert all((slot["margin"] is None) == (name == "neighbours") for slot in slots)
    assert all(len(slot["path"]) == 1 and slot["path"][0]["score"] > 0 for slot in slots)


@pytest.mark.parametrize("name", METHODS)
def test_labels_and_clusters_can_be_looked_up(client, name):
    (tank,) = ask(client, f"/v1/labels?query=tank&limit=1&model={name}")["labels"]
    label = ask(client, f"/v1/labels/{tank['label']}?model={name}")
    cluster = ask(client, f"/v1/clusters/{label['slots'][0]['cluster']}?model={name}")
    assert [one["label"] for one in cluster["labels"]] == [tank["label"]]
