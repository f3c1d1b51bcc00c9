"""The command line from files to predictions, and what it says when something is wrong."""

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
from click.testing import CliRunner, Result

import polyseme
from polyseme.cli import main

VERBS = ("demo", "train", "predict", "evaluate", "senses", "info")
N_FEATURES, N_LABELS = 30, 12
SMALL = ("--branching=3", "--max-leaf-size=3", "--beam-size=3", "--threads=2")
PROGRAM = (sys.executable, "-c", "from polyseme.cli import main; main()")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def succeed(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exception is None, result.output
    return result.stdout


def refuse(*arguments: object) -> str:
    """Run what must be refused; return the sentence on stderr."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    return result.stderr


def documents(n_documents: int, seed: int) -> tuple[sp.csr_array, sp.csr_array]:
    """Documents whose labels can be read off their features."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n_documents, N_LABELS)) < 0.15).astype(np.float32)
    Y[np.arange(n_documents), np.arange(n_documents) % N_LABELS] = 1
    X = np.repeat(Y, 2, axis=1) + rng.random((n_documents, 2 * N_LABELS)) * 0.2
    X = np.hstack([X, rng.random((n_documents, N_FEATURES - 2 * N_LABELS)) * 0.2])
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y)


def write_data(
    folder: Path,
    train: tuple[sp.csr_array, sp.csr_array],
    test: tuple[sp.csr_array, sp.csr_array] | None = None,
) -> Path:
    folder.mkdir()
    for part, pair in (("trn", train), ("tst", test)):
        if pair is not None:
            sp.save_npz(folder / f"X.{part}.npz", pair[0])
            sp.save_npz(folder / f"Y.{part}.npz", pair[1])
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "small"
    write_data(folder, documents(120, seed=0), documents(30, seed=1))
    (folder / "labels.txt").write_text("".join(f"label {i}\n" for i in range(N_LABELS)))
    (folder / "features.txt").write_text("".join(f"word{i}\n" for i in range(N_FEATURES)))
    return folder


