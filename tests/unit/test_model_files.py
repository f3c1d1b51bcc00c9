import errno
import json
import os
import resource
import struct
import zlib
from contextlib import contextmanager

import numpy as np
import pytest
from safetensors.numpy import load_file

from polyseme import model_files
from polyseme.model_files import (
    StoredModel,
    open_model,
    require_array,
    require_finite,
    require_range,
    require_starts,
    save_model,
)
from polyseme.names import Names

ARRAYS = {
    "weights": np.arange(12, dtype=np.float32).reshape(3, 4).T,
    "starts": np.array([0, 2, 5]),
    "empty": np.zeros((0, 3), dtype=np.int32),
    "scalar": np.array(7, dtype=np.int16),
    "mask": np.array([True, False, True]),
}
NAMES = {"labels": Names.from_list(["apple", "äöü", ""]), "documents": Names.from_list([5, -7])}


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "model"
    save_model(path, {"kind": "first"}, ARRAYS, NAMES)
    return path


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


def weights_of(folder):
    return folder / json.loads((folder / "model.json").read_text())["files"]["weights"]["name"]


def edit_manifest(folder, **changes):
    manifest = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(manifest | changes))


def replace_weights(folder, content):
    """Put other bytes in place of the weights and let model.json agree with their size."""
    path = weights_of(folder)
    path.write_bytes(content)
    files = json.loads((folder / "model.json").read_text())["files"]
    edit_manifest(
        folder,
        files=files
        | {"weights": {"name": path.name, "n_bytes": len(content), "crc32": zlib.crc32(content)}},
    )


def with_header(header, body=b""):
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(encoded)) + encoded + body


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
    save_model(tmp_path / "m", {}, {"a": array, "odd": np.zeros(3, np.uint8)}, {})
    found = open_model(tmp_path / "m").arrays["a"]
    assert found.dtype == array.dtype.newbyteorder("=")
    np.testing.assert_array_equal(found, array)


def test_arrays_are_read_only_maps_of_the_file(folder):
    array = open_model(folder).arrays["weights"]
    assert type(array) is np.ndarray
    assert not array.flags.writeable
    base = array
    while isinstance(base, np.ndarray) and base.base is not None and type(base) is np.ndarray:
        base = base.base
    assert isinstance(base, np.memmap)


def test_the_files_are_ordinary_safetensors(folder):
    np.testing.assert_array_equal(load_file(weights_of(folder))["weights"], ARRAYS["weights"])


def test_numpy_numbers_in_the_description_become_plain_ones(tmp_path):
    save_model(tmp_path / "m", {"n": np.int64(3), "x": np.float32(0.5), "f": np.True_}, {}, {})
    assert open_model(tmp_path / "m").description == {"n": 3, "x": 0.5, "f": True}


def test_saving_again_replaces_the_model_and_its_files(folder):
    before = listing(folder)
    save_model(folder, {"kind": "second"}, {"a": np.ones(2)}, {})
    stored = open_model(folder)
    assert stored.description == {"kind": "second"}
    assert list(stored.arrays) == ["a"]
    assert len(listing(folder)) == 3
    assert set(listing(folder)) & set(before) == {"model.json"}


def test_a_reader_of_the_old_model_is_not_disturbed(folder):
    old = open_model(folder)
    save_model(folder, {}, {"weights": -ARRAYS["weights"]}, {})
    np.testing.assert_array_equal(old.arrays["weights"], ARRAYS["weights"])
    assert list(old.names["labels"]) == list(NAMES["labels"])


def test_an_opened_model_can_be_saved_over_itself(folder):
    old = open_model(folder)
    save_model(folder, old.description, old.arrays, old.names)
    np.testing.assert_array_equal(open_model(folder).arrays["weights"], ARRAYS["weights"])


def test_a_reader_that_loses_a_race_with_a_save_gets_the_new_model(folder, monkeypatch):
    read_part = model_files._read_part

    def save_first(*arguments):
        monkeypatch.setattr(model_files, "_read_part", read_part)
        save_model(folder, {"kind": "second"}, ARRAYS, NAMES)
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
        save_model(folder, {"kind": "second"}, {"large": np.zeros(10_000)}, NAMES)
    assert caught.value.errno == errno.EFBIG
    assert listing(folder) == before
    assert open_model(folder).description == {"kind": "first"}


def test_a_first_save_that_fails_leaves_nothing(tmp_path):
    with small_files_only(), pytest.raises(OSError, match="cannot save the model"):
        save_model(tmp_path / "a" / "b", {}, {"large": np.zeros(10_000)}, {})
    assert listing(tmp_path) == []


@pytest.mark.parametrize("step", ["write_arrays", "_write_text", "os.replace", "os.fsync"])
@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "x"), PermissionError(errno.EACCES, "x"), KeyboardInterrupt()]
)
def test_an_interrupted_save_leaves_the_old_model_whole(folder, monkeypatch, step, error):
    def fail(*arguments):
        raise error

    before = listing(folder)
    monkeypatch.setattr(f"polyseme.model_files.{step}", fail)
    with pytest.raises(type(error)) as caught:
        save_model(folder, {"kind": "second"}, ARRAYS, NAMES)
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
        save_model(folder, {"kind": "second"}, ARRAYS, NAMES)
    assert open_model(folder).description == {"kind": "second"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission_is_a_permission_error(folder):
    folder.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match="cannot save the model"):
            save_model(folder, {}, ARRAYS, NAMES)
    finally:
        folder.chmod(0o700)


