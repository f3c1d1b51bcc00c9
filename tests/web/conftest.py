"""Models to serve, an app in this process, and a server in one of its own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager

import httpx
import pytest
import uvicorn

from polyseme import TextModel, XRLinear
from polyseme.demo import make_corpus
from polyseme.server.app import create_app
from polyseme.server.connections import connections_with
from polyseme.server.model_store import ModelStore
from polyseme.server.settings import ServerSettings
from tests.small_data import topics

TEXT = "The crew of the tank crossed the river under fire and the armour held."
BATTLE = "The army sent its troops into battle behind a tank, and the siege ended the war."


@pytest.fixture(scope="session")
def text_folder(tmp_path_factory):
    """A model that takes texts; "tank" and other labels have two senses."""
    corpus = make_corpus(1500, seed=0)
    classifier = XRLinear(
        copies=2, max_leaf_size=16, beam_size=3, assignment="coverage", verbose=0
    )
    model = TextModel(classifier=classifier, verbose=0).fit(corpus.texts, corpus.labels)
    folder = tmp_path_factory.mktemp("models") / "demo"
    model.save(folder)
    return folder


@pytest.fixture(scope="session")
def plain_folder(tmp_path_factory):
    """A model without any names, which takes features only."""
    data = topics()
    folder = tmp_path_factory.mktemp("models") / "plain"
    XRLinear(max_leaf_size=4, verbose=0).fit(data.X, data.Y).save(folder)
    return folder


@pytest.fixture(scope="session")
def named_folder(tmp_path_factory):
    """A model with names of labels and features, but without senses and a learned order."""
    data = topics(n_labels=8)
    names = [f"word {i}" for i in range(data.X.shape[1])]
    labels = [f"Topic {i}" for i in range(8)]
    model = XRLinear(max_leaf_size=100, senses="none", ordering="product", verbose=0)
    model.fit(data.X, data.Y, feature_names=names, label_names=labels)
    folder = tmp_path_factory.mktemp("models") / "named"
    model.save(folder)
    return folder


@pytest.fixture(scope="session")
def store(text_folder, plain_folder, named_folder):
    return ModelStore({"demo": text_folder, "plain": plain_folder, "named": named_folder})


@pytest.fixture(scope="session")
def client(store):
    with client_with(store) as client:
        yield client


@contextmanager
def client_with(store, **settings):
    """Yield a client of an app with settings of its own, run by a thread of this process."""
    chosen = ServerSettings(**{"reload_seconds": 0, **settings})
    config = uvicorn.Config(
        create_app(store, chosen),
        http=connections_with(chosen),
        log_config=None,
        access_log=False,
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            with httpx.Client(base_url=url, timeout=20) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()


def hear_interrupts():
    """Undo what a script does to all that it starts in the background: it is deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def running_server(*arguments):
    """Start ``polyseme serve`` on a free port; yield the process and a client of it."""
    command = [sys.executable, "-m", "polyseme", "serve", *map(str, arguments)]
    with subprocess.Popen(
        [*command, "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    ) as process:
        try:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            with httpx.Client(base_url=json.loads(line)["url"], timeout=20) as client:
                yield process, client
        finally:
            if process.poll() is None:
                process.kill()


def get(client, path, **parameters):
    """Return what is at a path, which must be there."""
    response = client.get(path, params=parameters)
    assert response.status_code == 200, response.text
    return response.json()


def assert_problem(response, status):
    """Check that a response is a problem with this status, and return its sentence."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["status"] == status
    assert body["type"] == "about:blank"
    assert body["title"]
    assert body["detail"]
    return body["detail"]


def assert_same_suggestions(found, expected):
    """Check that two lists agree but for the rounding of scores."""
    for key in ("label", "sense"):
        assert [one.get(key) for one in found] == [one.get(key) for one in expected]
    assert [one["score"] for one in found] == pytest.approx(
        [one["score"] for one in expected], abs=1e-5
    )
