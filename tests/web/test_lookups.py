"""Labels, senses, clusters, the tree and descriptions over HTTP."""

from __future__ import annotations

from copy import copy

import pytest
from fastapi.openapi.models import OpenAPI

import polyseme
from polyseme.senses import most_ambiguous, senses_of, slots_of
from polyseme.server import lookup_schemas
from polyseme.server.catalogue import Catalogue
from polyseme.server.model_store import ModelStore
from polyseme.tagger import tagger_for
from polyseme.text import Vocabulary
from polyseme.text.vocabularies.vocabulary import Concept
from tests.web.conftest import assert_problem, client_with, get


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


def test_labels_are_found_by_some_of_their_words_in_any_case_and_without_accents(client):
    for query in ("HOLES black", "Bläck Hólës"):
        (found,) = get(client, "/v1/labels", query=query)["labels"]
        assert found["name"] == "black holes"
        assert "found_as" not in found


def test_a_label_shows_what_its_vocabulary_says_of_it():
    concepts = {
        "u:cat": Concept("Cats", ("felines",), ("C1",), ("u:pet",)),
        "u:pet": Concept("Pets"),
    }
    classifier = polyseme.XRLinear(verbose=0, n_jobs=1, ordering="product", senses="none")
    model = polyseme.TextModel(classifier=classifier, verbose=0, held_out=0).fit(
        ["a cat", "a pet", "a cat sleeps"] * 4,
        [["u:cat"], ["u:pet"], ["u:cat"]] * 4,
        label_names=Vocabulary(concepts),
    )
    catalogue = Catalogue(tagger_for(model))
    cat, pet = model.label_number("Cats"), model.label_number("Pets")
    shown = lookup_schemas.LabelResponse(model="m", **catalogue.label(cat))
    assert (shown.other_names, shown.notations) == (["felines"], ["C1"])
    assert [dict(one) for one in shown.broader] == [{"label": pet, "name": "Pets", "uri": "u:pet"}]
    assert [one["name"] for one in catalogue.label(pet)["narrower"]] == ["Cats"]
    n_found, (found,) = catalogue.labels("feline", "best", 5, 0)
    assert (n_found, found["name"], found["found_as"]) == (1, "Cats", "felines")


def test_labels_without_a_query_are_those_with_most_documents(client, store):
    counts = store.current().classifier.label_counts_
    found = get(client, "/v1/labels", limit=5, offset=2)
    assert found["n_found"] == len(counts)
    listed = [one["n_documents"] for one in found["labels"]]
    assert listed == sorted(counts.tolist(), reverse=True)[2:7]


def test_the_most_ambiguous_labels_are_those_of_the_command_line(client, store):
    expected = most_ambiguous(store.current().classifier, 1000)
    found = get(client, "/v1/labels", order="ambiguity", limit=1000)["labels"]
    assert [one["name"] for one in found] == [name for name, _ in expected]
    assert [one["ambiguity"] for one in found] == pytest.approx(
        [likely for _, likely in expected], abs=1e-4
    )
    assert {"tank", "mercury"} <= {one["name"] for one in found}
    assert min(one["n_senses"] for one in found) > 1


def test_a_search_by_ambiguity_has_the_same_order_and_the_others_after_it(client, store):
    ambiguous = most_ambiguous(store.current().classifier, 1000)
    expected = [name for name, _ in ambiguous if "an" in name]
    found = get(client, "/v1/labels", order="ambiguity", query="an", limit=1000)["labels"]
    assert expected
    assert [one["name"] for one in found][: len(expected)] == expected
    assert {one["n_senses"] for one in found[len(expected) :]} == {1}


def test_a_model_without_senses_lists_no_ambiguous_label(client):
    assert get(client, "/v1/labels", order="ambiguity", model="named")["n_found"] == 0
    found = get(client, "/v1/labels", model="named")["labels"]
    assert {(one["n_senses"], one["ambiguity"]) for one in found} == {(1, None)}


def test_labels_without_names_are_found_by_number(client):
    found = get(client, "/v1/labels", query="23", model="plain")["labels"]
    assert [(one["label"], one["name"]) for one in found] == [(23, 23)]


def test_a_label_shows_its_senses(client, store):
    model = store.current().classifier
    number = model.label_names_.index("tank")
    found = get(client, f"/v1/labels/{number}")
    lookup_schemas.LabelResponse.model_validate(found)
    assert found["name"] == "tank"
    assert found["n_senses"] == len(found["senses"]) == 2
    assert found["ambiguity"] >= 0.5
    assert found["evidence"] == "labels"
    for shown, sense in zip(
        found["senses"], senses_of(model, number, n_labels=10, n_words=12), strict=True
    ):
        assert (shown["name"], shown["n_documents"]) == (sense.name, sense.n_documents)
        assert shown["share"] == pytest.approx(sense.share, abs=1e-4)
        assert [(one["name"], one["weight"]) for one in shown["labels"]] == sense.labels
        assert [(one["name"], one["weight"]) for one in shown["words"]] == sense.words
        for one in shown["labels"]:
            assert model.label_names_[one["label"]] == one["name"]
        for one in shown["words"]:
            assert model.feature_names_[one["feature"]] == one["name"]
        assert shown["examples"]
    assert (found["labels"], found["words"], found["examples"]) == ([], [], [])


