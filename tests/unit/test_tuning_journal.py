"""Trials are kept in a file that is whole at any time, and never taken for those of others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from polyseme.tuning.journal import Journal, Limits, Trial

ABOUT = {"data set": "abc", "seed": 0}
TRIAL = Trial({"C": 0.5, "merge": "sum", "copies": None}, 900, 1.25, 64.5, 1000, None)
STOPPED = Trial({"C": 1.0}, 900, 30.0)


@pytest.fixture
def path(tmp_path):
    journal = Journal(tmp_path / "state.json", ABOUT)
    journal.add(TRIAL)
    journal.add(STOPPED)
    return tmp_path / "state.json"


def test_what_was_tried_is_read_back(path):
    again = Journal(path, ABOUT)
    assert again.trials == [TRIAL, STOPPED]
    assert again.find(TRIAL.parameters, 900) == TRIAL
    assert again.find(TRIAL.parameters, 300) is None
    assert again.seconds == 31.25


@pytest.mark.parametrize(
    ("about", "word"),
    [({"data set": "abd", "seed": 0}, "data set"), ({**ABOUT, "seed": 1}, "seed")],
)
def test_trials_of_something_else_are_refused_and_stay(path, about, word):
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"a tuning with another {word}; delete it to begin anew"):
        Journal(path, about)
    assert path.read_bytes() == before


def without(key):
    return lambda kept: kept.pop(key)


def in_trial(**values):
    return lambda kept: kept["trials"][0].update(values)


@pytest.mark.parametrize(
    "damage",
    [
        without("trials"),
        without("about"),
        without("format"),
        lambda kept: kept.update(trials=3),
        lambda kept: kept.update(about=[1]),
        lambda kept: kept["trials"].append("x"),
        in_trial(unknown=1),
        in_trial(seconds=-1),
        in_trial(seconds=None),
        in_trial(score="64"),
        in_trial(score=float("nan")),
        in_trial(n_documents=1.5),
        in_trial(n_documents=None),
        in_trial(parameters=[]),
        in_trial(model_bytes=True),
    ],
)
def test_a_damaged_file_is_refused_and_stays(path, damage):
    kept = json.loads(path.read_text())
    damage(kept)
    path.write_text(json.dumps(kept))
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"state\.json is damaged, or no state of a tuning"):
        Journal(path, ABOUT)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b"7", b"[" * 100_000])
def test_what_is_no_state_at_all_is_refused(tmp_path, content):
    (tmp_path / "state.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"state\.json is damaged, or no state of a tuning"):
        Journal(tmp_path / "state.json", ABOUT)


def test_a_file_of_a_later_format_is_refused(path):
    kept = json.loads(path.read_text())
    path.write_text(json.dumps({**kept, "format": 2, "trials": "otherwise"}))
    with pytest.raises(ValueError, match="of another polyseme"):
        Journal(path, ABOUT)


def test_a_place_that_cannot_be_written_to_is_known_before_the_first_trial(tmp_path):
    with pytest.raises(FileNotFoundError, match="create it first"):
        Journal(tmp_path / "nowhere" / "state.json", ABOUT)


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_writes_loses_no_trial_that_was_kept(tmp_path):
    program = """
import sys
from pathlib import Path
from polyseme.tuning.journal import Journal, Trial
journal = Journal(Path(sys.argv[1]), {"seed": 0})
for i in range(100_000):
    journal.add(Trial({"C": i, "filler": "x" * 20_000}, 10, 0.0, 1.0))
    print(i, flush=True)
"""
    path = tmp_path / "state.json"
    for n_waited in (3, 17):
        with subprocess.Popen(
            [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True
        ) as process:
            kept = [process.stdout.readline() for _ in range(n_waited)]
            os.kill(process.pid, signal.SIGKILL)
            kept += process.stdout.readlines()
        # One more may have been written than was told of.
        found = [trial.parameters["C"] for trial in Journal(path, {"seed": 0}).trials]
        assert found == list(range(len(found)))
        assert len(found) in (len(kept), len(kept) + 1)
        path.unlink()


def test_limits_say_what_is_too_much():
    within = Trial({}, 0, 0.0, model_bytes=100, peak_bytes=100)
    assert Limits().objection(within) == ""
    assert Limits(memory=100, model_size=100).objection(within) == ""
    assert Limits(memory=99).objection(within) == "takes 100 bytes of memory"
    assert Limits(model_size=99).objection(within) == "takes 100 bytes on disk"
    assert Limits(memory=1, model_size=1).objection(Trial({}, 0, 0.0)) == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"parameters": {"nonsense": 1}},
        {"parameters": {"C": -1.0}},
        {"parameters": {}},
        {"n_documents": 10**12},
        {"score": 1e300},
    ],
    ids=str,
)
def test_trials_that_cannot_have_been_are_refused(tmp_path, changes):
    path, space = tmp_path / "state.json", {"C": [1.0, 2.0]}
    Journal(path, ABOUT, space).add(Trial({"C": 2.0}, 10, 0.5, 50.0))
    assert len(Journal(path, ABOUT, space).trials) == 1
    kept = json.loads(path.read_text())
    kept["trials"][0].update(changes)
    path.write_text(json.dumps(kept))
    with pytest.raises(ValueError, match="is damaged, or no state of a tuning"):
        Journal(path, ABOUT, space)
