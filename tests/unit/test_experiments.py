"""Cells are run once, kept, never mixed, and skipped where they would not fit."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polyseme import metrics
from polyseme.datasets import Dataset, find
from polyseme.experiments import all_experiments, memory_guard, paper
from polyseme.experiments import problem as problem_module
from polyseme.experiments.cells import Cell, Results
from polyseme.experiments.definition import Experiment, Method
from polyseme.experiments.equal_cost import average_top_k
from polyseme.experiments.figures import save_figure
from polyseme.experiments.measuring import accuracy, measure, prediction_times
from polyseme.experiments.memory_guard import MemoryGuard
from polyseme.experiments.problem import AS_IN_THE_PAPER, Problem, all_parameters
from polyseme.experiments.report import sections_of, write_report
from polyseme.experiments.run_names import run_named
from polyseme.experiments.runner import run_experiment
from polyseme.experiments.tables import PRECISIONS, Table, to_markdown
from tests.small_data import topics

RECORDED = Path(__file__).parents[2] / "experiments" / "results"


def problem_of(seed=0, **others):
    data = topics(120, n_documents=360, words_per_label=2, seed=seed)
    dataset = Dataset(data.X, data.Y, data.X_test[:60], data.Y_test[:60])
    return Problem.of("small", dataset, n_threads=2, **others)


@pytest.fixture(scope="module")
def problem():
    return problem_of()


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


def test_all_figures_of_a_model_are_measured(problem):
    model = problem.fit({"max_leaf_size": 10, "beam_size": 2}, seed=3)
    figures = measure(model, problem)
    assert figures["P@1"] == pytest.approx(100 * model.score(problem.X_test, problem.Y_test))
    for part in ("train", "test"):
        rows, truth = getattr(problem, f"X_{part}"), getattr(problem, f"Y_{part}")
        reached = metrics.reach(model.match(rows).to_scipy(), model.clusters_, truth)
        assert figures[f"reach_{part}"] == pytest.approx(reached)
    assert figures["reach_train"] != figures["reach_test"]
    assert 0 < figures["reach_before"] <= figures["reach_after"] <= 100
    assert figures["n_slots"] == model.clusters_.n_slots
    assert figures["max_cluster_size"] == model.clusters_.sizes.max()
    assert len(figures["hits"]) == problem.X_test.shape[0]
    for figure in ("training_seconds", "prediction_us", "one_document_us", "model_bytes"):
        assert figures[figure] > 0
    json.dumps(figures)


def test_reach_before_is_that_of_the_first_round_and_after_that_of_the_last(problem):
    model = problem.fit({"max_leaf_size": 10, "beam_size": 2, "rounds": 3}, seed=3)
    figures = measure(model, problem)
    before, after = figures["reaches_before"], figures["reaches_after"]
    assert len(before) == len(after) == 3
    assert (figures["reach_before"], figures["reach_after"]) == (before[0], after[-1])
    assert before[0] != before[-1]


def test_single_documents_are_timed_apart_from_all_at_once():
    taken = prediction_times(lambda X: time.sleep(0.001 * X.shape[0]), np.zeros((100, 1)))
    assert 1000 <= taken["prediction_us"] < 20_000
    assert 1000 <= taken["one_document_us"] < 20_000


def test_senses_are_found_where_they_are_asked_for_and_are_no_part_of_a_method(problem):
    assert problem.fit({}, seed=0).senses_ is None
    assert problem.fit({"senses": "induce"}, seed=0).senses_ is not None
    assert Method("a").settings == Method("a", {"senses": "induce"}).settings


@pytest.mark.parametrize("file", sorted(RECORDED.glob("*/*.json")), ids=lambda file: file.stem)
def test_recorded_cells_know_the_same_parameters_as_methods_do_now(file):
    known = set(all_parameters({}))
    for cell in Results.load(file).cells:  # what came after the paper is only there if asked for
        assert known <= set(cell.settings["parameters"]) <= known | set(AS_IN_THE_PAPER)


def test_methods_of_one_seed_share_the_tree(problem):
    plain = problem.fit({"copies": 1, "rounds": 0, "max_leaf_size": 10}, seed=1)
    other = problem.fit({"copies": 1, "rounds": 0, "max_leaf_size": 10, "C": 2.0}, seed=1)
    np.testing.assert_array_equal(plain.clusters_.labels, other.clusters_.labels)
    np.testing.assert_array_equal(plain.clusters_.starts, other.clusters_.starts)


def test_other_labels_make_another_problem(problem):
    fewer = problem.with_labels(problem.Y_train[:, :50], problem.Y_test[:, :50])
    assert fewer.n_labels == 50
    assert fewer.description["fingerprint"] != problem.description["fingerprint"]
    assert len(fewer.propensities.inverse) == 50
    assert "P@1" in accuracy(fewer.fit({}, 0).predict_top_k(fewer.X_test, 5)[0], fewer)


def test_other_values_and_other_constants_make_another_problem(problem):
    described = [problem.description["fingerprint"]]
    for name in ("X_train", "X_test"):
        doubled = replace(problem, **{name: getattr(problem, name) * 2})
        described.append(doubled.description["fingerprint"])
    assert len(set(described)) == 3
    for constants in ({"propensity_a": 0.6}, {"propensity_b": 2.6}):
        assert problem_of(**constants).description != problem.description


def test_propensities_are_those_of_the_constants(problem):
    weighed = problem_of(propensity_a=0.6, propensity_b=2.6).propensities
    counts = np.bincount(problem.Y_train.indices, minlength=120)
    expected = metrics.propensities(counts, problem.Y_train.shape[0], a=0.6, b=2.6)
    np.testing.assert_array_equal(weighed.inverse, expected.inverse)


def test_a_public_data_set_brings_its_constants(problem, monkeypatch):
    amazon = find("Amazon-670K")
    monkeypatch.setattr(problem_module, "recognise", lambda **sizes: amazon)
    known = Problem.of("known", problem.dataset)
    assert (known.propensity_a, known.propensity_b) == (0.6, 2.6)
    assert Problem.of("known", problem.dataset, propensity_a=0.5).propensity_a == 0.5


def test_a_data_set_without_test_documents_is_refused(problem):
    with pytest.raises(ValueError, match="small has no test documents"):
        Problem.of("small", Dataset(problem.X_train, problem.Y_train))


class Answering:
    """Stands for a model with given scores: labels x scores for each document."""

    def __init__(self, labels, scores):
        self.answer = np.array(labels, dtype=np.int32), np.array(scores, dtype=np.float32)

    def predict_top_k(self, X, k):
        return self.answer


def test_scores_of_two_trees_are_averaged():
    first = Answering([[3, 1, -1], [2, -1, -1]], [[0.9, 0.5, 0.0], [0.7, 0.0, 0.0]])
    second = Answering([[1, 3, 2], [-1, -1, -1]], [[0.8, 0.1, 0.3], [0.0, 0.0, 0.0]])
    top = average_top_k([first, second], None, 3)
    assert top.tolist() == [[1, 3, 2], [2, -1, -1]]
    negative = Answering([[3, -1]], [[-0.5, 0.0]])
    assert average_top_k([negative, negative], None, 2).tolist() == [[3, -1]]


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


def test_a_cell_survives_the_file(tmp_path):
    cell = Cell(
        "a", 1, {"options": {"x": [1, 2]}}, {"n": np.float32(1.5), "examples": np.arange(2)}
    )
    Results("e", {"name": "d"}, (cell,)).save(tmp_path / "e.json")
    (found,) = Results.load(tmp_path / "e.json").cells
    assert found.figures == {"n": 1.5, "examples": [0, 1]}
    assert found.answers({"options": {"x": [1, 2]}}, 1)
