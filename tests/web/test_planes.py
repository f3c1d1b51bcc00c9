"""The layout of the map's cloud: found by a process of its own, kept, and found again."""

from __future__ import annotations

import os
import shutil
import time

import numpy as np
import pytest

from polyseme.server import kept_planes, planes
from polyseme.server.kept_planes import KeptPlanes, fingerprint_of, from_bytes, to_bytes
from polyseme.server.lay_out import laid_out
from polyseme.server.model_store import ModelStore
from tests.web.conftest import client_with, get


@pytest.fixture
def other_process(monkeypatch):
    """Let small models be laid out as large ones are."""
    monkeypatch.setattr(planes, "FEW_LABELS", 0)


@pytest.fixture
def here(monkeypatch):
    """Count layouts that the server makes itself."""
    made = []
    monkeypatch.setattr(planes, "laid_out", lambda model: made.append(model) or laid_out(model))
    return made


@pytest.fixture(scope="module")
def classifier(plain_folder):
    return ModelStore({"plain": plain_folder}).current().classifier


def fail_to_lay_out(monkeypatch):
    async def fail(folder, fingerprint):
        raise OSError("no more processes")

    monkeypatch.setattr(planes, "_laid_out_apart", fail)


def wait_for_file(folder):
    for _ in range(600):
        if folder.is_dir() and any(one.suffix != ".part" for one in folder.iterdir()):
            return
        time.sleep(0.1)
    raise AssertionError("nothing was kept")


def test_another_process_finds_what_the_server_would(
    plain_folder, classifier, other_process, here, tmp_path
):
    with client_with(ModelStore({"plain": plain_folder}), planes_folder=tmp_path) as client:
        client.timeout = 120
        found = get(client, "/v1/plane")
    assert here == []
    plane = laid_out(classifier)
    assert found["labels"] == plane.labels.tolist()
    assert found["x"] == pytest.approx(plane.positions[:, 0].tolist(), abs=1e-5)


def test_planes_are_found_ahead_and_kept_for_the_next_start(
    plain_folder, other_process, here, tmp_path, monkeypatch
):
    folder = tmp_path / "cache" / "planes"
    with client_with(
        ModelStore({"plain": plain_folder}), planes_folder=folder, looks_ahead=True
    ) as client:
        wait_for_file(folder)
        first = get(client, "/v1/plane")
    fail_to_lay_out(monkeypatch)
    with client_with(ModelStore({"plain": plain_folder}), planes_folder=folder) as client:
        assert get(client, "/v1/plane") == first
    assert here == []


def test_a_process_that_fails_leaves_it_to_the_server(
    plain_folder, other_process, here, tmp_path, monkeypatch
):
    fail_to_lay_out(monkeypatch)
    with client_with(ModelStore({"plain": plain_folder}), planes_folder=tmp_path) as client:
        assert get(client, "/v1/plane") == get(client, "/v1/plane")
    assert len(here) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_end_of_the_server_ends_the_process(plain_folder, other_process):
    with client_with(ModelStore({"plain": plain_folder}), looks_ahead=True) as client:
        get(client, "/healthz")
        began = time.monotonic()
    assert time.monotonic() - began < 10


def test_a_model_that_was_replaced_has_another_fingerprint(plain_folder, named_folder, tmp_path):
    copy = shutil.copytree(plain_folder, tmp_path / "copy")
    assert fingerprint_of(copy) == fingerprint_of(plain_folder)
    assert fingerprint_of(named_folder) != fingerprint_of(plain_folder)
    assert fingerprint_of(tmp_path) is None


def test_a_folder_that_changes_while_it_is_read_gives_no_fingerprint(plain_folder, monkeypatch):
    seen = iter(["before", "after"])
    monkeypatch.setattr("polyseme.server.model_store.fingerprint_of", lambda path: next(seen))
    assert ModelStore({"plain": plain_folder}).current().fingerprint is None


def test_a_plane_survives_the_way_to_bytes_and_back(classifier):
    plane = laid_out(classifier)
    again = from_bytes(to_bytes(plane), classifier)
    for name in kept_planes.DTYPES:
        np.testing.assert_array_equal(getattr(again, name), getattr(plane, name))
    assert from_bytes(to_bytes(None), classifier) is None


@pytest.mark.parametrize("change", ["labels", "positions", "nan", "missing", "garbage"])
def test_a_plane_that_cannot_be_the_models_is_refused(classifier, change):
    arrays = {name: np.array(getattr(laid_out(classifier), name)) for name in kept_planes.DTYPES}
    if change == "labels":
        arrays["labels"][0] = classifier.n_labels_
    elif change == "positions":
        arrays["positions"] = arrays["positions"][1:]
    elif change == "nan":
        arrays["positions"][0] = np.nan
    elif change == "missing":
        del arrays["senses"]
    content = b"no arrays" if change == "garbage" else kept_planes.packed(arrays)
    with pytest.raises(ValueError, match=r"."):
        from_bytes(content, classifier)


def test_what_is_damaged_is_not_there(tmp_path):
    kept = KeptPlanes(tmp_path)
    kept.keep("model", b"content")
    assert kept.find("model") == b"content"
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    assert kept.find("model") is None
    path.write_bytes(b"")
    assert kept.find("model") is None
    assert kept.find("another") is None


def test_what_was_used_last_stays_when_room_is_short(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_planes, "MOST_BYTES", 3 * 40)
    kept = KeptPlanes(tmp_path)
    for at, name in enumerate("abc"):
        kept.keep(name, b"12345678")
        os.utime(tmp_path / f"{name}.{kept_planes.LAYOUT}", (at, at))
    kept.find("a")
    kept.keep("d", b"12345678")
    assert [kept.find(name) is not None for name in "abcd"] == [True, False, True, True]
    kept.keep("large", bytes(1000))
    assert kept.find("large") is None


def test_where_nothing_can_be_kept_nothing_is(tmp_path):
    (tmp_path / "file").write_text("no folder")
    for folder in (tmp_path / "file" / "planes", None):
        kept = KeptPlanes(folder)
        kept.keep("model", b"content")
        assert kept.find("model") is None
