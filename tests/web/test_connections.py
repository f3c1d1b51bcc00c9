"""Clients that say nothing, or take nothing, do not keep others out."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack, contextmanager
from http.client import HTTPResponse

import pytest

from polyseme.server import connections
from polyseme.server.connections import connections_with
from polyseme.server.settings import ServerSettings
from tests.web.conftest import client_with

HALF_A_HEAD = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"


@contextmanager
def connected(client, sent=b""):
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=10) as raw:
        raw.sendall(sent)
        yield raw


def send_until_closed(raw, data, *, times, pause):
    """Send the same again and again; an error if the server hangs up."""
    for _ in range(times):
        raw.sendall(data)
        time.sleep(pause)


def is_closed(raw):
    """Wait until the server closes a connection; false if it does not within twenty seconds."""
    raw.settimeout(20)
    try:
        while raw.recv(1 << 16):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


@pytest.mark.parametrize("sent", [b"", HALF_A_HEAD])
def test_a_head_that_does_not_come_ends_the_connection(store, sent):
    with client_with(store, head_seconds=0.2) as client, connected(client, sent) as raw:
        assert is_closed(raw)


def test_a_head_that_comes_in_drops_ends_the_connection(store):
    with (
        client_with(store, head_seconds=0.2) as client,
        connected(client, HALF_A_HEAD) as raw,
        pytest.raises(ConnectionError),
    ):
        send_until_closed(raw, b"X", times=250, pause=0.02)


def test_a_second_head_that_does_not_come_ends_the_connection(store):
    whole = HALF_A_HEAD + b"\r\n"
    with client_with(store, head_seconds=0.3) as client, connected(client, whole) as raw:
        answer = HTTPResponse(raw)
        answer.begin()
        assert answer.status == 200
        answer.read()
        raw.sendall(HALF_A_HEAD)
        assert is_closed(raw)


def test_the_rest_of_a_refused_body_is_not_waited_for(store):
    with client_with(store, head_seconds=0.2) as client:
        head = b"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
        with connected(client, head + b"x") as raw:
            answer = HTTPResponse(raw)
            answer.begin()
            assert answer.status == 404
            answer.read()
            raw.sendall(b"x")
            assert is_closed(raw)


def test_of_too_many_that_wait_the_oldest_are_cut_off_and_others_are_served(store):
    with client_with(store, max_waiting=20, head_seconds=60) as client, ExitStack() as stack:
        held = []
        for i in range(60):
            held.append(stack.enter_context(connected(client, HALF_A_HEAD)))
            if i % 10 == 0:
                # A connection that was kept would wait as well, and might be the oldest.
                answer = client.get("/healthz", headers={"Connection": "close"})
                assert answer.status_code == 200
        assert all(is_closed(raw) for raw in held[:39])
        newest = held[-1]
        newest.sendall(b"\r\n")
        answer = HTTPResponse(newest)
        answer.begin()
        assert answer.status == 200


def test_a_request_under_way_does_not_count_as_waiting(store):
    with client_with(store, max_waiting=3, head_seconds=60) as client, ExitStack() as stack:
        body = b'{"text": "a"}'
        head = b"POST /v1/suggest HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
        slow = stack.enter_context(connected(client, head + body[:5]))
        time.sleep(0.2)
        for _ in range(10):
            stack.enter_context(connected(client, HALF_A_HEAD))
        assert client.get("/healthz").status_code == 200
        slow.sendall(body[5:])
        answer = HTTPResponse(slow)
        answer.begin()
        assert answer.status == 200


@pytest.mark.parametrize(
    "start",
    [
        b"GET /healthz HTTP/1.1\r\n",
        b"GET /healthz?",
        b"POST /v1/suggest HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n",
        b"POST /v1/suggest HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;",
    ],
)
def test_a_head_without_an_end_is_refused(store, start):
    line = b"a" * 990 + b": b\r\n" if start.endswith(b"\r\n") else b"a" * 1000
    with client_with(store) as client, connected(client, start) as raw:
        with pytest.raises(ConnectionError):
            send_until_closed(raw, line, times=1000, pause=0.001)
        assert client.get("/healthz").status_code == 200


def test_an_answer_that_is_not_fetched_ends_the_connection(store):
    with client_with(store, head_seconds=0.3) as client:
        address = (client.base_url.host, client.base_url.port)
        with socket.socket() as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.settimeout(10)
            raw.connect(address)
            ask = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
            with pytest.raises(ConnectionError):
                send_until_closed(raw, ask, times=1000, pause=0.005)


def test_no_more_may_wait_than_half_of_the_files_that_can_be_open(monkeypatch):
    monkeypatch.setattr(connections, "_most_files", lambda: 256)
    assert connections_with(ServerSettings()).max_waiting == 128
    monkeypatch.setattr(connections, "_most_files", lambda: 2**63)
    assert connections_with(ServerSettings(max_waiting=700)).max_waiting == 700
