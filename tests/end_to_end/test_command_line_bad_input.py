"""What the command line says when something is wrong, and what unusual data it takes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from tests.end_to_end.command_line import (
    N_FEATURES,
    N_LABELS,
    SMALL,
    documents,
    refuse,
    run,
    succeed,
    write_data,
)
from tests.random_matrices import random_sparse

PROGRAM = (sys.executable, "-m", "polyseme")


def broken(case: str) -> tuple[sp.csr_array, sp.csr_array]:
    X, Y = documents(24, seed=4)
    if case == "nan":
        X.data[5] = np.nan
    elif case == "infinity":
        X.data[5] = np.inf
    elif case == "negative labels":
        Y.data[5] = -1
    elif case == "counted labels":
        Y.data[5] = 2
    elif case == "rows":
        Y = Y[:20]
    elif case == "index":
        X.indices[3] = N_FEATURES + 7
    elif case == "no documents":
        X, Y = X[:0], Y[:0]
    return X, Y


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("nan", "X.trn.npz"),
        ("infinity", "X.trn.npz"),
        ("negative labels", "Y has -1"),
        ("counted labels", "Y has 2"),
        ("rows", "X has 24 rows and Y has 20"),
        ("index", "X.trn.npz"),
        ("no documents", "at least one"),
    ],
)
def test_training_data_with_a_mistake_is_refused(tmp_path, case, words):
    folder = write_data(tmp_path / "data", broken(case))
    assert words in refuse("train", folder, "-o", tmp_path / "model")
    assert not (tmp_path / "model").exists()


def empty_rows() -> tuple[sp.csr_array, sp.csr_array]:
    X, Y = documents(24, seed=4)
    kept = (np.arange(24) % 3 > 0).astype(np.float32)[:, np.newaxis]
    return sp.csr_array(X.multiply(kept)), sp.csr_array(Y.multiply(kept))


def unsorted_and_repeated() -> tuple[sp.csr_array, sp.csr_array]:
    X, Y = documents(24, seed=4)
    columns = X.indices.reshape(24, -1)[:, ::-1].copy()
    columns[:, 0] = columns[:, 1]
    starts = np.arange(25) * columns.shape[1]
    return sp.csr_array((X.data, columns.ravel(), starts), shape=X.shape), Y


UNUSUAL = {
    "empty rows": empty_rows,
    "labels without documents": lambda: (
        documents(24, 4)[0],
        sp.csr_array(np.arange(24)[:, None] % 2 == np.arange(N_LABELS), dtype=np.float32),
    ),
    "features all zero": lambda: (sp.csr_array((24, N_FEATURES)), documents(24, 4)[1]),
    "a single label": lambda: (documents(24, 4)[0], sp.csr_array(np.ones((24, 1)))),
    "a single document": lambda: tuple(part[:1] for part in documents(24, 4)),
    "unsorted and repeated indices": unsorted_and_repeated,
}


@pytest.mark.parametrize("case", UNUSUAL)
def test_unusual_but_sound_data_goes_all_the_way(tmp_path, case):
    folder = write_data(tmp_path / "data", UNUSUAL[case]())
    succeed("train", folder, "-o", tmp_path / "model", *SMALL)
    lines = succeed("predict", tmp_path / "model", folder).splitlines()
    assert len(lines) == sp.load_npz(folder / "X.trn.npz").shape[0]
    assert run("evaluate", tmp_path / "model", folder, "--json").exit_code == 0
    succeed("info", tmp_path / "model")
    succeed("senses", tmp_path / "model", 0)


def test_features_of_another_width_are_refused(model, tmp_path):
    sp.save_npz(tmp_path / "X.npz", random_sparse((3, 7), 0.5, np.random.default_rng(0)))
    assert "7 features" in refuse("predict", model, tmp_path / "X.npz")


@pytest.mark.parametrize(
    "option", ["--copies=0", "--beam-size=0", "--branching=1", "--C=-1", "--assignment=magic"]
)
def test_a_senseless_parameter_is_refused_by_name(data, tmp_path, option):
    name, _, value = option.partition("=")
    assert f"polyseme: {name} must be" in refuse("train", data, "-o", tmp_path / "m", option)
    in_python = f"--set={name[2:].replace('-', '_')}={value}"
    assert f"polyseme: {name[2:].replace('-', '_')} must be" in refuse(
        "train", data, "-o", tmp_path / "m", in_python
    )


@pytest.mark.parametrize("k", [0, -1])
def test_a_senseless_k_is_refused(model, data, k):
    assert "-k must be a positive whole number" in refuse("predict", model, data, "-k", k)


@pytest.mark.parametrize("verb", ["predict", "evaluate"])
def test_files_that_are_not_there_are_named(model, data, tmp_path, verb):
    nowhere = tmp_path / "nowhere"
    assert "nowhere" in refuse(verb, nowhere, data)
    assert "nowhere" in refuse(verb, model, nowhere)


def test_missing_features_and_configurations_are_named(model, data, tmp_path):
    assert "none.npz" in refuse("predict", model, tmp_path / "none.npz")
    config = tmp_path / "none.toml"
    assert "none.toml" in refuse("train", data, "-o", tmp_path / "m", "--config", config)


def test_a_folder_that_is_no_model_is_refused(data):
    assert "is not a polyseme model" in refuse("info", data)


@pytest.mark.parametrize("content", [b"", b"garbage", b"PK\x03\x04 cut short"])
@pytest.mark.parametrize("name", ["features.npz", "features.npy"])
def test_a_damaged_matrix_file_is_refused(model, tmp_path, content, name):
    path = tmp_path / name
    path.write_bytes(content)
    assert name in refuse("predict", model, path)


def test_a_matrix_file_never_runs_code(model, tmp_path):
    path = tmp_path / "features.npy"
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert "features.npy" in refuse("predict", model, path)


@pytest.fixture
def copied_model(model: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "copied"
    copy.mkdir()
    for file in model.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


@pytest.mark.parametrize("verb", ["predict", "info"])
@pytest.mark.parametrize("damage", ["truncated", "empty", "garbage"])
def test_a_damaged_model_is_refused(copied_model, data, verb, damage):
    for file in copied_model.glob("*.safetensors"):
        content = file.read_bytes()
        new = {"truncated": content[: len(content) // 2], "empty": b"", "garbage": b"\xff" * 99}
        file.write_bytes(new[damage])
    arguments = [copied_model, data] if verb == "predict" else [copied_model]
    assert "copied" in refuse(verb, *arguments)


def test_a_model_of_a_newer_format_is_refused(copied_model):
    manifest = json.loads((copied_model / "model.json").read_text())
    manifest["format_version"] = 999
    (copied_model / "model.json").write_text(json.dumps(manifest))
    assert "newer polyseme" in refuse("info", copied_model)


def test_a_model_is_not_saved_over_something_else(data, tmp_path):
    (tmp_path / "diary.txt").write_text("dear diary")
    assert "cannot save a model" in refuse("train", data, "-o", tmp_path, *SMALL)
    assert (tmp_path / "diary.txt").read_text() == "dear diary"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_missing_permission_is_a_sentence(model, data, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert "Permission denied" in refuse("train", data, "-o", locked / "m", *SMALL)
    assert "Permission denied" in refuse("predict", model, data, "-o", locked / "out.npz")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_a_sentence(model, data, tmp_path, monkeypatch):
    # What is written beside the output goes to a disk without space.
    beside = tmp_path / f".out.jsonl.{os.getpid()}.part"
    beside.symlink_to("/dev/full")
    sentence = refuse("predict", model, data, "-o", tmp_path / "out.jsonl")
    assert "out.jsonl: No space left on device" in sentence
    assert list(tmp_path.iterdir()) == []


# As a process of its own


def test_a_mistake_shows_no_traceback(tmp_path):
    done = subprocess.run([*PROGRAM, "info", tmp_path], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("polyseme: ")
    assert "Traceback" not in done.stderr


def test_a_reader_that_closes_the_pipe_early_is_no_error(model, data):
    command = [*PROGRAM, "predict", model, data, "-k", "1000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.timed
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_training_soon_and_leaves_nothing(tmp_path, number, code):
    rng = np.random.default_rng(0)
    X = random_sparse((20000, 2000), 0.05, rng, np.float32)
    Y = sp.csr_array(
        (np.ones(20000, np.float32), rng.integers(0, 4000, 20000), np.arange(20001)),
        shape=(20000, 4000),
    )
    folder = write_data(tmp_path / "data", (X, Y))
    command = [*PROGRAM, "train", folder, "-o", tmp_path / "model", "--tol=1e-9"]
    command += ["--max-iter=100000", "--threads=1"]
    terminal, stderr = os.openpty()
    with subprocess.Popen(command, stderr=stderr, preexec_fn=listen_to_ctrl_c) as process:
        os.close(stderr)
        shown = read_until(terminal, b"Training the matcher")
        process.send_signal(number)
        began = time.monotonic()
        if number == signal.SIGINT:
            shown += read_until(terminal, b"interrupted.")
        assert process.wait(timeout=30) == code
        assert time.monotonic() - began < 3
    os.close(terminal)
    assert b"Traceback" not in shown
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def listen_to_ctrl_c() -> None:
    """What is started in the background of a script is deaf to Ctrl-C, and so are its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def read_until(terminal: int, words: bytes) -> bytes:
    shown = b""
    while words not in shown:
        shown += os.read(terminal, 4096)  # fails when the other end is closed
    return shown