def test_a_folder_with_something_else_is_not_overwritten(tmp_path):
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(ValueError, match="the folder holds something else"):
        save_model(tmp_path, {}, ARRAYS, NAMES)
    (tmp_path / "model.json").write_text('{"format": "another"}')
    with pytest.raises(ValueError, match="the folder holds something else"):
        save_model(tmp_path, {}, ARRAYS, NAMES)
    assert listing(tmp_path) == ["model.json", "thesis.txt"]


def test_a_file_is_not_overwritten(tmp_path):
    path = tmp_path / "thesis.txt"
    path.write_text("x")
    with pytest.raises(ValueError, match="it is a file, give a folder"):
        save_model(path, {}, ARRAYS, NAMES)
    with pytest.raises(OSError, match="cannot save the model"):
        save_model(path / "below", {}, ARRAYS, NAMES)
    assert path.read_text() == "x"


def test_an_empty_folder_or_the_rest_of_a_killed_save_is_used(tmp_path):
    (tmp_path / "weights-00112233.safetensors").write_bytes(b"half")
    save_model(tmp_path, {}, ARRAYS, NAMES)
    assert open_model(tmp_path).names == NAMES


def test_a_save_removes_what_a_save_killed_long_ago_left_behind(folder):
    old, young, foreign = (
        folder / name
        for name in ["weights-00112233.safetensors", "names-44556677.safetensors", "notes.txt"]
    )
    for path in (old, young, foreign):
        path.write_bytes(b"half")
    for path in (old, foreign):
        os.utime(path, (0, 0))
    os.utime(weights_of(folder), (0, 0))
    save_model(folder, {}, ARRAYS, NAMES)
    assert open_model(folder).names == NAMES
    assert not old.exists()
    assert young.exists()  # another save may still be writing it
    assert foreign.exists()


def test_a_model_json_that_names_other_files_cannot_make_a_save_delete_them(folder):
    precious = folder.parent / "precious"
    precious.write_text("x")
    entry = {"name": "../precious", "n_bytes": 1}
    edit_manifest(folder, files={"weights": entry, "names": entry})
    with pytest.raises(ValueError, match="does not name a file of weights"):
        open_model(folder)
    save_model(folder, {}, ARRAYS, NAMES)
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
        save_model(tmp_path / "m", description, arrays, {})
    assert listing(tmp_path) == []


def test_a_missing_path_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no model at"):
        open_model(tmp_path / "nowhere")


def test_something_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(ValueError, match="is not a polyseme model"):
        open_model(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="is not a polyseme model"):
        open_model(tmp_path / "file")


@pytest.mark.parametrize(
    "content", [b"", b"\xff\x00", b'{"format": "poly', b"[]", b"3", b"[" * 100_000, b"{}"]
)
def test_a_damaged_model_json_is_refused(folder, content):
    (folder / "model.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.json"):
        open_model(folder)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"format": "other"}, "does not describe a polyseme model"),
        ({"format_version": 2}, "needs a newer polyseme: its format is 2"),
        ({"format_version": "1"}, "no valid format_version"),
        ({"format_version": True}, "no valid format_version"),
        ({"format_version": 0}, "no valid format_version"),
        ({"description": []}, "no description"),
        ({"files": None}, "does not name a file of weights"),
        ({"files": {"weights": {"name": 3}}}, "does not name a file of weights"),
    ],
)
def test_a_model_json_that_does_not_fit_is_refused(folder, changes, sentence):
    edit_manifest(folder, **changes)
    with pytest.raises(ValueError, match=sentence):
        open_model(folder)


def test_a_missing_weight_file_is_named(folder):
    path = weights_of(folder)
    path.unlink()
    with pytest.raises(ValueError, match=f"{path.name} is missing"):
        open_model(folder)


@pytest.mark.parametrize("n_left", [0, 5, 60, -1])
def test_a_truncated_weight_file_is_refused(folder, n_left):
    path = weights_of(folder)
    content = path.read_bytes()[:n_left]
    path.write_bytes(content)
    with pytest.raises(ValueError, match="truncated or was changed"):
        open_model(folder)
    replace_weights(folder, content)  # even when model.json agrees with the size
    with pytest.raises(ValueError, match=r"weights-.* (is too short|is not a|is damaged)"):
        open_model(folder)


