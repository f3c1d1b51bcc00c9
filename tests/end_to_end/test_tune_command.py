"""``polyseme train --tune``: settings are found, told, kept and trained with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp

import polyseme
from polyseme.tuning import trials
from tests.end_to_end.command_line import SMALL, refuse, run, succeed, write_csv, write_data
from tests.random_matrices import random_sparse

# Only C and merge are left to be tuned, two by five settings.
FIXED = (
    *SMALL,
    "--copies=2",
    "--training-rows=both",
    "--min-weight=0.1",
    "--favour-rare=0",
    "--senses=none",
)
TUNED = (*FIXED, "--tune=5m")


@pytest.fixture
def names(tmp_path):
    """Return the model's folder, and the files beside it."""
    return [tmp_path / name for name in ("model", "model.toml", "model.tuning.json")]


def test_tuning_prints_its_trials_writes_the_settings_and_trains_with_them(data, names):
    model, toml, state = names
    shown = succeed("train", data, "-o", model, *TUNED, "--tune-metric=p@1")
    for words in (
        "P@1",
        "as given",
        "C=2.0",
        "10 trials took",
        "model.toml has the best settings",
    ):
        assert words in shown
    assert "Training the ranker" in shown
    loaded = polyseme.load(model)
    assert loaded.n_documents_ == 120
    found = json.loads(state.read_text())["trials"]
    best = max(found, key=lambda trial: trial["score"])["parameters"]
    assert (loaded.C, loaded.merge) == (best["C"], best["merge"])
    assert loaded.training_rows == "both"
    assert f'merge = "{best["merge"]}"' in toml.read_text()
    assert ("C = " in toml.read_text()) == (best["C"] is not None)  # None is to be left open


def test_the_settings_that_were_found_can_be_trained_with_again(data, names, tmp_path):
    model, toml, _ = names
    succeed("train", data, "-o", model, *TUNED)
    succeed("train", data, "-o", tmp_path / "again", "--config", toml)
    first, again = (
        polyseme.load(model).get_params(),
        polyseme.load(tmp_path / "again").get_params(),
    )
    assert first == again


def test_json_carries_all_of_the_search(data, names):
    model, toml, _ = names
    report = json.loads(succeed("train", data, "-o", model, *TUNED, "--json"))
    tuning = report["tuning"]
    assert tuning["toml"] == str(toml)
    assert tuning["metric"] == "P@5"
    assert len(tuning["trials"]) == 10
    assert tuning["gain"] == tuning["best_score"] - tuning["baseline_score"]
    assert report["parameters"]["C"] == tuning["best_parameters"]["C"]


def test_each_trial_is_a_line_on_stderr(data, names):
    result = run("train", data, "-o", names[0], *TUNED)
    lines = [line for line in result.stderr.splitlines() if line.startswith("P@5 ")]
    assert len(lines) == 10
    assert "Next is the training on all documents." in result.stderr


def test_a_search_goes_on_where_it_was_stopped(data, names, monkeypatch):
    model, toml, state = names
    usual, made = trials.Laboratory.try_out, []

    def try_out(self, *given):
        if len(made) == 5:
            raise KeyboardInterrupt
        made.append(given)
        return usual(self, *given)

    monkeypatch.setattr(trials.Laboratory, "try_out", try_out)
    stopped = run("train", data, "-o", model, *TUNED)
    assert stopped.exit_code == 130
    assert f"stopped after 5 trials; {state} has all trials, and the same again" in stopped.stderr
    assert "has these settings" in stopped.stderr
    assert "Found by polyseme.tune" in toml.read_text()
    assert not model.exists()
    made.clear()
    assert "10 trials took" in succeed("train", data, "-o", model, *TUNED)
    assert len(made) == 5


def test_files_of_a_search_may_lie_elsewhere(data, names, tmp_path):
    model, toml, state = names
    elsewhere = ("--tune-toml", tmp_path / "best.toml", "--tune-state", tmp_path / "kept.json")
    succeed("train", data, "-o", model, *TUNED, *elsewhere)
    assert (tmp_path / "best.toml").exists()
    assert (tmp_path / "kept.json").exists()
    assert not toml.exists()
    assert not state.exists()


def test_folders_above_the_model_are_made(data, tmp_path):
    succeed("train", data, "-o", tmp_path / "new" / "model", *TUNED)
    assert (tmp_path / "new" / "model.toml").exists()


