"""Explanations over HTTP: the sense, the way, the words, and what some models cannot tell."""

from __future__ import annotations

import pytest

import polyseme
from polyseme.server import schemas
from polyseme.server.model_store import ModelStore
from tests.small_data import topics
from tests.web.conftest import BATTLE, TEXT, assert_problem, client_with, get
from tests.without_weights import without_weights


def all_margins(found):
    for label in found["labels"]:
        for slot in label["slots"]:
            yield slot["margin"]
            yield from (step["margin"] for step in slot["path"])


def test_an_explanation_adds_up_and_marks_words(client):
    found = client.post("/v1/explain", json={"text": TEXT, "limit": 3}).json()
    suggested = client.post("/v1/suggest", json={"text": TEXT, "limit": 3, "threshold": 0}).json()
    shown = [(one["label"], one["name"]) for one in found["labels"]]
    assert shown == [(one["label"], one["name"]) for one in suggested["suggestions"]]
    for one, suggestion in zip(found["labels"], suggested["suggestions"], strict=True):
        assert one["score"] == pytest.approx(suggestion["score"], abs=1e-5)
        assert one["bare_score"] == pytest.approx(sum(s["score"] for s in one["slots"]), rel=1e-4)
    reached = {one["node"] for one in found["levels"][-1]}
    for label in found["labels"]:
        assert all(slot["cluster"] in reached for slot in label["slots"])
    for margin in all_margins(found):
        parts = sum(one["amount"] for one in margin["contributions"])
        assert margin["bias"] + parts + margin["rest"] == pytest.approx(margin["total"], abs=1e-5)
    lists = [margin["contributions"] for margin in all_margins(found)]
    lists += [one["sense"]["words"] for one in found["labels"] if "sense" in one]
    words = {one["feature"]: one["name"] for listed in lists for one in listed}
    assert {feature for feature, _, _ in found["spans"]} == set(words)
    for feature, start, end in found["spans"]:
        assert TEXT[start:end].lower() == words[feature]


def test_an_explanation_says_in_which_sense_the_document_has_a_label_and_what_tells_it(client):
    found = client.post("/v1/explain", json={"text": BATTLE, "limit": 5}).json()
    schemas.ExplainResponse.model_validate(found)
    suggested = client.post("/v1/suggest", json={"text": BATTLE, "limit": 5, "threshold": 0})
    for one, suggestion in zip(found["labels"], suggested.json()["suggestions"], strict=True):
        assert ("sense" in one) == ("sense" in suggestion)
        if "sense" in one:
            assert suggestion["sense"] == {key: one["sense"][key] for key in ("place", "name")}
            assert {type(word["is_common"]) for word in one["sense"]["words"]} == {bool}
    (tank,) = [one["sense"] for one in found["labels"] if one["name"] == "tank"]
    assert tank["against"] != tank["place"]
    assert {one["name"] for one in tank["words"] if one["amount"] > 0} >= {"army", "battle"}
    assert {one["name"] for one in tank["labels"] if one["amount"] > 0} >= {"siege"}
    features = {one["feature"] for one in tank["words"]}
    assert features <= {feature for feature, _, _ in found["spans"]}


def test_an_explanation_of_labels_with_one_meaning_speaks_of_no_sense(client):
    body = {"model": "named", "features": {"word 1": 1.0, "word 2": 0.5}}
    labels = client.post("/v1/explain", json=body).json()["labels"]
    assert labels
    assert not any("sense" in one for one in labels)


def test_an_explanation_says_what_the_learned_order_made_of_a_label(client):
    found = client.post("/v1/explain", json={"text": BATTLE, "limit": 8}).json()
    schemas.ExplainResponse.model_validate(found)
    orders = [one["order"] for one in found["labels"]]
    assert [order["place"] for order in orders] == list(range(1, 9))
    by_bare_score = sorted(found["labels"], key=lambda one: -one["bare_score"])
    bare_places = [one["order"]["bare_place"] for one in by_bare_score]
    assert bare_places == sorted(bare_places)
    for order in orders:
        assert order["place"] <= order["n_candidates"] <= 16
        assert str(order["place"]) in order["sentence"]
        for effect in order["effects"]:
            assert f"({effect['amount']:+.2f})" in effect["sentence"]
    (tank,) = [one for one in found["labels"] if one["name"] == "tank"]
    (own_words,) = [one for one in tank["order"]["effects"] if one["fact"] == "slot"]
    assert own_words["value"] > own_words["typical"]
    assert own_words["sentence"].startswith("its own words speak more clearly than the typical")


