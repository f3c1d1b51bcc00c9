"""Opening what is no model, or none any more: every part is checked before it is used."""

import json
import struct

import numpy as np
import pytest

from polyseme.files.model_folder import open_model, save_model
from polyseme.files.stored_model import Contents, StoredModel
from polyseme.inputs.names import Names
from tests.model_folders import (
    ARRAYS,
    NAMES,
    edit_manifest,
    manifest_of,
    replace_weights,
    weights_of,
    with_header,
)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "model"
    save_model(path, Contents({"kind": "first"}, ARRAYS, NAMES))
    return path


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
        ({"format_version": 6}, "needs a newer polyseme: its format is 6"),
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


@pytest.mark.parametrize(
    "changes",
    [
        {"description": {"kind": "second"}},
        {"files": {}},
        {"polyseme_version": "0.0"},
        {"more": 1},
        {"crc32": 0},
        {"crc32": None},
        {"crc32": "x"},
    ],
    ids=str,
)
def test_a_model_json_that_was_changed_without_its_checksum_is_refused(folder, changes):
    path = folder / "model.json"
    path.write_text(json.dumps(manifest_of(folder) | changes))
    with pytest.raises(ValueError, match=r"model\.json was changed: its checksum is wrong; copy"):
        open_model(folder)


def test_lines_of_model_json_may_be_broken_elsewhere(folder):
    path = folder / "model.json"
    manifest = dict(reversed(manifest_of(folder).items()))
    path.write_text(json.dumps(manifest, indent=7))
    assert open_model(folder).description == {"kind": "first"}


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

    save_model(tmp_path / "m", Contents({}, {}, {"labels": Broken()}))
    with pytest.raises(ValueError, match=r"the names of the model .* are damaged"):
        open_model(tmp_path / "m")


def stored_with(tmp_path, array):
    return StoredModel(tmp_path, {}, {"a": array}, {})


def test_an_array_that_fits_is_handed_over(tmp_path):
    stored = stored_with(tmp_path, np.zeros((2, 3), np.float32))
    assert stored.array("a", np.float32, (2, None)) is stored.arrays["a"]
    assert stored.array("a", "float32", (2, 3)) is stored.arrays["a"]


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
        stored_with(tmp_path, np.zeros((2, 3), np.float32)).array(name, dtype, shape)


def test_starts_go_from_zero_to_the_last_and_never_down(tmp_path):
    good = np.sort(np.random.default_rng(0).integers(0, 99, 200_000))
    good[0], good[-1] = 0, 99
    assert len(stored_with(tmp_path, good).starts("a", last=99, length=len(good)))
    for position in (1, 65_535, 65_536, 65_537, 199_998):
        bad = good.copy()
        bad[position] = 99 if position == 1 else -1
        with pytest.raises(ValueError, match="must not decrease"):
            stored_with(tmp_path, bad).starts("a", last=99)
    for bad in (np.array([1, 2]), np.array([0, 3]), np.zeros(0, np.int64)):
        with pytest.raises(ValueError, match="must go from 0 to 2"):
            stored_with(tmp_path, bad).starts("a", last=2)
    with pytest.raises(ValueError, match="has type int32"):
        stored_with(tmp_path, np.zeros(1, np.int32)).starts("a", last=0)


def test_values_outside_their_range_are_refused(tmp_path):
    values = np.zeros(100_000, np.int32)
    values[-1] = 4
    stored = stored_with(tmp_path, values)
    assert stored.in_range("a", 0, 5) is values
    for low, high in [(0, 4), (1, 5)]:
        with pytest.raises(ValueError, match=f"'a' has values outside {low} to {high}"):
            stored.in_range("a", low, high)
    with pytest.raises(ValueError, match="outside"):
        stored_with(tmp_path, np.array([np.nan])).in_range("a", 0, 5)
    stored_with(tmp_path, np.zeros(0, np.int32)).in_range("a", 0, 5)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(tmp_path, bad):
    values = np.zeros((300, 300), np.float32)
    stored = stored_with(tmp_path, values)
    assert stored.finite("a") is values
    values[-1, -1] = bad
    with pytest.raises(ValueError, match="not finite"):
        stored.finite("a")


@pytest.mark.parametrize("place", [1000, (1 << 20) + 1000, -1])
def test_a_changed_byte_is_found_wherever_it_is_in_a_large_file(tmp_path, place):
    save_model(tmp_path, Contents({}, {"large": np.zeros(1 << 18, np.int64)}, {}))
    (file,) = tmp_path.glob("weights-*")
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match="is damaged: its checksum is wrong"):
        open_model(tmp_path)


def test_a_message_says_where_in_the_model_an_array_lies(tmp_path):
    stored = StoredModel(tmp_path, {"parts": {"classifier": {}}}, {}, {})
    with pytest.raises(ValueError, match=r"its array 'classifier/matcher\.0\.bias' is missing"):
        stored.model("classifier").part("matcher").part("0").finite("bias")
