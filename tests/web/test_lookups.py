"""Labels, senses, clusters, the tree, explanations and descriptions over HTTP."""

from __future__ import annotations

from copy import copy

import pytest
from fastapi.openapi.models import OpenAPI

import polyseme
from polyseme.senses.describe import ENOUGH_TO_SPLIT, most_split, senses_of, slots_differ
from polyseme.server import schemas
from polyseme.server.catalogue import Catalogue
from polyseme.server.model_store import ModelStore
from tests.web.conftest import TEXT, assert_problem, client_with
from tests.without_weights import without_weights


def get(client, path, **parameters):
    response = client.get(path, params=parameters)
    assert response.status_code == 200, response.text
    return response.json()


def test_labels_are_found_by_a_part_of_their_name(client, store):
    names = list(store.current().classifier.label_names_)
    for query in ("tank", "TANK", "an", "a", " "):
        found = get(client, "/v1/labels", query=query, limit=1000)
        expected = {name for name in names if query.lower() in name.lower()}
        assert {one["name"] for one in found["labels"]} == expected
        assert found["n_found"] == len(expected)


def test_the_name_itself_comes_before_names_that_contain_it(client):
    first = get(client, "/v1/labels", query="tank")["labels"][0]
    assert first["name"] == "tank"
    assert first["n_senses"] == 2
    starting = get(client, "/v1/labels", query="c", limit=3)["labels"]
    assert all(one["name"].startswith("c") for one in starting)


def test_labels_without_a_query_are_those_with_most_documents(client, store):
    counts = store.current().classifier.label_counts_
    found = get(client, "/v1/labels", limit=5, offset=2)
    assert found["n_found"] == len(counts)
    listed = [one["n_documents"] for one in found["labels"]]
    assert listed == sorted(counts.tolist(), reverse=True)[2:7]


def test_the_most_split_labels_are_those_of_the_command_line(client, store):
    expected = most_split(store.current().classifier, 1000)
    found = get(client, "/v1/labels", order="split", limit=1000)["labels"]
    assert [one["name"] for one in found] == [name for name, _ in expected]
    assert [one["split"] for one in found] == pytest.approx([s for _, s in expected], abs=1e-4)
    assert min(one["n_documents"] for one in found) >= ENOUGH_TO_SPLIT


def test_a_search_by_split_has_the_same_order_and_the_others_after_it(client, store):
    expected = [name for name, _ in most_split(store.current().classifier, 1000) if "an" in name]
    found = get(client, "/v1/labels", order="split", query="an", limit=1000)["labels"]
    assert expected
    assert [one["name"] for one in found][: len(expected)] == expected


def test_labels_without_names_are_found_by_number(client):
    found = get(client, "/v1/labels", query="23", model="plain")["labels"]
    assert [(one["label"], one["name"]) for one in found] == [(23, 23)]


def test_a_label_shows_its_senses(client, store):
    model = store.current().classifier
    number = model.label_names_.index("tank")
    found = get(client, f"/v1/labels/{number}")
    assert found["name"] == "tank"
    assert found["n_senses"] == len(found["senses"]) == 2
    for shown, sense in zip(
        found["senses"], senses_of(model, number, n_features=12, n_neighbours=10), strict=True
    ):
        assert (shown["slot"], shown["cluster"]) == (sense.slot, sense.cluster)
        assert shown["share"] == pytest.approx(sense.share, abs=1e-4)
        assert [(one["name"], one["weight"]) for one in shown["words"]] == sense.strongest
        assert [one["name"] for one in shown["neighbours"]] == sense.neighbours
        assert shown["examples"] == store.current().tagger.model.slot_examples_.of(sense.slot)
    assert any(shown["examples"] for shown in found["senses"])


def test_a_label_says_whether_its_slots_differ(client, store):
    model = store.current().classifier
    for number in range(0, model.n_labels_, 20):
        assert get(client, f"/v1/labels/{number}")["slots_differ"] == slots_differ(model, number)
    assert get(client, f"/v1/labels/{model.label_names_.index('tank')}")["slots_differ"]