def test_features_are_explained_with_the_order_and_the_probabilities_of_suggestions(client):
    row = topics().X_test[[0]].tocoo()
    pairs = [[int(column), float(value)] for column, value in zip(row.col, row.data, strict=True)]
    body = {"features": pairs, "model": "plain", "limit": 5}
    suggested = client.post("/v1/suggest", json=body).json()["suggestions"]
    found = client.post("/v1/explain", json=body).json()["labels"]
    assert [one["label"] for one in found] == [one["label"] for one in suggested]
    for one, suggestion in zip(found, suggested, strict=True):
        assert one["score"] == pytest.approx(suggestion["score"], abs=1e-5)
        assert 0 < one["score"] < 1
        assert one["bare_score"] == pytest.approx(sum(s["score"] for s in one["slots"]), rel=1e-4)
    assert [one["order"]["place"] for one in found] == [1, 2, 3, 4, 5]


def test_without_a_learned_order_the_score_is_what_the_slots_come_to(client):
    body = {"model": "named", "features": {"word 1": 1.0, "word 2": 0.5}}
    labels = client.post("/v1/explain", json=body).json()["labels"]
    assert labels
    for one in labels:
        assert "order" not in one
        assert one["score"] == one["bare_score"]


def test_a_label_that_was_not_reached_is_explained_as_such(client, store):
    model = store.current().classifier
    everything = {"text": TEXT, "labels": list(range(model.n_labels_))[:100]}
    labels = client.post("/v1/explain", json=everything).json()["labels"]
    missed = [one for one in labels if not one["slots"]]
    assert missed
    for one in missed:
        assert (one["score"], one["bare_score"]) == (None, None)
        assert "order" not in one
        assert one["not_reached"]


def test_features_are_explained_as_well(client):
    body = {"model": "named", "features": {"word 1": 1.0, "word 2": 0.5}}
    found = client.post("/v1/explain", json=body).json()
    assert found["spans"] == []
    assert found["labels"][0]["slots"][0]["margin"]["contributions"][0]["name"] == "word 1"


def test_a_model_without_weights_has_no_words_and_no_margins(client, text_folder):
    def load(path, n_jobs):
        model = polyseme.load(path, n_jobs=n_jobs)
        without_weights(model.classifier_)
        return model

    bare = ModelStore({"demo": text_folder}, load=load)
    number = bare.current().classifier.label_names_.index("tank")
    with client_with(bare) as bare_client:
        label = get(bare_client, f"/v1/labels/{number}")
        assert {len(slot["words"]) for slot in label["slots"]} == {0}
        assert [sense["name"] for sense in label["senses"]] == [
            sense["name"] for sense in get(client, f"/v1/labels/{number}")["senses"]
        ]
        assert get(bare_client, "/v1/clusters/0")["words"] == []
        tree, weighed = get(bare_client, "/v1/tree"), get(client, "/v1/tree")
        assert {len(node["words"]) for level in tree["levels"] for node in level} == {0}
        assert (tree["starts"], tree["links"]) == (weighed["starts"], weighed["links"])
        found = bare_client.post("/v1/explain", json={"text": TEXT}).json()
        schemas.ExplainResponse.model_validate(found)
        weighed = client.post("/v1/explain", json={"text": TEXT}).json()
        assert [one["order"] for one in found["labels"]] == [
            one["order"] for one in weighed["labels"]
        ]
        of_senses = [one["sense"]["words"] for one in found["labels"] if "sense" in one]
        assert {span[0] for span in found["spans"]} == {
            word["feature"] for words in of_senses for word in words
        }
        assert list(all_margins(found))
        assert set(all_margins(found)) == {None}


def test_a_label_that_is_not_there_cannot_be_explained(client):
    body = {"text": TEXT, "labels": [10**6]}
    assert "no label 1000000" in assert_problem(client.post("/v1/explain", json=body), 404)
