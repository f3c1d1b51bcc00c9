"""A model that is replaced on disk is served from then on; a damaged one is not."""

from __future__ import annotations

import json
import logging
import shutil
import threading
import time

import numpy as np
import pytest

import polyseme
from polyseme import XRLinear
from polyseme.server import model_store
from polyseme.server.model_store import ModelStore, models_named
from tests.model_folders import edit_description
from tests.web.conftest import client_with

QUESTION = {"features": [[0, 1.0]], "limit": 1}


def save_model(folder, names):
    X = np.eye(3, dtype=np.float32)
    XRLinear(verbose=0).fit(X, X, label_names=names).save(folder)


@pytest.fixture
def folder(tmp_path):
    save_model(tmp_path / "model", ["old a", "old b", "old c"])
    return tmp_path / "model"


def best(client):
    response = client.post("/v1/suggest", json=QUESTION)
    assert response.status_code == 200
    return response.json()["suggestions"][0]["name"]


def test_a_replaced_model_is_served_without_a_failed_request(folder):
    store = ModelStore({"model": folder})
    with client_with(store, reload_seconds=0.05) as client:
        answers, done = [], threading.Event()

        def ask():
            while not done.is_set():
                answers.append(best(client))

        askers = [threading.Thread(target=ask) for _ in range(3)]
        for asker in askers:
            asker.start()
        for names in (["new a", "new b", "new c"], ["third a", "third b", "third c"]):
            save_model(folder, names)
            until = time.monotonic() + 10
            while best(client) != names[0] and time.monotonic() < until:
                time.sleep(0.02)
        done.set()
        for asker in askers:
            asker.join()
        assert best(client) == "third a"
        assert set(answers) <= {"old a", "new a", "third a"}
        assert len(answers) > 3


def test_nothing_is_loaded_again_that_did_not_change(folder):
    store = ModelStore({"model": folder})
    before = store.current()
    assert store.refresh() == []
    assert store.current() is before


def test_a_question_under_way_keeps_its_model(folder):
    store = ModelStore({"model": folder})
    before = store.current()
    save_model(folder, ["new a", "new b", "new c"])
    assert store.refresh() == ["model"]
    assert before.tagger.label_name(0) == "old a"
    assert store.current().tagger.label_name(0) == "new a"


@pytest.mark.parametrize("damage", ["manifest", "weights", "removed"])
def test_a_damaged_replacement_leaves_the_old_model_in_service(folder, damage, caplog):
    outcomes = []
    store = ModelStore({"model": folder}, on_load=lambda name, outcome: outcomes.append(outcome))
    if damage == "manifest":
        (folder / "model.json").write_text("{")
    elif damage == "weights":
        save_model(folder, ["new a", "new b", "new c"])
        next(folder.glob("weights-*")).write_bytes(b"nothing")
    else:
        shutil.rmtree(folder)
    with client_with(store) as client, caplog.at_level(logging.ERROR):
        assert store.refresh() == []
        assert best(client) == "old a"
        health = client.get("/healthz").json()
        assert health["status"] == "degraded"
        assert health["models"]["model"]["error"]
        assert str(folder) not in health["models"]["model"]["error"]
        assert "stays as it is" in caplog.text
        assert outcomes == ["loaded", "failed"]

        assert store.refresh() == []  # not again and again
        assert outcomes == ["loaded", "failed"]
        shutil.rmtree(folder, ignore_errors=True)
        save_model(folder, ["new a", "new b", "new c"])
        assert store.refresh() == ["model"]
        assert best(client) == "new a"
        assert client.get("/healthz").json()["status"] == "ok"


def wait_for(client, wanted):
    until = time.monotonic() + 10
    while client.get("/healthz").json()["status"] != wanted:
        assert time.monotonic() < until, f"the server is never {wanted}"
        time.sleep(0.02)
    return client.get("/healthz").json()["models"]["model"]


def test_a_replacement_that_fails_in_an_unforeseen_way_does_not_end_the_watch(folder, caplog):
    is_broken, outcomes = threading.Event(), []

    def load(path, **options):
        if is_broken.is_set():
            raise KeyError(f"secret {path}")
        return polyseme.load(path, **options)

    store = ModelStore(
        {"model": folder}, load=load, on_load=lambda name, outcome: outcomes.append(outcome)
    )
    with client_with(store, reload_seconds=0.02) as client:
        for names in (["second", "b", "c"], ["third", "b", "c"]):
            served, logged = best(client), len(caplog.records)
            is_broken.set()
            save_model(folder, names)
            error = wait_for(client, "degraded")["error"]
            assert "KeyError" in error
            assert "secret" not in error
            time.sleep(0.1)
            assert best(client) == served
            assert len(caplog.records) == logged + 1  # once, though it looks again and again
            assert outcomes[-1] == "failed"
            is_broken.clear()
            save_model(folder, names)
            wait_for(client, "ok")
            assert best(client) == names[0]


def test_a_watch_that_cannot_look_says_so_once_and_goes_on(folder, monkeypatch, caplog):
    store = ModelStore({"model": folder})
    refresh, calls = store.refresh, []

    def failing():
        calls.append(None)
        if len(calls) < 5:
            raise RuntimeError("out of order")
        return refresh()

    monkeypatch.setattr(store, "refresh", failing)
    with client_with(store, reload_seconds=0.02) as client:
        save_model(folder, ["new a", "new b", "new c"])
        until = time.monotonic() + 10
        while best(client) != "new a" and time.monotonic() < until:
            time.sleep(0.02)
        assert best(client) == "new a"
    assert caplog.text.count("looking for replaced models failed") == 1


def test_features_of_an_unknown_kind_leave_the_old_model_in_service(text_folder, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(text_folder, folder)
    store = ModelStore({"model": folder})
    sound = (folder / "model.json").read_text()
    features = json.loads(sound)["description"]["features"]
    features["parameters"]["analyzer"] = []
    with client_with(store, reload_seconds=0.02) as client:
        edit_description(folder, features=features)
        assert "analyzer must be" in wait_for(client, "degraded")["error"]
        (folder / "model.json").write_text(sound)
        wait_for(client, "ok")


def test_a_folder_that_arrives_in_parts_is_tried_again(folder, monkeypatch):
    save_model(folder.parent / "new", ["new a", "new b", "new c"])
    store = ModelStore({"model": folder})
    shutil.copy(folder.parent / "new" / "model.json", folder)
    assert store.refresh() == []
    shutil.copytree(folder.parent / "new", folder, dirs_exist_ok=True, copy_function=_if_missing)
    assert store.refresh() == []
    monkeypatch.setattr(model_store, "RETRY_SECONDS", 0)
    assert store.refresh() == ["model"]


def _if_missing(source, target):
    if not target.endswith("model.json"):
        shutil.copy(source, target)


def test_models_are_named_after_their_folders_or_as_told(tmp_path):
    assert list(models_named(["some/demo", "b=other/path", "a/x=y/z"])) == ["demo", "b", "z"]
    with pytest.raises(ValueError, match="two models are called 'demo'"):
        models_named(["a/demo", "b/demo"])
    for wrong in ("=path", "name="):
        with pytest.raises(ValueError, match="is not NAME=PATH"):
            models_named([wrong])
