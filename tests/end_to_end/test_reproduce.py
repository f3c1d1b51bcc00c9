"""`polyseme reproduce`, from a data folder to tables and figures."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from polyseme.experiments import all_experiments
from tests.end_to_end.command_line import refuse, run, succeed, write_data
from tests.small_data import topics

HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = topics(150, n_documents=300, words_per_label=2)
    path = tmp_path_factory.mktemp("experiments") / "tiny"
    return write_data(path, (data.X, data.Y), (data.X_test[:40], data.Y_test[:40]))


@pytest.fixture(scope="module")
def everything(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("results") / "tiny"
    return out, succeed("reproduce", "all", "--data", folder, "--seeds", 1, "-o", out)


@pytest.mark.parametrize("name", all_experiments())
def test_an_experiment_leaves_results_tables_and_its_figure(name, everything):
    out, printed = everything
    experiment = all_experiments()[name]
    results = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
    assert results["cells"]
    assert all(cell["skipped"] is None for cell in results["cells"])
    assert f"\n{name}: {experiment.summary}\n" in printed
    assert (out / f"{name}.md").read_text(encoding="utf-8").startswith(f"# {name}\n")
    for ending in ("svg", "png"):
        is_drawn = experiment.draw is not None and HAS_MATPLOTLIB
        assert (out / f"{name}.{ending}").exists() == is_drawn


def test_a_second_run_takes_what_is_there_and_says_the_same(folder, everything):
    out, printed = everything
    before = (out / "overhead.json").read_bytes()
    result = run("reproduce", "overhead", "--data", folder, "--seeds", 1, "-o", out)
    assert result.stdout in printed
    assert result.stderr == f"polyseme: results and tables are in {out}.\n"
    assert (out / "overhead.json").read_bytes() == before


def test_json_has_every_figure(folder, everything):
    out, _ = everything
    printed = succeed("reproduce", "linear", "--data", folder, "--seeds", 1, "-o", out, "--json")
    methods = json.loads(printed)["linear"]["methods"]
    assert 0 <= methods["XR-Linear"]["0"]["P@1"] <= 100


def test_the_folder_is_named_after_the_data_unless_given(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    succeed("reproduce", "merge", "--data", folder, "--seeds", 1)
    assert (tmp_path / "experiments" / "results" / "tiny" / "merge.json").exists()


def test_the_list_has_a_line_for_each():
    listed = json.loads(succeed("reproduce", "--list", "--json"))
    assert listed == {name: e.summary for name, e in all_experiments().items()}
    assert "equal-cost" in succeed("reproduce", "--list")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("linera", "--data", "x"), 'no experiment "linera"; did you mean "linear"?'),
        (("LINERA", "--data", "x"), 'did you mean "linear"?'),
        (("qqq", "--data", "x"), "--list"),
        (("nope", "--data", "x"), 'no experiment "nope"; "polyseme reproduce --list" shows them.'),
        (("linear",), "Missing option '--data'"),
        ((), "Missing argument 'NAME'"),
        (("linear", "--data", "nowhere"), "nowhere does not exist"),
        (("linear", "--data", "x", "--seed", -1), "--seed is -1"),
        (("linear", "--data", "x", "--seeds", 0), "--seeds"),
    ],
)
def test_a_mistake_is_one_sentence(arguments, sentence):
    assert sentence in refuse("reproduce", *arguments)


def test_names_ignore_capitals_and_figures_are_named_where_they_were_drawn(folder, everything):
    out, _ = everything
    drawn = next(name for name, e in all_experiments().items() if e.draw is not None)
    result = run("reproduce", drawn.upper(), "--data", folder, "--seeds", 1, "-o", out)
    assert result.exit_code == 0, result.stderr
    left = "results, tables and figures" if HAS_MATPLOTLIB else "results and tables"
    assert result.stderr.endswith(f"polyseme: {left} are in {out}.\n")


def test_an_output_that_cannot_be_a_folder_is_one_sentence(folder, tmp_path):
    (tmp_path / "file").write_text("no folder")
    for output in (tmp_path / "file", tmp_path / "file" / "inside"):
        said = refuse("reproduce", "linear", "--data", folder, "-o", output)
        assert f"results cannot be kept in {output} (" in said
        assert "give a folder with -o" in said


def test_impossible_constants_leave_no_folder(folder, tmp_path):
    out = tmp_path / "out"
    assert "a >= 0" in refuse("reproduce", "linear", "--data", folder, "-o", out, "-a", -1)
    assert not out.exists()


def test_damaged_results_are_one_sentence(folder, tmp_path):
    (tmp_path / "linear.json").write_text("{")
    said = refuse("reproduce", "linear", "--data", folder, "-o", tmp_path)
    assert said.count("\n") == 1
    assert "linear.json is damaged" in said


def test_ctrl_c_keeps_finished_cells_and_says_how_to_go_on(folder, tmp_path):
    arguments = [
        "reproduce",
        "linear",
        "--data",
        str(folder),
        "--seeds",
        "50",
        "-o",
        str(tmp_path),
    ]
    code = f"""
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from polyseme.cli import main
main({arguments!r})
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, text=True
    ) as program:
        for _ in range(3):
            program.stderr.readline()
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=20)
    assert program.returncode == 130
    assert said.endswith("give the same command again to go on.\n")
    assert "Traceback" not in said
    cells = json.loads((tmp_path / "linear.json").read_text(encoding="utf-8"))["cells"]
    assert len(cells) >= 2
    assert not list(tmp_path.glob(".*"))