def test_a_label_with_one_meaning_has_no_senses_but_words_and_texts_of_its_own(client, store):
    model = store.current().classifier
    number = model.label_names_.index("artillery")
    found = get(client, f"/v1/labels/{number}")
    lookup_schemas.LabelResponse.model_validate(found)
    assert (found["senses"], found["n_senses"]) == ([], 1)
    (meaning,) = senses_of(model, number, n_words=80)
    told = [(one["name"], one["weight"]) for one in found["words"]]
    assert len(told) == 12
    assert told == [word for word in meaning.words if word in told]
    assert found["words"]
    assert found["examples"] == store.current().tagger.examples(number)


def test_a_model_without_senses_describes_its_labels_all_the_same(client):
    found = get(client, "/v1/labels/3", model="named")
    assert (found["senses"], found["evidence"], found["ambiguity"]) == ([], None, None)
    assert found["words"]
    assert found["slots"]


def test_a_label_has_its_slots_apart_from_its_senses(client, store):
    model = store.current().classifier
    number = model.label_names_.index("tank")
    found = get(client, f"/v1/labels/{number}")
    assert found["n_clusters"] == len(found["slots"]) == model.clusters_.copies[number]
    for shown, slot in zip(
        found["slots"], slots_of(model, number, n_words=12, n_neighbours=10), strict=True
    ):
        assert (shown["slot"], shown["cluster"]) == (slot.slot, slot.cluster)
        assert shown["share"] == pytest.approx(slot.share, abs=1e-4)
        assert [tuple(one.values()) for one in shown["words"]] == [*map(tuple, slot.words)]
        assert [one["label"] for one in shown["neighbours"]] == slot.neighbours


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
    for level in found["levels"]:
        assert sum(one["n_given"] for one in level) == model.slot_documents_.sum()
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


def test_quality_is_the_report_of_the_model(client, store):
    found = get(client, "/v1/quality")
    assert found["report"]["accuracy"] == store.current().tagger.model.report_["accuracy"]
    assert found["threshold"] == store.current().tagger.model.threshold_
    assert get(client, "/v1/quality", model="plain")["report"] is None
    assert found["added_since_report"] is None


def test_quality_says_what_is_known_of_senses(client, store):
    layer = store.current().classifier.senses_
    assert get(client, "/v1/quality")["senses"] == {
        "n_judged_labels": layer.n_judged,
        "n_ambiguous_labels": layer.n_shown,
        "evidence": "labels",
        "calibration": layer.calibration,
    }
    assert get(client, "/v1/quality", model="named")["senses"] is None


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
    assert found[0]["senses"]["n_ambiguous_labels"] > 5
    assert found[2]["senses"] is None
    assert [one["has_probabilities"] for one in found] == [True, True, False]
    assert 1000 < found[0]["ordering"]["n_documents"] <= 1500
    assert [one["ordering"] for one in found[1:]] == [{"n_documents": 240}, None]
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
        ("/v1/labels?order=split", 422, "no longer ordered by split; use 'ambiguity'"),
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
            assert operation["summary"], path
            if path.startswith("/v1"):
                refused = operation["responses"]["422"]["content"]
                assert set(refused) == {"application/problem+json"}
    requests = schema["components"]["schemas"]["SuggestRequest"]
    assert requests["examples"][0]["text"]
    assert "security" not in schema


def test_openapi_says_in_a_sentence_what_each_address_does(client):
    paths = get(client, "/openapi.json")["paths"]
    operations = [one for of_path in paths.values() for one in of_path.values()]
    assert paths["/v1/suggest"]["post"]["summary"] == "Suggest labels for one document, best first"
    assert all(len(one["summary"].split()) > 3 for one in operations)
    assert not any(one["summary"] in one.get("description", "") for one in operations)


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


def test_the_page_of_the_api_loads_nothing_from_elsewhere(client):
    response = client.get("/docs")
    assert "//" not in response.text.replace("<!doctype html>", "")
    assert (
        response.headers["content-security-policy"]
        == client.get("/").headers["content-security-policy"]
    )
    assert client.get("/redoc").status_code == 404


def test_labels_that_have_uris_are_listed_with_them(store):
    tagger = copy(store.current().tagger)
    assert "uri" not in Catalogue(tagger).summary(3)
    tagger.label_uris = [f"urn:{label}" for label in range(tagger.classifier.n_labels_)]
    label = Catalogue(tagger).label(tagger.label_number("tank"))
    beside = [one for sense in label["senses"] for one in sense["labels"]]
    neighbours = [one for slot in label["slots"] for one in slot["neighbours"]]
    assert beside
    assert neighbours
    for one in (label, *beside, *neighbours):
        assert one["uri"] == f"urn:{one['label']}"
