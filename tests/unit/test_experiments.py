"""Cells are run once, kept, never mixed, and skipped where they would not fit; reports of them."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace

import numpy as np
import pytest

from polyseme.experiments import all_experiments, memory_guard, paper
from polyseme.experiments.cells import Cell, Results
from polyseme.experiments.definition import Experiment, Method
from polyseme.experiments.figures import save_figure
from polyseme.experiments.memory_guard import MemoryGuard
from polyseme.experiments.report import sections_of, write_report
from polyseme.experiments.run_names import run_named
from polyseme.experiments.runner import run_experiment
from polyseme.experiments.tables import PRECISIONS, Table, to_markdown
from tests import small_experiments
from tests.small_experiments import problem_of

problem = small_experiments.problem


class Counted:
    """An experiment of two methods that notes which cells it runs."""

    def __init__(self, name="counted", **others):
        self.ran = []
        options = {"a": {"step": 1}, "b": {"step": 2}}

        def run(problem, method, seed):
            self.ran.append((method.name, seed))
            return {"P@1": 10.0 * method.options["step"] + seed}

        run.run_name = "counted"  # the same code in all of them
        methods = [Method(name, options=option, run=run) for name, option in options.items()]
        self.experiment = Experiment(name, "Counts.", lambda problem: methods, **others)

    def run(self, problem, folder, seeds=(0, 1), **others):
        return run_experiment(self.experiment, problem, folder, seeds, **others)


def test_cells_run_seed_by_seed_and_come_back_by_method(problem, tmp_path):
    counted = Counted()
    results = counted.run(problem, tmp_path)
    assert counted.ran == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert results.methods == ["a", "b"]
    assert results.values("b", "P@1").tolist() == [20, 21]


def test_finished_cells_are_not_run_again(problem, tmp_path):
    first = Counted().run(problem, tmp_path)
    again = Counted()
    assert again.run(problem, tmp_path) == first
    assert again.ran == []
    again.run(problem, tmp_path, seeds=(0, 1, 2))
    assert again.ran == [("a", 2), ("b", 2)]


def test_tables_are_of_all_finished_seeds_and_say_which(problem, tmp_path):
    Counted().run(problem, tmp_path)
    counted = Counted(columns=PRECISIONS)
    results = counted.run(problem, tmp_path, seeds=(7,))
    assert counted.ran == [("a", 7), ("b", 7)]
    assert results.seeds == [0, 1, 7]
    assert "Seeds: 0, 1, 7;" in sections_of(counted.experiment, results)[0]


def test_a_seed_that_was_interrupted_is_in_no_table_of_other_seeds(problem, tmp_path):
    Counted().run(problem, tmp_path, seeds=[0])
    file = tmp_path / "counted.json"
    found = Results.load(file)
    Results(found.experiment, found.data, (*found.cells, replace(found.cells[0], seed=1))).save(
        file
    )
    assert Counted().run(problem, tmp_path, seeds=[0]).seeds == [0]


def test_one_seed_is_not_called_a_mean(problem, tmp_path):
    counted = Counted(baseline="a", columns=PRECISIONS)
    results = counted.run(problem, tmp_path, seeds=[3])
    text = write_report(counted.experiment, results, tmp_path).read_text(encoding="utf-8")
    assert "Seeds: 3;" in text
    assert "over seeds" not in text
    assert "and seeds" not in text


def test_what_was_finished_before_an_interruption_is_kept(problem, tmp_path):
    counted = Counted()

    def stop_at_third(sentence):
        if "a, seed 1" in sentence:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        counted.run(problem, tmp_path, tell=stop_at_third)
    assert len(Results.load(tmp_path / "counted.json").cells) == 2
    again = Counted()
    again.run(problem, tmp_path)
    assert again.ran == [("a", 1), ("b", 1)]


def test_a_cell_with_other_settings_is_run_again(problem, tmp_path):
    Counted().run(problem, tmp_path)
    changed = Counted()
    method = changed.experiment.methods(problem)[0]
    method.options["step"] = 5
    results = changed.run(problem, tmp_path)
    assert changed.ran == [("a", 0), ("a", 1)]
    assert results.values("a", "P@1").tolist() == [50, 51]


def test_results_of_other_data_are_refused_and_left_alone(problem, tmp_path):
    Counted().run(problem, tmp_path)
    before = (tmp_path / "counted.json").read_bytes()
    for other in (problem_of(seed=1), problem_of(propensity_a=0.6)):
        with pytest.raises(ValueError, match=r"counted\.json holds results of other data"):
            Counted().run(other, tmp_path)
    assert (tmp_path / "counted.json").read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"3",
        b'{"format": 99}',
        b'{"format": 1, "experiment": "counted", "data": {}, "cells": [{}]}',
        b'{"format": 1, "experiment": "counted", "data": {}, "cells": 7}',
    ],
)
def test_a_damaged_file_of_results_is_refused_in_one_sentence(content, problem, tmp_path):
    file = tmp_path / "counted.json"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"counted\.json is damaged") as caught:
        Counted().run(problem, tmp_path)
    assert "\n" not in str(caught.value)
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("polyseme", 5),
        ("n_threads", "two"),
        ("n_threads", True),
        ("seconds", "long"),
        ("seed", 0.5),
        ("figures", {"P@1": "x"}),
        ("figures", {"P@1": None}),
        ("figures", {"P@1": [1.0]}),
        ("figures", {"P@1": 10**400}),
        ("figures", {"P@1": 1.0, "hits": "0" * 59}),
        ("figures", {"P@1": 1.0, "hits": "z" * 60}),
        ("figures", {"P@1": 1.0, "reaches_after": 3}),
    ],
)
def test_a_cell_with_a_field_of_another_kind_is_refused_with_the_file(
    field, value, problem, tmp_path
):
    Counted().run(problem, tmp_path)
    file = tmp_path / "counted.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    content["cells"][1][field] = value
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match=r"counted\.json is damaged .*; move it away"):
        Counted().run(problem, tmp_path)


def test_a_cell_that_has_lost_a_figure_is_run_again(problem, tmp_path):
    first = Counted().run(problem, tmp_path)
    file = tmp_path / "counted.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    del content["cells"][2]["figures"]["P@1"]
    file.write_text(json.dumps(content), encoding="utf-8")
    again = Counted()
    results = again.run(problem, tmp_path)
    assert again.ran == [("a", 1)]
    assert results.values("a", "P@1").tolist() == first.values("a", "P@1").tolist()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_results_that_are_no_regular_file_are_refused_before_they_are_read(problem, tmp_path):
    os.mkfifo(tmp_path / "counted.json")
    with pytest.raises(ValueError, match=r"counted\.json is no regular file"):
        Counted().run(problem, tmp_path)


def test_an_equal_cell_of_another_experiment_is_taken_over(problem, tmp_path):
    Counted("first").run(problem, tmp_path)
    (tmp_path / "broken.json").write_text("no results")
    second = Counted("second")
    results = second.run(problem, tmp_path)
    assert second.ran == []
    assert results.values("a", "P@1").tolist() == [10, 11]


def test_an_equal_cell_of_other_data_is_not_taken_over(problem, tmp_path):
    Counted("first").run(problem_of(seed=1), tmp_path)
    second = Counted("second")
    second.run(problem, tmp_path)
    assert len(second.ran) == 4


def test_methods_with_equal_settings_run_once_and_both_have_results(problem, tmp_path):
    ran = []

    @run_named("noted")
    def run(problem, method, seed):
        ran.append(method.name)
        return {"P@1": 1.0}

    experiment = Experiment("twins", "", lambda problem: [Method(n, run=run) for n in "ab"])
    for _ in range(2):
        results = run_experiment(experiment, problem, tmp_path, [0])
        assert results.methods == ["a", "b"]
    assert ran == ["a"]


def test_a_timed_experiment_runs_its_own_cells(problem, tmp_path):
    Counted("first").run(problem, tmp_path)
    timed = Counted("second", is_timed=True)
    timed.run(problem, tmp_path)
    assert len(timed.ran) == 4


def test_a_cell_that_does_not_fit_is_skipped_with_the_reason_and_tried_later(
    problem, tmp_path, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr(memory_guard, "available_memory", lambda: 2**20)
        counted = Counted()
        results = counted.run(problem, tmp_path)
        assert counted.ran == []
        assert all("GiB are available" in cell.skipped for cell in results.cells)
        last = sections_of(counted.experiment, results)[-1]
        assert last.startswith("Skipped: b, seed 1: would need about")
    again = Counted()
    again.run(problem, tmp_path)
    assert len(again.ran) == 4


@pytest.mark.slow
def test_the_guard_estimates_once_for_settings_that_need_the_same(problem, monkeypatch):
    asked = []
    estimate = memory_guard.estimate_training
    monkeypatch.setattr(memory_guard, "available_memory", lambda: 2**20)
    monkeypatch.setattr(
        memory_guard, "estimate_training", lambda *a: (asked.append(a), estimate(*a))[1]
    )
    guard = MemoryGuard(problem)
    assert guard.objection({"merge": "sum"}) == guard.objection({"merge": "max"})
    assert len(asked) == 1
    guard.objection({"copies": 1})
    assert len(asked) == 2
    guard.objection({"match_folds": 0})  # no copy of the documents outside of a fold
    assert len(asked) == 3


def test_running_out_of_memory_skips_the_cell(problem, tmp_path):
    @run_named("too large")
    def run(problem, method, seed):
        raise MemoryError

    experiment = Experiment("large", "", lambda problem: [Method("a", run=run)])
    (cell,) = run_experiment(experiment, problem, tmp_path, [0]).cells
    assert cell.skipped == "ran out of memory"


def test_a_cell_survives_the_file(tmp_path):
    cell = Cell(
        "a", 1, {"options": {"x": [1, 2]}}, {"n": np.float32(1.5), "examples": np.arange(2)}
    )
    Results("e", {"name": "d"}, (cell,)).save(tmp_path / "e.json")
    (found,) = Results.load(tmp_path / "e.json").cells
    assert found.figures == {"n": 1.5, "examples": [0, 1]}
    assert found.answers({"options": {"x": [1, 2]}}, 1)


# Reports


def test_a_report_has_tables_comparisons_and_what_the_paper_says(problem, tmp_path):
    counted = Counted(
        baseline="a",
        columns=PRECISIONS,
        paper=[paper.precision_table(paper.LINEAR, "XR-Linear")],
    )
    results = counted.run(problem, tmp_path)
    text = write_report(counted.experiment, results, tmp_path).read_text(encoding="utf-8")
    assert "| b | 20.50 ± 0.71 |" in text
    assert "| b | +10.00 ± 0.00 * |" in text
    assert "| Amazon-3M: alternative update | 47.51 | 44.76 | 42.67 | +0.77 / +0.88" in text
    assert "PSP" not in text  # nobody measured it


def test_a_bar_in_a_name_does_not_break_a_table():
    table = to_markdown(Table("", ("", "x"), [["a|b", "1"]]))
    assert table == "|  | x |\n| --- | ---: |\n| a\\|b | 1 |\n"


def test_without_matplotlib_there_is_a_sentence(problem, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    counted = Counted(draw=lambda results: None)
    results = counted.run(problem, tmp_path)
    with pytest.raises(ImportError, match=r"pip install '\.\[reproduce\]'"):
        save_figure(counted.experiment, results, tmp_path)


def test_every_experiment_has_a_name_and_a_sentence_of_its_own():
    experiments = all_experiments()
    assert {"linear", "copies", "random-copies", "overhead", "assignments"} <= set(experiments)
    assert len({experiment.summary for experiment in experiments.values()}) == len(experiments)
    assert all(experiment.summary.endswith(".") for experiment in experiments.values())


def test_methods_have_names_that_are_told_apart(problem):
    for experiment in all_experiments().values():
        names = [method.name for method in experiment.methods(problem)]
        assert len(set(names)) == len(names)
        assert experiment.baseline is None or experiment.baseline in names