@pytest.fixture(scope="module")
def model(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "small"
    succeed("train", data, "-o", path, *SMALL)
    return path


# Help


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example_and_the_common_options(verb):
    text = succeed(verb, "--help")
    assert f"Example: polyseme {verb}" in text
    for option in ("--json", "--threads", "--seed"):
        assert option in text


def test_help_fits_into_80_columns():
    for verb in VERBS:
        assert max(map(len, succeed(verb, "--help").splitlines())) <= 80


def test_the_version_is_that_of_the_package():
    assert polyseme.__version__ in succeed("--version")


# Train


def test_train_saves_a_model_and_tells_what_each_phase_took(data, tmp_path):
    text = succeed("train", data, "-o", tmp_path / "model", *SMALL)
    for phase in ("Reading the data", "Training the matcher", "Saving the model", "Total"):
        assert phase in text
    loaded = polyseme.load(tmp_path / "model")
    assert loaded.n_labels_ == N_LABELS
    assert loaded.label_names_[3] == "label 3"


def test_train_as_json_reports_sizes_parameters_and_seconds(data, tmp_path):
    report = json.loads(succeed("train", data, "-o", tmp_path / "model", "--json", *SMALL))
    assert report["n_labels"] == N_LABELS
    assert report["n_slots"] >= N_LABELS
    assert report["parameters"]["branching"] == 3
    assert next(iter(report["seconds"])) == "Reading the data"


def test_options_win_over_the_file_of_parameters(data, tmp_path):
    config = tmp_path / "small.toml"
    config.write_text(
        "branching = 3\nmax_leaf_size = 3\nbeam_size = 3\nfinetune_matcher = false\n"
    )
    out = succeed(
        "train", data, "-o", tmp_path / "m", "--config", config, "--beam-size=2", "--json"
    )
    parameters = json.loads(out)["parameters"]
    assert parameters["beam_size"] == 2
    assert parameters["branching"] == 3
    assert parameters["finetune_matcher"] is False


def test_an_unknown_parameter_in_the_file_is_refused_with_a_suggestion(data, tmp_path):
    config = tmp_path / "small.toml"
    config.write_text("beam = 3\nbeam_sise = 3\n")
    sentence = refuse("train", data, "-o", tmp_path / "m", "--config", config)
    assert "small.toml: unknown parameter 'beam'" in sentence


def test_the_same_seed_gives_the_same_predictions_for_any_number_of_threads(data, tmp_path):
    answers = set()
    for threads in (1, 2):
        path = tmp_path / f"model{threads}"
        succeed("train", data, "-o", path, *SMALL[:3], f"--threads={threads}", "--seed=5")
        answers.add(succeed("predict", path, data))
    assert len(answers) == 1


# Predict


def test_predict_prints_a_line_of_json_a_document(model, data):
    lines = succeed("predict", model, data, "-k", 3).splitlines()
    assert len(lines) == 30
    first = json.loads(lines[0])
    assert first["row"] == 0
    assert len(first["labels"]) == 3
    best = first["labels"][0]
    assert best["name"] == f"label {best['label']}"
    assert best["score"] == max(one["score"] for one in first["labels"])


def test_predict_takes_a_matrix_file_a_folder_and_a_text_file(model, data, tmp_path):
    X = sp.load_npz(data / "X.tst.npz")
    np.save(tmp_path / "dense.npy", X.toarray())
    text = tmp_path / "test.txt"
    lines = [
        " ".join(["0", *(f"{j}:{float(v)!r}" for j, v in zip(row.indices, row.data, strict=True))])
        for row in (sp.csr_array(X[[i]]) for i in range(X.shape[0]))
    ]
    text.write_text(f"{X.shape[0]} {N_FEATURES} {N_LABELS}\n" + "\n".join(lines) + "\n")
    expected = succeed("predict", model, data / "X.tst.npz")
    assert succeed("predict", model, data) == expected
    assert succeed("predict", model, tmp_path / "dense.npy") == expected
    assert succeed("predict", model, text) == expected


def test_predict_writes_a_sparse_matrix_with_the_same_scores(model, data, tmp_path):
    out = tmp_path / "scores.npz"
    assert succeed("predict", model, data, "-k", 4, "-o", out) == ""
    scores = sp.load_npz(out)
    assert scores.shape == (30, N_LABELS)
    assert (np.diff(scores.indptr) <= 4).all()
    first = json.loads(succeed("predict", model, data, "-k", 4).splitlines()[0])
    for one in first["labels"]:
        assert scores[0, one["label"]] == pytest.approx(one["score"], abs=1e-6)
    assert [file.name for file in tmp_path.iterdir()] == ["scores.npz"]


def test_predict_writes_json_lines_to_a_file(model, data, tmp_path):
    out = tmp_path / "labels.jsonl"
    report = json.loads(succeed("predict", model, data, "-o", out, "--json"))
    assert report == {"output": str(out), "n_documents": 30, "k": 10}
    assert out.read_text() == succeed("predict", model, data)


def test_asking_for_more_labels_than_there_are_gives_those_there_are(model, data):
    for line in succeed("predict", model, data, "-k", 1000).splitlines():
        assert 1 <= len(json.loads(line)["labels"]) <= N_LABELS


# Evaluate


def test_evaluate_as_json_has_every_figure_and_the_propensity_constants(model, data):
    figures = json.loads(succeed("evaluate", model, data, "--json"))
    for key in ("P@1", "P@3", "P@5", "PSP@5", "nDCG@5", "R@10"):
        assert -1e-9 <= figures[key] <= 100 + 1e-9
    assert figures["P@1"] > 80
    assert (figures["A"], figures["B"]) == (0.55, 1.5)
    assert figures["n_documents"] == 30


def test_evaluate_prints_a_table_with_the_constants(model, data):
    text = succeed("evaluate", model, data, "-a", 0.6, "-b", 2.6)
    assert "nDCG" in text
    assert "A = 0.6, B = 2.6" in text


def test_evaluate_says_when_there_is_no_test_part(model, tmp_path):
    folder = write_data(tmp_path / "only", documents(24, seed=3))
    result = run("evaluate", model, folder, "--json")
    assert "no test part" in result.stderr
    assert json.loads(result.stdout)["n_documents"] == 24


def test_evaluate_refuses_data_with_other_labels(model, tmp_path):
    X, Y = documents(24, seed=3)
    folder = write_data(tmp_path / "other", (X, Y[:, :5]))
    assert "has 5 labels and the model 12" in refuse("evaluate", model, folder)


def test_evaluate_refuses_data_with_labels_of_other_names(model, tmp_path):
    folder = write_data(tmp_path / "other", documents(24, seed=3))
    (folder / "labels.txt").write_text("".join(f"tag {i}\n" for i in range(N_LABELS)))
    assert "other names" in refuse("evaluate", model, folder)


# Senses and info


def test_senses_of_a_label_are_found_by_name_and_by_number(model):
    by_name = json.loads(succeed("senses", model, "label 3", "--json"))
    assert by_name == json.loads(succeed("senses", model, 3, "--json"))
    assert by_name["label"] == 3
    assert by_name["senses"]


def test_senses_are_shown_with_their_words(model):
    assert "word6" in succeed("senses", model, "label 3")


def test_senses_without_a_label_list_those_that_were_split_most(model):
    assert "label" in succeed("senses", model)
    assert json.loads(succeed("senses", model, "--json"))


def test_senses_of_an_unknown_label_suggests_close_ones(model):
    sentence = refuse("senses", model, "lable 3")
    assert "no label named 'lable 3'; did you mean" in sentence
    assert "no label '99'" in refuse("senses", model, 99)


def test_info_describes_the_model(model):
    about = json.loads(succeed("info", model, "--json"))
    assert about["n_labels"] == N_LABELS
    assert about["n_features"] == N_FEATURES
    assert sum(about["labels_by_copies"].values()) == N_LABELS
    assert about["parameters"]["branching"] == 3
    assert "with names" in succeed("info", model)


# Bad input


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
    sp.save_npz(tmp_path / "X.npz", sp.random_array((3, 7), density=0.5, format="csr"))
    assert "7 features" in refuse("predict", model, tmp_path / "X.npz")


@pytest.mark.parametrize(
    "option", ["--copies=0", "--beam-size=0", "--branching=1", "--cost=-1", "--assignment=magic"]
)
def test_a_senseless_parameter_is_refused_by_name(data, tmp_path, option):
    name = option[2:].split("=")[0].replace("-", "_")
    assert f"polyseme: {name} must be" in refuse("train", data, "-o", tmp_path / "m", option)


@pytest.mark.parametrize("k", [0, -1])
def test_a_senseless_k_is_refused(model, data, k):
    assert "k must be a positive whole number" in refuse("predict", model, data, "-k", k)


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
    beside = tmp_path / f".out.jsonl.{os.getpid()}"
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


def test_ctrl_c_ends_training_with_130_and_leaves_nothing(tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random_array((20000, 2000), density=0.05, format="csr", dtype=np.float32, rng=rng)
    Y = sp.csr_array(
        (np.ones(20000, np.float32), rng.integers(0, 4000, 20000), np.arange(20001)),
        shape=(20000, 4000),
    )
    folder = write_data(tmp_path / "data", (X, Y))
    command = [*PROGRAM, "train", folder, "-o", tmp_path / "model", "--tolerance=1e-9"]
    command += ["--max-iter=100000", "--threads=1"]
    terminal, stderr = os.openpty()
    with subprocess.Popen(command, stderr=stderr) as process:
        os.close(stderr)
        shown = read_until(terminal, b"Training the matcher")
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        shown += read_until(terminal, b"interrupted.")
        assert process.wait(timeout=30) == 130
        assert time.monotonic() - began < 3
    os.close(terminal)
    assert b"Traceback" not in shown
    assert not (tmp_path / "model").exists()


def read_until(terminal: int, words: bytes) -> bytes:
    shown = b""
    while words not in shown:
        shown += os.read(terminal, 4096)  # fails when the other end is closed
    return shown
