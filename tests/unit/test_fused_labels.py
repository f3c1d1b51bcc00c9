"""The experiments with labels that were fused on purpose."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from polyseme import metrics
from polyseme.datasets import Dataset
from polyseme.experiments import all_experiments, fused_labels, paper
from polyseme.experiments.cells import Cell, Results
from polyseme.experiments.definition import Method
from polyseme.experiments.example import choose_places, render, run_example, telling_words
from polyseme.experiments.figures import save_figure
from polyseme.experiments.fused_labels import COPIES_2, Setting, fused_problem, run_fused
from polyseme.experiments.problem import Problem
from polyseme.experiments.published import PAPER, PLAIN, XR_LINEAR
from polyseme.experiments.report import sections_of, write_report
from polyseme.experiments.separation import FIGURES, Separation
from tests.small_data import topics

SMALL = {"max_leaf_size": 4, "beam_size": 2, "branching": 4}
OPTIONS = {"mode": "hard", "n_fused": 2}


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    data = topics(40, n_documents=600)
    texts = tmp_path_factory.mktemp("texts") / "X.tst.txt"
    rows = data.Y_test.toarray()
    texts.write_text("\n".join(f"about {' '.join(words(np.flatnonzero(row)))}" for row in rows))
    names = [f"topic {i}" for i in range(40)]
    parts = (data.X, data.Y, data.X_test, data.Y_test)
    return Problem.of(
        "small", Dataset(*parts, label_names=names, test_text_file=texts), n_threads=2
    )


def words(labels):
    return ["word" + chr(ord("a") + label % 26) * (1 + label // 26) for label in labels]


def test_a_fused_problem_has_the_same_documents_and_fewer_labels(problem):
    fused_label, fused = fused_problem(problem, "hard", 3, seed=1)
    assert (fused_label != fused_problem(problem, "hard", 3, seed=2)[0]).any()
    assert fused.Y_train.shape == (600, 14)
    assert fused.Y_test.shape == (160, 14)
    assert fused.X_train is problem.X_train
    for label in range(40):
        has_part = problem.Y_test.toarray()[:, label] > 0
        assert fused.Y_test.toarray()[has_part, fused_label[label]].all()


def test_a_cell_has_accuracy_reach_and_separation_on_both_parts(problem):
    ours = Method("ours", {**PAPER, **SMALL}, options=OPTIONS, run=run_fused)
    figures = run_fused(problem, ours, seed=0)
    json.dumps(figures, allow_nan=False)
    assert figures["P@5"] > 0
    _, fused = fused_problem(problem, **OPTIONS, seed=0)
    model = fused.fit(ours.parameters, 0)
    for part in ("train", "test"):
        rows, truth = getattr(fused, f"X_{part}"), getattr(fused, f"Y_{part}")
        reached = metrics.reach(model.match(rows).to_scipy(), model.clusters_, truth)
        assert figures[f"reach_{part}"] == pytest.approx(reached)
    assert figures["reach_train"] != figures["reach_test"]
    assert 1 < figures["test_n_judged"] <= 20
    for part in ("train", "test"):
        for name in FIGURES:
            for suffix in ("", "_weighted"):
                assert figures[f"{part}_{name}{suffix}"] >= 0
                assert figures[f"{part}_{name}{suffix}_by_chance"] >= 0


def test_without_copies_there_is_nothing_to_separate(problem):
    plain = Method("plain", {**PLAIN, **SMALL}, options=OPTIONS, run=run_fused)
    figures = run_fused(problem, plain, seed=0)
    assert figures["test_n_judged"] == 0
    assert "test_purity" not in figures
    json.dumps(figures, allow_nan=False)


def test_all_modes_and_numbers_of_the_paper_are_run_against_their_baseline(problem):
    methods = {m.name: m for m in all_experiments()["fused-labels"].methods(problem)}
    for modes in paper.FUSED_P5.values():
        for mode, numbers in modes.items():
            for n_fused in numbers:
                setting = Setting(mode, n_fused)
                ours, base = (methods[setting.named(who)] for who in (COPIES_2, XR_LINEAR))
                assert ours.options == base.options == {"mode": mode, "n_fused": n_fused}
                assert ours.parameters == PAPER
                assert base.parameters == PLAIN


def test_many_clusters_are_as_many_as_before_the_fusion():
    method = Setting("hard", 20, many_clusters=True).method(COPIES_2, PAPER)
    assert method.parameters["max_leaf_size"] == 5
    assert Setting("hard", 90, many_clusters=True).method("x", {}).parameters["max_leaf_size"] == 2


def made_results(problem, seeds=(0, 1)):
    """Baselines have 50 and copies 55: a relative gain of 10%."""
    cells = []
    for method in all_experiments()["fused-labels"].methods(problem):
        is_base = method.name.endswith(XR_LINEAR)
        for seed in seeds:
            figures = {"P@1": 60.0, "P@3": 55.0, "P@5": 50.0 if is_base else 55.0}
            figures |= {"n_clusters": 16, "reach_test": 90.0, "training_seconds": 1.0}
            if not is_base:
                for name in FIGURES:
                    for suffix in ("", "_weighted"):
                        figures[f"test_{name}{suffix}"] = 0.5
                        figures[f"test_{name}{suffix}_by_chance"] = 0.25
            cells.append(Cell(method.name, seed, method.settings, figures))
    return Results("fused-labels", problem.description, cells=tuple(cells))


def test_the_report_has_the_relative_gain_beside_the_papers(problem, tmp_path):
    experiment = all_experiments()["fused-labels"]
    text = write_report(experiment, made_results(problem), tmp_path).read_text()
    row = next(line for line in text.splitlines() if line.startswith("| hard, 20 fused |"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:4] == ["hard, 20 fused", "16 ± 0", "50.00 ± 0.00", "55.00 ± 0.00"]
    assert cells[5] == "+10.00 ± 0.00"
    assert cells[6:] == ["+0.89", "+16.42"]  # 65.01 to 65.59, 27.71 to 32.26
    assert "| hard, 20 fused: copies 2 |" in text
    assert "0.500 (0.250)" in text


def test_a_report_of_nothing_and_of_half_can_be_written(problem, tmp_path):
    experiment = all_experiments()["fused-labels"]
    results = made_results(problem)
    for cells in ((), results.cells[:3]):
        assert sections_of(experiment, replace(results, cells=cells))


def test_the_figure_is_drawn(problem, tmp_path):
    pytest.importorskip("matplotlib")
    experiment = all_experiments()["fused-labels"]
    results = made_results(problem)
    assert len(save_figure(experiment, results, tmp_path)) == 2
    for cells in (results.cells[:3], results.cells[-3:]):
        assert save_figure(experiment, replace(results, cells=cells), tmp_path)


def test_the_runs_of_compared_methods_fuse_once(problem, monkeypatch):
    called = []
    fuse = fused_labels.group_labels
    monkeypatch.setattr(
        fused_labels, "group_labels", lambda *a, **b: (called.append(a), fuse(*a, **b))[1]
    )
    for _ in range(2):
        fused_problem(problem, "hard", 7, seed=5)
    assert len(called) == 1


def judged(excess):
    n = len(excess)
    seen = {name: np.asarray(excess, dtype=float) for name in FIGURES}
    chance = {name: np.zeros(n) for name in FIGURES}
    return Separation(np.arange(n) + 100, np.full(n, 9), seen, chance)


def test_examples_are_chosen_by_their_place_in_the_order():
    assert choose_places(judged([0.1, 0.9, 0.5, 0.3, 0.7])) == {
        "best": 1,
        "a quarter down": 4,
        "in the middle": 2,
        "worst": 0,
    }
    assert choose_places(judged([0.1, 0.9])) == {"best": 1, "worst": 0}
    assert choose_places(judged([0.4])) == {"best": 0}
    assert choose_places(judged([])) == {}


def test_telling_words_are_in_more_texts_here_than_there():
    inside = ["a silk scarf", "long scarf of silk", "scarf, black"]
    outside = ["an air tank", "a black tank", "long tank"]
    assert telling_words(inside, outside) == ["scarf", "silk"]
    assert telling_words(["one text"], []) == []


def test_examples_name_parts_clusters_words_and_documents(problem):
    method = Method("example", {**PAPER, **SMALL}, options=OPTIONS, run=run_example)
    figures = run_example(problem, method, seed=0)
    json.dumps(figures, allow_nan=False)
    assert figures["n_considered"] >= 4
    excess = [example["nmi"] - example["nmi_by_chance"] for example in figures["examples"]]
    assert excess == sorted(excess, reverse=True)
    assert len(excess) == 4
    for example in figures["examples"]:
        assert len(example["slots"]) == 2
        assert sum(slot["n_documents"] for slot in example["slots"]) == example["n_documents"]
        for slot in example["slots"]:
            assert list(slot["of_part"]) == example["parts"]
            assert sum(slot["of_part"].values()) == slot["n_documents"]
            for document in slot["documents"]:
                row = problem.Y_test.toarray()[document["document"]]
                assert row[problem.dataset.label_names.index(document["part"])]
                assert document["text"].startswith("about word")


def test_an_example_reads_as_text(problem):
    method = Method("example", {**PAPER, **SMALL}, options=OPTIONS, run=run_example)
    figures = run_example(problem, method, seed=0)
    text = render(figures["examples"][0])
    first, second = figures["examples"][0]["parts"]
    assert text.startswith(f"### Best: “{first}” and “{second}”\n")
    assert "**Cluster " in text
    assert "words that set its documents apart: word" in text
    assert "among the first five): about word" in text
    results = Results(
        "example", problem.description, cells=(Cell("example", 0, method.settings, figures),)
    )
    sections = sections_of(all_experiments()["example"], results)
    assert any("### Worst" in str(section) for section in sections)


def test_examples_without_names_and_texts_still_say_something(problem):
    bare = Problem.of("bare", replace(problem.dataset, label_names=None, test_text_file=None))
    method = Method("example", {**PAPER, **SMALL}, options=OPTIONS, run=run_example)
    text = "\n".join(map(render, run_example(bare, method, seed=0)["examples"]))
    assert "“label " in text
    assert "document " in text


def test_too_few_documents_give_no_example(problem):
    few = Problem.of(
        "few",
        replace(
            problem.dataset,
            X_test=sp.csr_array(problem.X_test[:3]),
            Y_test=sp.csr_array(problem.Y_test[:3]),
            test_text_file=None,
        ),
    )
    method = Method("example", {**PAPER, **SMALL}, options=OPTIONS, run=run_example)
    assert run_example(few, method, seed=0) == {"n_considered": 0, "examples": []}
