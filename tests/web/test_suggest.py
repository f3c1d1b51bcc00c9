"""Suggestions over HTTP are those of the model."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from polyseme.demo import make_corpus
from tests.small_data import topics
from tests.web.conftest import BATTLE, TEXT, assert_problem, assert_same_suggestions, client_with


def as_pairs(row):
    return list(zip(row.indices.tolist(), row.data.tolist(), strict=True))


def test_a_text_gets_the_labels_that_the_model_suggests(client, store):
    texts = make_corpus(20, seed=1).texts
    expected = store.current().tagger.model.suggest(texts, limit=5)
    for text, wanted in zip(texts, expected, strict=True):
        answer = client.post("/v1/suggest", json={"text": text, "limit": 5}).json()
        assert answer["model"] == "demo"
        got = [(one["label"], one["name"]) for one in answer["suggestions"]]
        assert got == [(one.label, one.name) for one in wanted]
        scores = [one["score"] for one in answer["suggestions"]]
        assert scores == pytest.approx([one.score for one in wanted], abs=1e-6)


def test_a_label_with_several_senses_is_suggested_in_one_of_them(client, store):
    texts = [BATTLE, "A tank for fish, of glass, with coral and water plants: a quiet hobby."]
    tank = store.current().tagger.label_number("tank")
    senses = client.get(f"/v1/labels/{tank}").json()["senses"]
    body = {"texts": texts, "limit": 50, "threshold": 0}
    results = client.post("/v1/suggest-batch", json=body).json()["results"]
    named = []
    for text, found in zip(texts, results, strict=True):
        alone = {"text": text, "limit": 50, "threshold": 0}
        assert_same_suggestions(
            found, client.post("/v1/suggest", json=alone).json()["suggestions"]
        )
        (sense,) = [one["sense"] for one in found if one["name"] == "tank"]
        assert sense["name"] == senses[sense["place"]]["name"]
        named.append(senses[sense["place"]])
    war, hobby = ({label["name"] for label in sense["labels"]} for sense in named)
    assert "artillery" in war - hobby
    assert "coral" in hobby - war


def test_labels_with_one_meaning_are_suggested_without_a_sense(client, store):
    model = store.current().classifier
    body = {"text": BATTLE, "limit": 50, "threshold": 0}
    for one in client.post("/v1/suggest", json=body).json()["suggestions"]:
        assert ("sense" in one) == (len(model.senses_.senses_of(one["label"])) > 0)
    body = {"model": "named", "features": {"word 1": 1.0}}
    found = client.post("/v1/suggest", json=body).json()["suggestions"]
    assert not any("sense" in one for one in found)


def test_a_sense_does_not_depend_on_how_many_labels_are_wanted(client):
    for text in make_corpus(20, seed=4).texts:
        few, many = (
            client.post("/v1/suggest", json={"text": text, "limit": limit, "threshold": 0}).json()[
                "suggestions"
            ]
            for limit in (3, 300)
        )
        assert few == many[:3]


def test_a_batch_of_texts_gets_what_each_text_gets(client):
    texts = make_corpus(150, seed=2).texts
    batch = client.post("/v1/suggest-batch", json={"texts": texts, "limit": 3}).json()["results"]
    assert len(batch) == 150
    for text, found in list(zip(texts, batch, strict=True))[::30]:
        alone = client.post("/v1/suggest", json={"text": text, "limit": 3}).json()
        assert_same_suggestions(found, alone["suggestions"])


def test_an_empty_batch_has_no_results(client):
    assert client.post("/v1/suggest-batch", json={"texts": []}).json()["results"] == []


def test_features_by_number_get_what_the_model_predicts(client, store):
    X = topics().X_test
    labels, scores = store.current("plain").classifier.predict_top_k(X, 4)
    rows = [as_pairs(X[[i]]) for i in range(5)]
    body = {"model": "plain", "features": rows, "limit": 4}
    results = client.post("/v1/suggest-batch", json=body).json()["results"]
    for i, found in enumerate(results):
        assert [one["label"] for one in found] == labels[i].tolist()
        assert [one["score"] for one in found] == pytest.approx(scores[i], abs=1e-6)
        as_text = {str(column): value for column, value in rows[i]}
        for features in (rows[i], rows[i][::-1], as_text):
            body = {"model": "plain", "features": features, "limit": 4}
            assert client.post("/v1/suggest", json=body).json()["suggestions"] == found


def test_features_by_name_get_what_features_by_number_get(client):
    X = topics(n_labels=8).X_test
    for i in range(4):
        by_number = as_pairs(X[[i]])
        by_name = {f"word {column}": value for column, value in by_number}
        answers = [
            client.post("/v1/suggest", json={"model": "named", "features": features}).json()
            for features in (by_number, by_name)
        ]
        assert answers[0] == answers[1]
        assert answers[0]["suggestions"][0]["name"].startswith("Topic ")


def test_a_text_model_takes_features_and_answers_with_the_same_probabilities(client, store):
    row = store.current().tagger.model.features_.transform([TEXT])
    by_features = client.post("/v1/suggest", json={"features": as_pairs(row)}).json()
    assert by_features == client.post("/v1/suggest", json={"text": TEXT}).json()


def test_a_threshold_leaves_out_lower_scores(client):
    everything = {"text": TEXT, "limit": 50, "threshold": 0}
    found = client.post("/v1/suggest", json=everything).json()["suggestions"]
    middle = found[len(found) // 2]["score"]
    body = {"text": TEXT, "limit": 50, "threshold": middle + 1e-5}
    fewer = client.post("/v1/suggest", json=body).json()["suggestions"]
    assert fewer == [one for one in found if one["score"] > middle + 1e-5]
    assert 0 < len(fewer) < len(found)


def test_a_bare_score_is_no_probability_and_so_any_threshold_will_do(client):
    body = {"features": as_pairs(topics(n_labels=8).X_test[[0]]), "model": "named"}
    found = client.post("/v1/suggest", json=body).json()["suggestions"]
    for threshold in (-1, 2):
        some = client.post("/v1/suggest", json={**body, "threshold": threshold}).json()
        assert some["suggestions"] == [one for one in found if one["score"] >= threshold]


def test_requests_that_arrive_together_get_their_own_answers(store):
    texts = make_corpus(40, seed=3).texts
    limits = [1 + i % 5 for i in range(40)]
    bodies = [
        {"text": text, "limit": limit, "threshold": 0}
        for text, limit in zip(texts, limits, strict=True)
    ]
    with client_with(store) as client:
        alone = [client.post("/v1/suggest", json=body).json() for body in bodies]
        with ThreadPoolExecutor(16) as pool:
            together = list(pool.map(lambda b: client.post("/v1/suggest", json=b).json(), bodies))
        for found, expected in zip(together, alone, strict=True):
            assert_same_suggestions(found["suggestions"], expected["suggestions"])
        assert [len(one["suggestions"]) for one in alone] == limits
        assert "polyseme_batch_size_count" in client.get("/metrics").text


def test_questions_of_different_kinds_are_answered_in_one_batch(store):
    from polyseme.server.served_model import Question

    served = store.current()
    row = served.row_of(as_pairs(served.tagger.model.features_.transform([TEXT])))
    questions = [
        Question(TEXT, 3, 0.0),
        Question(row, 5, 0.0),
        Question(TEXT, 7, None),
        Question("", 2, 0.0),
    ]
    together = served.answer_all(questions)
    alone = [served.answer_all([question])[0] for question in questions]
    for found, expected in zip(together, alone, strict=True):
        assert [one.label for one in found] == [one.label for one in expected]
        assert [one.score for one in found] == pytest.approx([one.score for one in expected])


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ({}, 422, "give either text or features"),
        ({"text": "a", "features": []}, 422, "give either text or features"),
        ({"text": "a", "model": "other"}, 404, "There is no such model; there are: demo, plain"),
        ({"text": "a", "model": "plain"}, 422, "takes features, not texts"),
        ({"text": "a", "limit": 0}, 422, "/limit"),
        ({"text": "a", "limit": 1001}, 422, "/limit"),
        ({"text": "a", "threshold": 2}, 422, "a probability from 0 to 1"),
        ({"features": [], "model": "plain", "threshold": 2}, 422, "a probability from 0 to 1"),
        ({"text": "a", "treshold": 0.5}, 422, "/treshold"),
        ({"text": 5}, 422, "/text"),
        (
            {"features": {"no such word": 1}},
            422,
            "has no feature 'no such word'",
        ),
        ({"model": "plain", "features": {"tank": 1}}, 422, "a number instead of 'tank'"),
        ({"model": "plain", "features": [[97, 1]]}, 422, "has features 0 to 96"),
        ({"model": "plain", "features": [[-1, 1]]}, 422, "has features 0 to 96"),
        ({"model": "plain", "features": {"97": 1}}, 422, "numbered from 0 to 96"),
        ({"model": "plain", "features": [[1, 1], [1, 2]]}, 422, "given twice"),
        ({"model": "plain", "features": [[1, 1e30]]}, 422, "must lie between"),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(client, body, status, sentence):
    assert sentence in assert_problem(client.post("/v1/suggest", json=body), status)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b"[]", 422),
        (b"null", 422),
        (b'"text"', 422),
        (b"\xff\xfe", 400),
        (b'{"model": "plain", "features": [[1, NaN]]}', 422),
        (b'{"model": "plain", "features": [[1, Infinity]]}', 422),
        (b'{"model": "plain", "features": [[1, 1e999]]}', 422),
        (b'{"text": "a", "limit": 1' + b"0" * 5000 + b"}", 400),
        (b"[" * 100_000, 400),
        (b'{"text": "a", "\\ud800": 1}', 422),
    ],
)
def test_odd_bodies_are_refused_in_words(client, content, status):
    assert_problem(client.post("/v1/suggest", content=content), status)


def test_a_wrong_document_of_a_batch_is_named_in_words(client):
    body = {"model": "plain", "features": [[[1, 1.0]], [[1000, 1.0]]]}
    assert "outside" in assert_problem(client.post("/v1/suggest-batch", json=body), 422)


def test_a_text_without_a_known_word_still_gets_an_answer(client):
    for text in ("", " ", "xyzzy", "\x00", "😀"):
        assert client.post("/v1/suggest", json={"text": text}).status_code == 200
    half_a_character = b'{"text": "\\ud800 tank"}'
    assert client.post("/v1/suggest", content=half_a_character).status_code == 200
    assert client.post("/v1/explain", content=half_a_character).status_code == 200


def test_a_batcher_answers_in_order_and_shares_batches():
    from polyseme.server.batching import Batcher

    sizes = []

    def answer_all(questions):
        sizes.append(len(questions))
        return [2 * question for question in questions]

    async def ask_many():
        with ThreadPoolExecutor(2) as pool:
            batcher = Batcher(answer_all, pool, max_size=8)
            return await asyncio.gather(*(batcher.ask(i) for i in range(20)))

    assert asyncio.run(ask_many()) == [2 * i for i in range(20)]
    assert sizes == [1, 8, 8, 3]


def test_an_error_in_a_batch_reaches_all_who_asked_and_nobody_after():
    from polyseme.server.batching import Batcher

    def answer_all(questions):
        if 1 in questions:
            raise ValueError("one is not answered")
        return questions

    async def ask_many():
        with ThreadPoolExecutor(2) as pool:
            batcher = Batcher(answer_all, pool)
            first = await asyncio.gather(
                *(batcher.ask(i) for i in range(4)), return_exceptions=True
            )
            return first, await batcher.ask(5)

    first, after = asyncio.run(ask_many())
    assert [type(one) for one in first] == [int, ValueError, ValueError, ValueError]
    assert after == 5


def test_who_stops_waiting_is_left_out_of_the_next_batch():
    from polyseme.server.batching import Batcher

    seen = []

    def answer_all(questions):
        seen.extend(questions)
        return questions

    async def ask_and_leave():
        with ThreadPoolExecutor(1) as pool:
            batcher = Batcher(answer_all, pool)
            tasks = [asyncio.create_task(batcher.ask(i)) for i in range(3)]
            await asyncio.sleep(0)
            tasks[1].cancel()
            return await asyncio.gather(*tasks, return_exceptions=True)

    first, left, last = asyncio.run(ask_and_leave())
    assert (first, last) == (0, 2)
    assert isinstance(left, asyncio.CancelledError)
    assert seen == [0, 2]


def test_rows_keep_what_float32_keeps(store):
    columns, values = store.current("plain").row_of([(5, 0.1), (2, 0.0), (1, -3.0)])
    assert columns.tolist() == [1, 5]
    assert values.tolist() == [np.float32(-3), np.float32(0.1)]