def test_a_cluster_shows_its_labels_and_its_place(client, store):
    model = store.current().classifier
    for cluster in range(model.clusters_.n_clusters):
        found = get(client, f"/v1/clusters/{cluster}")
        starts = model.clusters_.starts
        own = model.clusters_.labels[starts[cluster] : starts[cluster + 1]]
        assert {one["label"] for one in found["labels"]} == set(own.tolist())
        assert found["n_labels"] == len(own)
        assert found["path"][-1] == cluster
        assert len(found["path"]) == model.tree_.n_levels
        assert found["words"][0]["weight"] > 0


def test_the_tree_has_all_nodes_and_links(client, store):
    model = store.current().classifier
    found = get(client, "/v1/tree", links=10)
    assert found["starts"] == [starts.tolist() for starts in model.tree_.levels]
    sizes = [len(level) for level in found["levels"]]
    assert sizes == [model.tree_.n_nodes(i + 1) for i in range(model.tree_.n_levels)]
    assert [one["n_labels"] for one in found["levels"][-1]] == model.clusters_.sizes.tolist()
    assert all(one["words"] and one["labels"] for one in found["levels"][-1])
    assert 0 < len(found["links"]) <= 10
    for link in found["links"]:
        assert len(link["clusters"]) == model.clusters_.copies[link["label"]] > 1
    assert get(client, "/v1/tree", links=0)["links"] == []


def test_a_tree_without_levels_is_one_cluster(client):
    found = get(client, "/v1/tree", model="named")
    assert found["starts"] == [[0, 1]]
    assert [[one["n_labels"] for one in level] for level in found["levels"]] == [[8]]
    assert get(client, "/v1/clusters/0", model="named")["path"] == [0]


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
    words = {
        one["feature"]: one["name"]
        for margin in all_margins(found)
        for one in margin["contributions"]
    }
    assert {feature for feature, _, _ in found["spans"]} == set(words)
    for feature, start, end in found["spans"]:
        assert TEXT[start:end].lower() == words[feature]


def test_a_label_that_was_not_reached_is_explained_as_such(client, store):
    model = store.current().classifier
    everything = {"text": TEXT, "labels": list(range(model.n_labels_))[:100]}
    labels = client.post("/v1/explain", json=everything).json()["labels"]
    missed = [one for one in labels if not one["slots"]]
    assert missed
    for one in missed:
        assert (one["score"], one["bare_score"]) == (None, None)
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
        assert [sense["words"] for sense in label["senses"]] == [[], []]
        assert label["slots_differ"]
        assert get(bare_client, "/v1/clusters/0")["words"] == []
        tree, weighed = get(bare_client, "/v1/tree"), get(client, "/v1/tree")
        assert {len(node["words"]) for level in tree["levels"] for node in level} == {0}
        assert (tree["starts"], tree["links"]) == (weighed["starts"], weighed["links"])
        found = bare_client.post("/v1/explain", json={"text": TEXT}).json()
        schemas.ExplainResponse.model_validate(found)
        assert found["spans"] == []
        assert list(all_margins(found))
        assert set(all_margins(found)) == {None}


def test_quality_is_the_report_of_the_model(client, store):
    found = get(client, "/v1/quality")
    assert found["report"]["accuracy"] == store.current().tagger.model.report_["accuracy"]
    assert found["threshold"] == store.current().tagger.model.threshold_
    assert get(client, "/v1/quality", model="plain")["report"] is None
    assert found["added_since_report"] is None


def test_quality_lists_all_phases_of_a_text_model(client, store):
    seconds = get(client, "/v1/quality")["seconds"]
    assert list(seconds.items()) == list(store.current().tagger.model.phase_seconds_.items())
    assert {"Computing features", "Training without held-out documents"} <= set(seconds)
    assert "Training the ranker" in get(client, "/v1/quality", model="plain")["seconds"]


def test_quality_says_what_was_added_since_the_report(text_folder, plain_folder, tmp_path):
    for name, folder in (("demo", text_folder), ("plain", plain_folder)):
        model = polyseme.load(folder)
        getattr(model, "classifier_", model).updates_ = [
            {"n_documents": 300, "n_labels": 20},
            {"n_documents": 5, "n_labels": 0},
        ]
        model.save(tmp_path / name)
    updated = ModelStore({name: tmp_path / name for name in ("demo", "plain")})
    with client_with(updated) as client:
        found = get(client, "/v1/quality")["added_since_report"]
        assert found == {"n_documents": 305, "n_labels": 20}
        assert get(client, "/v1/quality", model="plain")["added_since_report"] is None


