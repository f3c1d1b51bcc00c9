"""`python -m benchmarks`: what it refuses, and that earlier results stay; nothing is measured."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import __main__ as program
from benchmarks import peers
from benchmarks.processes import MeasurementError

FIGURES = {
    "train_s": 1.0,
    "phase_s": {"all": 1.0},
    **dict.fromkeys(("train_peak_mib", "disk_mb", "load_s", "first_s", "batch_us"), 1.0),
    **dict.fromkeys(("one_p50_us", "one_p99_us", "P@1", "P@3", "P@5"), 1.0),
}


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    for name in ("X.trn", "Y.trn", "X.tst", "Y.tst"):
        sp.save_npz(folder / f"{name}.npz", sp.csr_matrix(np.eye(4, dtype=np.float32)))
    return folder


@pytest.fixture
def bench(data, tmp_path, monkeypatch):
    """Run the program without peers; systems that are named as failing do."""
    failing, asked = set(), []

    def measure(name, *others):
        if name in failing:
            raise MeasurementError("exit code 1")
        return FIGURES

    def ensure(folder, wanted):
        asked.append(set(wanted))
        return list(wanted)

    monkeypatch.setattr(program, "measure_system", measure)
    monkeypatch.setattr(program, "draw", lambda *others: "")
    monkeypatch.setattr(program, "describe_machine", lambda o: {"processor": "p", "n_cores": 1})
    monkeypatch.setattr(peers, "ensure", ensure)

    def run(*options, folder=data):
        words = ["--data", folder, "--output", tmp_path / "out", "--systems", "polyseme", *options]
        monkeypatch.setattr(sys, "argv", ["benchmarks", *map(str, words)])
        try:
            program.main()
        except SystemExit as end:
            return end.code
        return 0

    run.failing, run.asked, run.file = failing, asked, tmp_path / "out" / "small.json"
    return run


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--rows", "0"),
        ("--rows", "-5"),
        ("--repeat", "0"),
        ("--threads", "0"),
        ("--queries", "none"),
        ("--max-gib", "nan"),
        ("--best", "{bad"),
        ("--best", "[]"),
    ],
)
def test_an_option_that_cannot_be_is_refused_before_anything_is_done(bench, capsys, option, value):
    assert bench(f"{option}={value}") == 2
    assert f"argument {option}: '{value}' is not" in capsys.readouterr().err
    assert not bench.file.parent.exists()


def test_missing_damaged_and_empty_data_are_a_sentence_and_code_2(bench, data, tmp_path, capsys):
    assert bench(folder=tmp_path / "nowhere") == 2
    assert "lacks X.trn.npz" in capsys.readouterr().err
    (data / "X.tst.npz").write_bytes(b"junk")
    assert bench() == 2
    assert "X.tst.npz is no sparse matrix" in capsys.readouterr().err
    sp.save_npz(data / "X.tst.npz", sp.csr_matrix((0, 4), dtype=np.float32))
    assert bench() == 2
    assert "X.tst.npz has no documents" in capsys.readouterr().err


def test_an_output_that_cannot_be_written_is_a_sentence_and_code_2(bench, capsys):
    bench.file.parent.write_text("a file")
    assert bench() == 2
    assert capsys.readouterr().err.startswith("benchmarks: --output ")


def test_a_run_that_fails_leaves_earlier_results_alone(bench, capsys):
    assert bench() == 0
    before = bench.file.read_bytes()
    bench.failing.add("polyseme")
    assert bench() == 1
    assert bench.file.read_bytes() == before
    assert bench("--systems", "polyseme,polyseme-copies2") == 0
    assert bench.file.read_bytes() == before
    partial = json.loads(bench.file.with_suffix(".partial.json").read_text())
    assert list(partial["medians"]) == ["polyseme-copies2"]
    assert "is left as it was, since polyseme failed" in capsys.readouterr().err


def test_damaged_earlier_results_are_refused_before_anything_is_measured(bench, capsys):
    assert bench() == 0
    bench.file.write_text("{")
    assert bench("--keep") == 2
    assert "small.json is damaged" in capsys.readouterr().err


def test_only_what_the_chosen_systems_need_is_asked_for(bench):
    bench()
    bench("--systems", "polyseme,omikuji-bonsai")
    assert bench.asked == [set(), {"omikuji"}]


def test_only_wanted_peers_are_installed(tmp_path, monkeypatch):
    installed = []
    peers.interpreter(tmp_path).parent.mkdir()
    peers.interpreter(tmp_path).touch()
    monkeypatch.setattr(peers, "_installed", lambda folder, package: False)
    monkeypatch.setattr(
        peers, "_install", lambda folder, packages, *options: installed.extend(packages) or ""
    )
    assert peers.ensure(tmp_path, set()) == []
    assert installed == peers.PICTURE
    installed.clear()
    assert peers.ensure(tmp_path, {"libpecos"}, picture=False) == ["libpecos"]
    assert installed == [*peers.SHARED, "libpecos"]