def test_limits_leave_settings_out_and_say_so(data, names):
    report = json.loads(
        succeed("train", data, "-o", names[0], *TUNED, "--tune-max-model=1GB", "--json")
    )
    sizes = [trial["model_bytes"] for trial in report["tuning"]["trials"]]
    again = ("-o", names[0].with_name("other"), *TUNED, f"--tune-max-model={min(sizes)}")
    result = run("train", data, *again)
    assert result.exception is None, result.output
    assert "beyond the limits: " in result.stdout
    assert "out, takes" in result.stderr
    # Names and what every model has come on top, and there was no room at all.
    assert "estimates err, and names and texts come on top" in result.stderr


def test_texts_are_tuned_on_without_those_that_the_report_is_of(tmp_path):
    articles = write_csv(tmp_path / "articles.csv", 300, seed=0)
    options = (*TUNED, "--max-leaf-size=16", "--ngrams=1", "--json")
    report = json.loads(succeed("train", articles, "-o", tmp_path / "model", *options))
    tuning = report["tuning"]
    assert tuning["n_documents"] + tuning["n_held_out"] == 270
    loaded = polyseme.load(tmp_path / "model")
    assert tuning["best_parameters"]["C"] == loaded.classifier_.C
    assert loaded.report_["n_documents"] == 30
    assert loaded.classifier_.n_documents_ == 300


@pytest.mark.timed
def test_ctrl_c_ends_a_search_soon_and_says_how_to_go_on(tmp_path):
    rng = np.random.default_rng(0)
    X = random_sparse((20000, 2000), 0.05, rng, np.float32)
    Y = sp.csr_array(
        (np.ones(20000, np.float32), rng.integers(0, 4000, 20000), np.arange(20001)),
        shape=(20000, 4000),
    )
    folder = write_data(tmp_path / "data", (X, Y))
    command = [sys.executable, "-m", "polyseme", "train", folder, "-o", tmp_path / "model"]
    command += ["--tune=1h", "--tol=1e-9", "--max-iter=1000000", "--threads=1"]
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        while not (tmp_path / "model.tuning.json").exists():
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(1)
        os.kill(process.pid, signal.SIGINT)
        began = time.monotonic()
        assert process.wait(timeout=30) == 130
        assert time.monotonic() - began < 3
        said = process.stderr.read()
    assert "tuning was stopped after 0 trials" in said
    assert "Traceback" not in said


# What is refused


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--tune=soon"], "--tune must be a time such as 90s, 10m or 1h30m"),
        (["--tune=0"], "--tune must be a time"),
        (["--tune=1m", "--tune-metric=accuracy"], "metric must be one of P@k"),
        (["--tune=1m", "--tune-max-memory=lots"], "--tune-max-memory must be a size"),
        (["--tune=1m", "--tune-max-model=-1"], "--tune-max-model must be a size"),
        (["--tune=1m", "--estimate"], "--tune and --estimate exclude each other"),
        (["--tune-metric=P@1"], "--tune-metric needs --tune"),
        (["--tune=0.001s"], "is too small"),
        (["--tune=1m", "--C=1", "--merge=sum"], "there is nothing to tune"),
        (["--tune=1m", "--C=-1"], "C must be a number above 0"),
        (["--tune=1m", "--tune-max-model=10"], "stays within the limits"),
        (["--tune=1m", "--tune-toml=nowhere/best.toml"], "nowhere is not a folder"),
        (["--tune=1m", "--tune-state=nowhere/state.json"], "nowhere is not a folder"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused_in_a_sentence(data, names, options, words):
    result = run("train", data, "-o", names[0], *FIXED, *options)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert words in " ".join(result.stderr.split())
    assert not names[0].exists()


def test_too_few_documents_are_refused(tmp_path):
    ones = sp.csr_array(np.eye(10, dtype=np.float32))
    folder = write_data(tmp_path / "data", (ones, ones))
    sentence = refuse("train", folder, "-o", tmp_path / "model", "--tune=1m")
    assert "there are 10 documents to tune on; at least 20 are needed" in sentence


def test_a_file_of_parameters_that_somebody_wrote_is_not_written_over(data, names):
    model, toml, _ = names
    toml.write_text("copies = 1\n")
    sentence = refuse("train", data, "-o", model, *TUNED)
    assert "model.toml is there and no search has written it" in sentence
    assert toml.read_text() == "copies = 1\n"


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text[: len(text) // 2], "is damaged, or no state of a tuning"),
        (lambda text: text.replace('"seed": 0', '"seed": 7'), "a tuning with another seed"),
    ],
)
def test_a_state_that_cannot_be_gone_on_from_is_refused(data, names, damage, words):
    model, _, state = names
    succeed("train", data, "-o", model, *TUNED)
    state.write_text(damage(state.read_text()))
    assert words in refuse("train", data, "-o", model, *TUNED)
