"""What the server gives the page beside labels and documents: points, figures, updates."""

from __future__ import annotations

import numpy as np
import pytest

from polyseme import TextModel, XRLinear
from polyseme.demo import make_corpus
from polyseme.server import lookup_schemas, schemas
from polyseme.server.model_store import ModelStore
from tests.web.conftest import TEXT, assert_problem, client_with, get


def test_labels_are_points_of_the_plane_near_those_like_them(client, store):
    tagger = store.current().tagger
    found = get(client, "/v1/plane")
    lookup_schemas.PlaneResponse.model_validate(found)
    n_labels = tagger.classifier.n_labels_
    assert {len(found[name]) for name in ("labels", "names", "x", "y", "clusters")} == {n_labels}
    assert [tagger.label_name(label) for label in found["labels"]] == found["names"]
    assert 0 <= min(found["x"] + found["y"]) <= max(found["x"] + found["y"]) <= 1
    counts = tagger.classifier.label_counts_[found["labels"]]
    assert (np.diff(counts) <= 0).all()
    clusters = tagger.classifier.clusters_
    for label, cluster in zip(found["labels"], found["clusters"], strict=True):
        assert cluster in clusters.cluster_of_slot[clusters.slots_of(label)]
    tank = found["names"].index("tank")
    meanings = [one for one in found["senses"] if one["label"] == found["labels"][tank]]
    assert [one["name"] for one in meanings] == [sense.name for sense in tagger.senses("tank")]


def test_a_model_of_few_labels_has_a_plane_too(client):
    assert len(get(client, "/v1/plane", model="named")["labels"]) == 8


def test_captions_of_a_level_name_a_label_once_where_they_can(client):
    (*_, clusters) = get(client, "/v1/tree", links=0)["levels"]
    first = [one["labels"][0]["label"] for one in clusters]
    assert len(set(first)) == len(first)


def test_figures_of_labels_add_up_to_those_of_the_report(client, store):
    found = get(client, "/v1/quality/labels")
    lookup_schemas.LabelFiguresResponse.model_validate(found)
    cut = store.current().tagger.report["threshold"]
    totals = {
        name: sum(one[name] for one in found["labels"])
        for name in ("n_true", "n_suggested", "n_right")
    }
    assert totals["n_right"] / totals["n_suggested"] == pytest.approx(cut["precision"])
    assert totals["n_right"] / totals["n_true"] == pytest.approx(cut["recall"])
    assert "by_label" not in get(client, "/v1/quality")["report"]
    assert get(client, "/v1/quality/labels", model="plain")["labels"] == []


def test_known_words_are_counted_when_asked_for(client):
    def asked(text, **more):
        return client.post("/v1/suggest", json={"text": text, **more}).json()

    assert "n_known_words" not in asked(TEXT)
    assert asked(TEXT, count_words=True)["n_known_words"] > 5
    assert asked("Qwrtz plmkj", count_words=True)["n_known_words"] == 0
    features = {"features": [[1, 0.5]], "count_words": True, "model": "plain"}
    assert client.post("/v1/suggest", json=features).json()["n_known_words"] is None


def test_models_tell_when_they_were_saved(client, store):
    found = get(client, "/v1/models")
    assert found["version"]
    saved = (store.current().path / "model.json").stat().st_mtime
    assert found["models"][0]["saved_at"] == pytest.approx(saved)
    assert not found["models"][0]["takes_updates"]


# Updates


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """A model that keeps its training data, and one that does not."""
    folder, corpus = tmp_path_factory.mktemp("models"), make_corpus(200, seed=0)
    for name, keep_data in (("keeps", True), ("forgets", False)):
        classifier = XRLinear(max_leaf_size=50, senses="none", ordering="product", verbose=0)
        model = TextModel(classifier=classifier, held_out=0, keep_data=keep_data, verbose=0)
        model.fit(corpus.texts, corpus.labels).save(folder / name)
    return {name: folder / name for name in ("keeps", "forgets")}


def test_updates_are_refused_unless_the_server_takes_them(client):
    assert_problem(client.post("/v1/update", json={}), 404)


def test_a_reviewed_document_is_learned_and_the_model_is_replaced(taught):
    with client_with(ModelStore(taught), takes_updates=True) as client:
        keeps, forgets = get(client, "/v1/models")["models"]
        assert (keeps["takes_updates"], forgets["takes_updates"]) == (True, False)
        reviewed = {"text": "Zeppelins over the lake, zeppelins.", "labels": ["airships"]}
        response = client.post("/v1/update", json={"documents": [reviewed]})
        assert response.status_code == 200, response.text
        done = schemas.UpdateResponse.model_validate(response.json())
        assert (done.n_documents, done.n_labels) == (1, 1)
        now = get(client, "/v1/models")["models"][0]
        assert now["n_labels"] == keeps["n_labels"] + 1
        assert get(client, "/v1/labels", query="airships")["n_found"] == 1


def test_what_cannot_be_learned_is_refused_in_a_sentence(taught):
    with client_with(ModelStore(taught), takes_updates=True) as client:
        document = {"text": TEXT, "labels": ["tank"]}
        answer = client.post("/v1/update", json={"documents": [document], "model": "forgets"})
        assert "--keep-data" in assert_problem(answer, 409)
        update = get(client, "/openapi.json")["paths"]["/v1/update"]["post"]
        assert {"200", "409", "413", "422"} <= set(update["responses"])
        for wrong in ({"documents": []}, {"documents": [{"text": TEXT, "labels": []}]}):
            assert_problem(client.post("/v1/update", json=wrong), 422)
