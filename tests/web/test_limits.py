"""What a server refuses: strangers, too much at once, too large."""

from __future__ import annotations

import asyncio
import threading

import httpx
import pytest

from polyseme.server.app import create_app
from polyseme.server.settings import ServerSettings
from tests.web.conftest import TEXT, assert_problem, client_with

PATHS = ["/v1/models", "/v1/labels", "/v1/nothing", "/metrics"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "given", [None, "secret", "Bearer", "Bearer wrong", "Basic secret", "Bearer sécret"]
)
def test_without_the_token_nothing_is_told(store, path, given):
    headers = {} if given is None else {"Authorization": given.encode("latin-1")}
    with client_with(store, token="secret") as client:
        response = client.get(path, headers=headers)
        assert "bearer token" in assert_problem(response, 401)
        assert response.headers["www-authenticate"] == "Bearer"


def test_with_the_token_everything_is_answered(store):
    with client_with(store, token="secret") as client:
        for given in ("Bearer secret", "bearer  secret"):
            headers = {"Authorization": given}
            assert client.get("/v1/models", headers=headers).status_code == 200
        assert client.get("/metrics", headers=headers).status_code == 200
        assert client.get("/healthz").status_code == 200  # whoever watches has no token


def test_a_body_that_is_too_large_is_refused(store):
    with client_with(store, max_body=100) as client:
        assert client.post("/v1/suggest", json={"text": "a"}).status_code == 200
        large = client.post("/v1/suggest", json={"text": "a" * 100})
        assert "more than 100 bytes" in assert_problem(large, 413)


def answer_and_parts_read(app, path, parts, *, method="POST", headers=()):
    """Ask an app without a server between; return the status and how many parts it took."""
    waiting, statuses, n_parts = list(parts), [], len(parts)

    async def receive():
        part = waiting.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(waiting)}

    async def send(message):
        statuses.append(message.get("status"))

    asyncio.run(app(asgi_scope(path, method, headers), receive, send))
    return statuses[0], n_parts - len(waiting)


def asgi_scope(path, method="POST", headers=()):
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": list(headers),
        "http_version": "1.1",
        "scheme": "http",
        "server": ("server", 80),
        "client": ("client", 1),
    }


def test_a_body_of_unknown_length_is_read_no_further_than_the_limit(store):
    app = create_app(store, ServerSettings(max_body=100, reload_seconds=0))
    assert answer_and_parts_read(app, "/v1/suggest", [b"x" * 50] * 1000) == (413, 3)


def test_a_body_that_says_it_is_too_large_is_not_read_at_all(store):
    app = create_app(store, ServerSettings(max_body=100, reload_seconds=0))
    length = [(b"content-length", b"101")]
    assert answer_and_parts_read(app, "/v1/suggest", [b"x"] * 9, headers=length) == (413, 0)


def test_a_body_without_the_token_is_not_read_at_all(store):
    app = create_app(store, ServerSettings(token="secret", reload_seconds=0))
    for path in ("/v1/suggest", "/v1/explain", "/v1/suggest-batch", "/metrics"):
        assert answer_and_parts_read(app, path, [b"x"] * 9) == (401, 0)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/", 405),
        ("POST", "/page/app.js", 405),
        ("POST", "/healthz", 405),
        ("POST", "/metrics", 405),
        ("POST", "/openapi.json", 405),
        ("POST", "/nothing", 404),
        ("POST", "/v1/nothing", 404),
        ("POST", "/v1/models", 405),
        ("POST", "/v1/suggest/", 307),
        ("PUT", "/v1/suggest", 405),
        ("DELETE", "/v1/suggest", 405),
        ("OPTIONS", "/nothing", 404),
        ("GET", "/v1/models", 200),
        ("GET", "/healthz", 200),
    ],
)
def test_where_no_body_is_wanted_none_is_read(store, method, path, status):
    app = create_app(store, ServerSettings(reload_seconds=0))
    parts = [b"x" * 1000] * 9
    assert answer_and_parts_read(app, path, parts, method=method) == (status, 0)


def test_a_text_that_is_too_long_is_refused(store):
    with client_with(store, max_text=10) as client:
        assert client.post("/v1/suggest", json={"text": "a" * 10}).status_code == 200
        for path, body in (
            ("suggest", {"text": "a" * 11}),
            ("explain", {"text": "a" * 11}),
            ("suggest-batch", {"texts": ["a", "a" * 11]}),
        ):
            refused = client.post(f"/v1/{path}", json=body)
            assert "more than 10 characters" in assert_problem(refused, 413)
        assert assert_problem(refused, 413).startswith("Document 1: ")


def test_a_batch_that_is_too_large_is_refused(store):
    with client_with(store, max_batch=2) as client:
        assert client.post("/v1/suggest-batch", json={"texts": ["a", "b"]}).status_code == 200
        refused = client.post("/v1/suggest-batch", json={"texts": ["a", "b", "c"]})
        assert "at most 2 documents" in assert_problem(refused, 413)


def test_more_than_can_be_under_way_are_told_to_come_again(store, monkeypatch):
    served = store.current()
    may_go_on, original = threading.Event(), served.answer_all

    def slow(questions):
        assert may_go_on.wait(10)
        return original(questions)

    monkeypatch.setattr(served, "answer_all", slow)

    async def ask_many():
        app = create_app(store, ServerSettings(max_concurrent=3, reload_seconds=0))
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://server") as client:
            asked = [
                asyncio.create_task(client.post("/v1/suggest", json={"text": TEXT}))
                for _ in range(3)
            ]
            await asyncio.sleep(0.1)
            refused = await client.post("/v1/suggest", json={"text": TEXT})
            alive = await client.get("/healthz")
            may_go_on.set()
            answered = await asyncio.gather(*asked)
            after = await client.post("/v1/suggest", json={"text": TEXT})
        return refused, alive, answered, after

    refused, alive, answered, after = asyncio.run(ask_many())
    assert "3 requests are under way" in assert_problem(refused, 503)
    assert refused.headers["retry-after"] == "1"
    assert [response.status_code for response in (alive, *answered, after)] == [200] * 5


def test_a_client_that_sends_too_slowly_is_told_so(store):
    async def receive():
        await asyncio.sleep(5)

    sent = []

    async def send(message):
        sent.append(message)

    app = create_app(store, ServerSettings(body_seconds=0.05, reload_seconds=0))
    asyncio.run(app(asgi_scope("/v1/suggest"), receive, send))
    assert sent[0]["status"] == 408
    assert (b"content-type", b"application/problem+json") in sent[0]["headers"]


def test_a_bug_is_a_problem_that_says_nothing_of_its_cause(store, monkeypatch):
    def broken(questions):
        raise RuntimeError("secret path")

    monkeypatch.setattr(store.current(), "answer_all", broken)
    with client_with(store) as client:
        detail = assert_problem(client.post("/v1/suggest", json={"text": TEXT}), 500)
        assert "secret" not in detail
        # A connection is not used again after a bug, so this needs one of its own.
        assert 'status="500"' in httpx.get(f"{client.base_url}/metrics").text
