"""Saving models, and what is left when that fails."""

import errno
import os
import resource
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from polyseme.files import model_folder as model_files
from polyseme.files.model_folder import open_model, save_model
from polyseme.files.stored_model import Contents
from tests.model_folders import ARRAYS, NAMES, edit_manifest, weights_of


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "model"
    save_model(path, Contents({"kind": "first"}, ARRAYS, NAMES))
    return path


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_was_saved_is_what_is_opened(folder):
    stored = open_model(str(folder))
    assert stored.description == {"kind": "first"}
    assert stored.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert stored.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(stored.arrays[name], array, strict=True)
    assert stored.names == NAMES


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">i4", ">f8"]
)
def test_every_kind_of_number_survives(tmp_path, dtype):
    array = np.array([0, 1, 1], dtype=dtype)
    save_model(tmp_path / "m", Contents({}, {"a": array, "odd": np.zeros(3, np.uint8)}, {}))
    found = open_model(tmp_path / "m").arrays["a"]
    assert found.dtype == array.dtype.newbyteorder("=")
    np.testing.assert_array_equal(found, array)


def test_large_arrays_are_read_only_maps_of_the_file(tmp_path):
    large = {"ranker.bytes": np.arange(9, dtype=np.uint8), "training.x": np.arange(9)}
    save_model(tmp_path / "m", Contents({}, large, {}))
    for array in open_model(tmp_path / "m").arrays.values():
        assert type(array) is np.ndarray
        assert not array.flags.writeable
        base = array
        while isinstance(base, np.ndarray) and base.base is not None and type(base) is np.ndarray:
            base = base.base
        assert isinstance(base, np.memmap)


def test_other_arrays_and_names_outlive_the_file(folder):
    stored = open_model(folder)
    for file in folder.glob("*.safetensors"):
        os.truncate(file, 0)
    np.testing.assert_array_equal(stored.arrays["weights"], ARRAYS["weights"])
    assert not stored.arrays["weights"].flags.writeable
    assert stored.names == NAMES


def test_the_files_are_ordinary_safetensors(folder):
    np.testing.assert_array_equal(load_file(weights_of(folder))["weights"], ARRAYS["weights"])


def test_numpy_numbers_in_the_description_become_plain_ones(tmp_path):
    save_model(
        tmp_path / "m", Contents({"n": np.int64(3), "x": np.float32(0.5), "f": np.True_}, {}, {})
    )
    assert open_model(tmp_path / "m").description == {"n": 3, "x": 0.5, "f": True}


def test_saving_again_replaces_the_model_and_its_files(folder):
    before = listing(folder)
    save_model(folder, Contents({"kind": "second"}, {"a": np.ones(2)}, {}))
    stored = open_model(folder)
    assert stored.description == {"kind": "second"}
    assert list(stored.arrays) == ["a"]
    assert len(listing(folder)) == 3
    assert set(listing(folder)) & set(before) == {"model.json"}


def test_a_reader_of_the_old_model_is_not_disturbed(folder):
    old = open_model(folder)
    save_model(folder, Contents({}, {"weights": -ARRAYS["weights"]}, {}))
    np.testing.assert_array_equal(old.arrays["weights"], ARRAYS["weights"])
    assert list(old.names["labels"]) == list(NAMES["labels"])


def test_an_opened_model_can_be_saved_over_itself(folder):
    old = open_model(folder)
    save_model(folder, Contents(old.description, old.arrays, old.names))
    np.testing.assert_array_equal(open_model(folder).arrays["weights"], ARRAYS["weights"])


def test_a_reader_that_loses_a_race_with_a_save_gets_the_new_model(folder, monkeypatch):
    read_part = model_files._read_part

    def save_first(*arguments):
        monkeypatch.setattr(model_files, "_read_part", read_part)
        save_model(folder, Contents({"kind": "second"}, ARRAYS, NAMES))
        return read_part(*arguments)

    monkeypatch.setattr(model_files, "_read_part", save_first)
    assert open_model(folder).description == {"kind": "second"}