def test_a_place_that_cannot_take_a_model_is_refused_before_the_data_is_read(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    said = refuse("train", tmp_path / "no such data", "-o", tmp_path)
    assert "holds something else" in said
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_an_empty_path_is_not_the_folder_we_are_in(tmp_path):
    assert "the path is empty" in refuse("train", "", "-o", tmp_path / "m")
    assert "the path is empty" in refuse("info", "")
    assert "stdin cannot be read here" in refuse("train", "-", "-o", tmp_path / "m")


def test_texts_for_a_model_of_matrices_are_called_such(model, tmp_path):
    (tmp_path / "a.csv").write_text("id,text,labels\r\n1,a,x\r\n")
    for verb in ("predict", "evaluate"):
        said = refuse(verb, model, tmp_path / "a.csv")
        assert "a.csv holds texts, and the model was trained on matrices of features" in said


def test_an_empty_hierarchy_is_called_empty(data, tmp_path):
    (tmp_path / "tree.tsv").touch()
    options = ("-o", tmp_path / "m", "--hierarchy", tmp_path / "tree.tsv")
    assert "tree.tsv is empty" in refuse("train", data, *options)


def test_a_file_of_labels_that_is_missing_is_named_not_the_output(text_model, tmp_path):
    (tmp_path / "a.txt").write_text("a tank\n")
    said = refuse(
        "predict",
        text_model,
        tmp_path / "a.txt",
        "--labels-file",
        "nope",
        "-o",
        tmp_path / "q.csv",
    )
    assert "nope does not exist" in said