def entry(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    "content",
    [
        b"garbage that is longer than eight bytes",
        struct.pack("<Q", 2**63) + b"{}",
        with_header(b"not json"),
        with_header([]),
        with_header({"a": 3}),
        with_header({"a": {"dtype": "F32"}}),
        with_header({"a": entry(dtype="BF16")}, b"1234"),
        with_header({"a": entry(dtype=["F32"])}, b"1234"),
        with_header({"a": entry(shape=(-1,))}, b"1234"),
        with_header({"a": entry(shape=(1.0,))}, b"1234"),
        with_header({"a": entry(shape=(2,))}, b"1234"),
        with_header({"a": entry(shape=(2,), offsets=(0, 8))}, b"1234"),
        with_header({"a": entry(offsets=(4, 8))}, b"12345678"),
        with_header({"a": entry(offsets=(0,))}, b"1234"),
        with_header({"a": entry(offsets=())}, b"1234"),
        with_header({"a": entry(), "b": entry()}, b"1234"),
        with_header({"a": entry()}, b"12345"),
        with_header({"a": entry(shape=(0, 2**70), offsets=(0, 0))}),
        with_header({"a": entry(shape=(0, 2**62, 2**62), offsets=(0, 0))}),
        with_header({"a": entry(shape=(0,) * 99, offsets=(0, 0))}),
        with_header({}, b"1"),
    ],
)
def test_a_garbage_weight_file_is_refused(folder, content):
    replace_weights(folder, content)
    with pytest.raises(ValueError, match=r"weights-.*\.safetensors is (not|damaged)"):
        open_model(folder)


def test_an_array_that_is_not_aligned_is_read_all_the_same(folder):
    header = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    assert len(header) % 4 != 0
    replace_weights(folder, with_header(header, np.float32(2.5).tobytes()))
    array = open_model(folder).arrays["a"]
    assert array.flags.aligned
    assert array.tolist() == [2.5]


def test_damaged_names_are_refused(tmp_path):
    class Broken(Names):
        def to_arrays(self):
            return {"starts": np.array([0, 9]), "utf8": np.zeros(2, np.uint8)}

    save_model(tmp_path / "m", {}, {}, {"labels": Broken()})
    with pytest.raises(ValueError, match=r"the names of the model .* are damaged"):
        open_model(tmp_path / "m")


def stored_with(tmp_path, array):
    return StoredModel(tmp_path, {}, {"a": array}, {})


def test_an_array_that_fits_is_handed_over(tmp_path):
    stored = stored_with(tmp_path, np.zeros((2, 3), np.float32))
    assert require_array(stored, "a", np.float32, (2, None)) is stored.arrays["a"]
    assert require_array(stored, "a", "float32", (2, 3)) is stored.arrays["a"]


@pytest.mark.parametrize(
    ("name", "dtype", "shape", "sentence"),
    [
        ("b", np.float32, (2, 3), "'b' is missing"),
        ("a", np.float64, (2, 3), "'a' has type float32, not float64"),
        ("a", np.float32, (None, 4), r"'a' has shape \(2, 3\), not \(any x 4\)"),
        ("a", np.float32, (None,), r"'a' has shape \(2, 3\), not \(any\)"),
    ],
)
def test_an_array_that_does_not_fit_is_refused(tmp_path, name, dtype, shape, sentence):
    with pytest.raises(ValueError, match=f"the model .* is damaged: its array {sentence}"):
        require_array(stored_with(tmp_path, np.zeros((2, 3), np.float32)), name, dtype, shape)


def test_starts_go_from_zero_to_the_last_and_never_down(tmp_path):
    good = np.sort(np.random.default_rng(0).integers(0, 99, 200_000))
    good[0], good[-1] = 0, 99
    assert len(require_starts(stored_with(tmp_path, good), "a", last=99, length=len(good)))
    for position in (1, 65_535, 65_536, 65_537, 199_998):
        bad = good.copy()
        bad[position] = 99 if position == 1 else -1
        with pytest.raises(ValueError, match="must not decrease"):
            require_starts(stored_with(tmp_path, bad), "a", last=99)
    for bad in (np.array([1, 2]), np.array([0, 3]), np.zeros(0, np.int64)):
        with pytest.raises(ValueError, match="must go from 0 to 2"):
            require_starts(stored_with(tmp_path, bad), "a", last=2)
    with pytest.raises(ValueError, match="has type int32"):
        require_starts(stored_with(tmp_path, np.zeros(1, np.int32)), "a", last=0)


def test_values_outside_their_range_are_refused(tmp_path):
    values = np.zeros(100_000, np.int32)
    values[-1] = 4
    stored = stored_with(tmp_path, values)
    assert require_range(stored, "a", 0, 5) is values
    for low, high in [(0, 4), (1, 5)]:
        with pytest.raises(ValueError, match=f"'a' has values outside {low} to {high}"):
            require_range(stored, "a", low, high)
    with pytest.raises(ValueError, match="outside"):
        require_range(stored_with(tmp_path, np.array([np.nan])), "a", 0, 5)
    require_range(stored_with(tmp_path, np.zeros(0, np.int32)), "a", 0, 5)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(tmp_path, bad):
    values = np.zeros((300, 300), np.float32)
    stored = stored_with(tmp_path, values)
    assert require_finite(stored, "a") is values
    values[-1, -1] = bad
    with pytest.raises(ValueError, match="not finite"):
        require_finite(stored, "a")