@contextmanager
def small_files_only():
    """Let no file grow beyond a limit; not for longer, since pytest may write to a file itself."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_save_that_runs_out_of_room_leaves_the_old_model_whole(folder):
    before = listing(folder)
    too_large = pytest.raises(OSError, match=r"cannot save the model to .*File too large")
    with small_files_only(), too_large as caught:
        save_model(folder, Contents({"kind": "second"}, {"large": np.zeros(10_000)}, NAMES))
    assert caught.value.errno == errno.EFBIG
    assert listing(folder) == before
    assert open_model(folder).description == {"kind": "first"}


def test_a_first_save_that_fails_leaves_nothing(tmp_path):
    with small_files_only(), pytest.raises(OSError, match="cannot save the model"):
        save_model(tmp_path / "a" / "b", Contents({}, {"large": np.zeros(10_000)}, {}))
    assert listing(tmp_path) == []


@pytest.mark.parametrize("step", ["write_arrays", "_write_text", "os.replace", "os.fsync"])
@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "x"), PermissionError(errno.EACCES, "x"), KeyboardInterrupt()]
)
def test_an_interrupted_save_leaves_the_old_model_whole(folder, monkeypatch, step, error):
    def fail(*arguments):
        raise error

    before = listing(folder)
    monkeypatch.setattr(f"polyseme.files.model_folder.{step}", fail)
    with pytest.raises(type(error)) as caught:
        save_model(folder, Contents({"kind": "second"}, ARRAYS, NAMES))
    monkeypatch.undo()
    if isinstance(error, OSError):
        assert str(folder) in str(caught.value)
        assert caught.value.errno == error.errno
    assert listing(folder) == before
    assert open_model(folder).description == {"kind": "first"}


def test_an_interrupt_right_after_the_replacement_keeps_the_new_model(folder, monkeypatch):
    replace = os.replace

    def replace_then_stop(*arguments):
        replace(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", replace_then_stop)
    with pytest.raises(KeyboardInterrupt):
        save_model(folder, Contents({"kind": "second"}, ARRAYS, NAMES))
    assert open_model(folder).description == {"kind": "second"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission_is_a_permission_error(folder):
    folder.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match="cannot save the model"):
            save_model(folder, Contents({}, ARRAYS, NAMES))
    finally:
        folder.chmod(0o700)


def test_a_folder_with_something_else_is_not_overwritten(tmp_path):
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(ValueError, match="the folder holds something else"):
        save_model(tmp_path, Contents({}, ARRAYS, NAMES))
    (tmp_path / "model.json").write_text('{"format": "another"}')
    with pytest.raises(ValueError, match="the folder holds something else"):
        save_model(tmp_path, Contents({}, ARRAYS, NAMES))
    assert listing(tmp_path) == ["model.json", "thesis.txt"]


def test_a_file_is_not_overwritten(tmp_path):
    path = tmp_path / "thesis.txt"
    path.write_text("x")
    with pytest.raises(ValueError, match="it is a file; give a folder"):
        save_model(path, Contents({}, ARRAYS, NAMES))
    with pytest.raises(OSError, match="cannot save a model"):
        save_model(path / "below", Contents({}, ARRAYS, NAMES))
    assert path.read_text() == "x"


def test_an_empty_folder_or_the_rest_of_a_killed_save_is_used(tmp_path):
    (tmp_path / "weights-00112233.safetensors").write_bytes(b"half")
    save_model(tmp_path, Contents({}, ARRAYS, NAMES))
    assert open_model(tmp_path).names == NAMES


# Saves again and again, each time in a process that dies at another step: of what Python does,
# just before the n-th; of what safetensors writes, when a file gets longer than n bytes.
KILLED_SAVES = """
import itertools, os, resource, signal, sys
from pathlib import Path
from polyseme.files.model_folder import save_model
from polyseme.files.stored_model import Contents
from tests.model_folders import ARRAYS, NAMES

STEPS = ("open", "os.mkdir", "os.chmod", "os.rename", "os.remove", "os.scandir", "os.listdir")

def save(folder, kind, last):
    steps = itertools.count(1)

    def die_if_a_file_gets_too_long():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (last, resource.RLIM_INFINITY))

    def watch(event, arguments):
        if kind == "step" and event in STEPS and next(steps) > last:
            os._exit(9)
        if kind == "names" and event == "os.chmod":  # of the weights, which are written first
            die_if_a_file_gets_too_long()

    sys.addaudithook(watch)
    if kind == "weights":
        die_if_a_file_gets_too_long()
    save_model(folder, Contents({}, ARRAYS, NAMES))

def is_killed(kind, last):
    child = os.fork()
    if child == 0:
        save(Path(sys.argv[1], f"{kind}-{last}"), kind, last)
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0

save_model(Path(sys.argv[1], "whole"), Contents({}, ARRAYS, NAMES))  # imports what it needs
n_steps = next(last for last in itertools.count() if not is_killed("step", last))
assert n_steps > 10
for kind, last in itertools.product(("weights", "names"), (0, 100)):
    assert is_killed(kind, last)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_first_save_that_is_killed_does_not_stand_in_the_way(tmp_path):
    command = [sys.executable, "-c", KILLED_SAVES, str(tmp_path)]
    subprocess.run(command, cwd=Path(__file__).parents[2], timeout=60, check=True)
    killed = [path for path in tmp_path.iterdir() if not (path / "model.json").exists()]
    found = {path: listing(path) for path in killed}
    assert any(name.startswith(".tmp") for names in found.values() for name in names)
    for path, left in found.items():
        save_model(path, Contents({}, ARRAYS, NAMES))
        assert open_model(path).names == NAMES
        assert set(left) <= set(listing(path))  # may belong to a save that is still running


def test_a_save_removes_what_a_save_killed_long_ago_left_behind(folder):
    old = [folder / name for name in ("weights-00112233.safetensors", ".tmpAb12cD")]
    young = [folder / name for name in ("names-44556677.safetensors", ".tmpEf34gH")]
    foreign = folder / "notes.txt"
    for path in (*old, *young, foreign):
        path.write_bytes(b"half")
    for path in (*old, foreign):
        os.utime(path, (0, 0))
    os.utime(weights_of(folder), (0, 0))
    save_model(folder, Contents({}, ARRAYS, NAMES))
    assert open_model(folder).names == NAMES
    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in young)  # another save may still be writing them
    assert foreign.exists()


def test_a_model_json_that_names_other_files_cannot_make_a_save_delete_them(folder):
    precious = folder.parent / "precious"
    precious.write_text("x")
    entry = {"name": "../precious", "n_bytes": 1}
    edit_manifest(folder, files={"weights": entry, "names": entry})
    with pytest.raises(ValueError, match="does not name a file of weights"):
        open_model(folder)
    save_model(folder, Contents({}, ARRAYS, NAMES))
    assert precious.exists()


@pytest.mark.parametrize(
    ("description", "arrays"),
    [
        ({"x": float("nan")}, {}),
        ({"x": object()}, {}),
        ({}, {"a": np.array([object()])}),
        ({}, {"a": np.array(["text"])}),
        ({}, {"a": np.array([1j])}),
    ],
)
def test_content_that_cannot_be_stored_is_refused(tmp_path, description, arrays):
    with pytest.raises(ValueError, match="cannot store"):
        save_model(tmp_path / "m", Contents(description, arrays, {}))
    assert listing(tmp_path) == []