def test_models_are_described(client):
    found = get(client, "/v1/models")["models"]
    assert [one["name"] for one in found] == ["demo", "plain", "named"]
    assert [one["takes"] for one in found] == [["text", "features"], ["features"], ["features"]]
    assert found[1]["n_labels"] == 24
    assert "path" not in found[0]
    assert [one["has_probabilities"] for one in found] == [True, False, False]
    assert not {"n_jobs", "verbose"} & set(found[0]["parameters"])  # of the machine, not the model


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/v1/labels/100000", 404, "There is no label 100000; the last is"),
        ("/v1/labels/tank", 422, "/label"),
        ("/v1/labels/-1", 422, "/label"),
        ("/v1/labels/" + "9" * 4000, 422, "/label"),
        ("/v1/labels?limit=0", 422, "/limit"),
        ("/v1/labels?order=size", 422, "/order"),
        ("/v1/labels?query=" + "x" * 201, 422, "/query"),
        ("/v1/labels?model=other", 404, "There is no such model"),
        ("/v1/clusters/100000", 404, "There is no cluster 100000"),
        ("/v1/tree?links=-1", 422, "/links"),
        ("/v1/nothing", 404, "There is nothing at /v1/nothing"),
        ("/nothing", 404, "There is nothing at /nothing"),
        ("/v1/suggest", 405, "GET is not possible at /v1/suggest"),
    ],
)
def test_what_is_not_there_is_a_problem(client, path, status, sentence):
    response = client.get(path)
    assert sentence in assert_problem(response, status)
    if status == 405:
        assert response.headers["allow"] == "POST"


def test_a_label_that_is_not_there_cannot_be_explained(client):
    body = {"text": TEXT, "labels": [10**6]}
    assert "no label 1000000" in assert_problem(client.post("/v1/explain", json=body), 404)


def test_health_says_when_each_model_was_loaded(client):
    found = get(client, "/healthz")
    assert found["status"] == "ok"
    assert set(found["models"]) == {"demo", "plain", "named"}


def test_metrics_count_requests_by_route_and_not_by_path(client):
    for number in range(3):
        client.get(f"/v1/labels/{number}")
        client.get(f"/nowhere/{number}")
    text = client.get("/metrics").text
    assert 'polyseme_requests_total{route="/v1/labels/{label}",status="200"}' in text
    assert "nowhere" not in text
    assert "process_resident_memory_bytes" in text


def test_openapi_has_examples_and_problems(client):
    schema = get(client, "/openapi.json")
    OpenAPI.model_validate(schema)
    for path, methods in schema["paths"].items():
        for operation in methods.values():
            assert operation["description"], path
            if path.startswith("/v1"):
                refused = operation["responses"]["422"]["content"]
                assert set(refused) == {"application/problem+json"}
    requests = schema["components"]["schemas"]["SuggestRequest"]
    assert requests["examples"][0]["text"]
    assert "security" not in schema


def test_openapi_examples_are_answered(client):
    schemas = get(client, "/openapi.json")["components"]["schemas"]
    for path, name in (("suggest-batch", "BatchRequest"), ("explain", "ExplainRequest")):
        for example in schemas[name]["examples"]:
            assert client.post(f"/v1/{path}", json=example).status_code == 200
    first = schemas["SuggestRequest"]["examples"][0]
    assert client.post("/v1/suggest", json=first).status_code == 200


def test_openapi_says_that_a_token_is_needed(store):
    with client_with(store, token="secret") as client:
        assert get(client, "/openapi.json")["security"] == [{"token": []}]


def test_no_page_loads_scripts_from_elsewhere(client):
    assert client.get("/docs").status_code == 404
    assert client.get("/redoc").status_code == 404


def test_labels_that_have_uris_are_listed_with_them(store):
    tagger = copy(store.current().tagger)
    assert "uri" not in Catalogue(tagger).summary(3)
    tagger.label_uris = [f"urn:{label}" for label in range(tagger.classifier.n_labels_)]
    label = Catalogue(tagger).label(3)
    neighbours = [one for sense in label["senses"] for one in sense["neighbours"]]
    assert neighbours
    for one in (label, *neighbours):
        assert one["uri"] == f"urn:{one['label']}"
