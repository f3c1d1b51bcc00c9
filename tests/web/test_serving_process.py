"""``polyseme serve`` as a process of its own: start, load, replace, stop."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPResponse
from importlib import import_module

import httpx
import pytest

from polyseme.demo import make_corpus
from polyseme.server import running
from polyseme.server.running import _listening
from polyseme.server.settings import ServerSettings
from tests.end_to_end.command_line import refuse, run
from tests.web.conftest import (
    TEXT,
    assert_problem,
    assert_same_suggestions,
    running_server,
)

serve_verb = import_module("polyseme.cli.serve")


@pytest.fixture(scope="module")
def server(text_folder, plain_folder, tmp_path_factory):
    """A server that most tests here share, and the folder that it watches."""
    folder = tmp_path_factory.mktemp("served") / "demo"
    shutil.copytree(text_folder, folder)
    with running_server(folder, f"other={plain_folder}", "--reload-seconds", "0.2") as (
        process,
        client,
    ):
        yield process, client, folder


def wait_until_under_way(client, n_requests):
    until = time.monotonic() + 10
    while f"polyseme_requests_under_way {n_requests}.0" not in client.get("/metrics").text:
        assert time.monotonic() < until
        time.sleep(0.02)


def test_many_clients_at_once_get_the_right_answers(server):
    _, client, _ = server
    texts = make_corpus(60, seed=5).texts
    body = {"texts": texts, "limit": 4}
    expected = client.post("/v1/suggest-batch", json=body).json()["results"]

    def ask(i):
        return client.post("/v1/suggest", json={"text": texts[i], "limit": 4}).json()

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, list(range(60)) * 3))
    for answer, wanted in zip(answers, expected * 3, strict=True):
        assert_same_suggestions(answer["suggestions"], wanted)


def test_it_listens_on_this_machine_only(server):
    _, client, _ = server
    assert client.base_url.host == "127.0.0.1"


def test_a_replaced_model_is_taken_up_while_clients_ask(server, text_folder):
    _, client, folder = server
    statuses, done = [], threading.Event()

    def ask():
        while not done.is_set():
            statuses.append(client.post("/v1/suggest", json={"text": TEXT}).status_code)

    def loaded_at():
        return client.get("/healthz").json()["models"]["demo"]["loaded_at"]

    asker = threading.Thread(target=ask)
    asker.start()
    before = loaded_at()
    staged = folder.parent / "model.json"
    shutil.copy(folder / "model.json", staged)
    os.replace(staged, folder / "model.json")
    until = time.monotonic() + 15
    while loaded_at() == before and time.monotonic() < until:
        time.sleep(0.05)
    done.set()
    asker.join()
    assert loaded_at() > before
    assert set(statuses) == {200}


def test_a_model_that_is_cut_short_on_disk_is_still_served(text_folder, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(text_folder, folder)
    with running_server(folder) as (process, client):
        before = client.post("/v1/suggest", json={"text": TEXT}).json()
        for file in folder.glob("*.safetensors"):
            os.truncate(file, 100)
        assert client.post("/v1/suggest", json={"text": TEXT}).json() == before
        label = before["suggestions"][0]["label"]
        assert client.get(f"/v1/labels/{label}").status_code == 200
        assert client.post("/v1/explain", json={"text": TEXT}).status_code == 200
        assert client.get("/v1/quality").status_code == 200
        assert process.poll() is None


def test_bytes_that_are_no_http_do_not_hurt(server):
    _, client, _ = server
    with socket.create_connection((client.base_url.host, client.base_url.port)) as raw:
        raw.sendall(b"\x16\x03\x01 this is not HTTP\r\n\r\n")
        raw.recv(1000)
    assert client.get("/healthz").status_code == 200


def test_a_client_that_goes_away_does_not_hurt(server):
    _, client, _ = server
    head = b"POST /v1/suggest HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
    for _ in range(20):
        with socket.create_connection((client.base_url.host, client.base_url.port)) as raw:
            raw.sendall(head + b'{"text":')
    assert client.post("/v1/suggest", json={"text": TEXT}).status_code == 200
    wait_until_under_way(client, 1)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_requests_under_way_are_finished_on_shutdown(plain_folder, stop):
    body = json.dumps({"features": [[1, 1.0]]}).encode()
    head = f"POST /v1/suggest HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    with running_server(plain_folder) as (process, client):
        address = (client.base_url.host, client.base_url.port)
        assert client.get("/healthz").status_code == 200
        with socket.create_connection(address, timeout=10) as raw:
            raw.sendall(head.encode() + body[:5])
            wait_until_under_way(client, 2)  # it, and the one that asks
            process.send_signal(stop)
            time.sleep(0.4)
            assert process.poll() is None
            raw.sendall(body[5:])
            answer = HTTPResponse(raw)
            answer.begin()
            assert answer.status == 200
            assert "suggestions" in json.load(answer)
        assert process.wait(timeout=10) == (0 if stop == signal.SIGTERM else 130)
        assert "Traceback" not in process.stderr.read()
        with pytest.raises(httpx.ConnectError):
            client.get("/healthz")


def test_a_token_can_come_from_the_environment(plain_folder, monkeypatch):
    monkeypatch.setenv("POLYSEME_TOKEN", "from-outside")
    with running_server(plain_folder) as (_, client):
        assert_problem(client.get("/v1/models"), 401)
        headers = {"Authorization": "Bearer from-outside"}
        assert client.get("/v1/models", headers=headers).status_code == 200


def test_a_model_that_is_not_there_is_one_sentence(tmp_path):
    said = refuse("serve", tmp_path / "none", "--port", 0)
    assert said.startswith(f"polyseme: there is no model at {tmp_path / 'none'}; give ")
    assert said.count("\n") == 1


def test_a_port_that_is_taken_is_one_sentence(plain_folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refuse("serve", plain_folder, "--port", port)
    assert said.startswith(f"polyseme: cannot listen at 127.0.0.1:{port}: ")
    assert said.count("\n") == 1


def test_an_address_that_is_none_is_one_sentence(plain_folder):
    said = refuse("serve", plain_folder, "--host", "no.such.host.invalid")
    assert "cannot listen at no.such.host.invalid" in said


@pytest.mark.parametrize("token", [" ", "schlüssel"])
def test_a_token_that_cannot_be_sent_is_refused(plain_folder, token):
    said = refuse("serve", plain_folder, "--token", token)
    assert "the token must be plain characters" in said


def test_without_the_extra_a_sentence_says_how_to_get_it(monkeypatch):
    find_spec = serve_verb.find_spec
    monkeypatch.setattr(
        serve_verb, "find_spec", lambda name: None if name == "fastapi" else find_spec(name)
    )
    said = refuse("serve", "model")
    assert "a server needs fastapi; install polyseme with the extra 'server'" in said


def test_answers_do_not_wait_for_the_client_to_confirm_a_part_of_them():
    with _listening("127.0.0.1", 0) as listener:
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_options_of_serve_reach_the_server(plain_folder, monkeypatch):
    asked = {}

    def serve(paths, settings, *, on_start, **others):
        asked.update(others, paths=paths, settings=settings)
        on_start("http://address")

    monkeypatch.setattr(running, "serve", serve)
    limits = {"max_body": 6, "max_text": 5, "max_batch": 7, "max_concurrent": 8}
    options = [f"--{name.replace('_', '-')}={value}" for name, value in limits.items()]
    options += ["--grace=9", "--reload-seconds=0.5", "--token=secret", "--threads=2"]
    said = run("serve", f"mine={plain_folder}", *options, "--host=0.0.0.0", "--access-log").stderr
    assert "everybody" not in said
    kept = asked["settings"].planes_folder
    assert kept is None or kept.name == "planes"
    known = {"token": "secret", "reload_seconds": 0.5, "n_threads": 2, "looks_ahead": True}
    assert asked == {
        "paths": {"mine": plain_folder},
        "settings": ServerSettings(planes_folder=kept, **known, **limits),
        "host": "0.0.0.0",
        "port": 8000,
        "grace_seconds": 9,
        "access_log": True,
    }


@pytest.mark.parametrize(
    ("host", "is_open"),
    [
        ("127.0.0.1", False),
        ("localhost", False),
        ("::1", False),
        ("192.168.0.7", True),
        ("0.0.0.0", True),
    ],
)
def test_who_lets_everybody_in_is_told_so(plain_folder, monkeypatch, host, is_open):
    monkeypatch.setattr(running, "serve", lambda *_, on_start, **__: on_start("http://address"))
    said = run("serve", plain_folder, "--host", host).stderr
    assert ("everybody who can reach this machine may ask" in said) == is_open
