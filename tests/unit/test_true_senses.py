"""Are senses true: labels fused on purpose, and whether their parts are found again."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, roc_auc_score

from polyseme.datasets import Dataset
from polyseme.experiments import all_experiments
from polyseme.experiments.cells import Cell, Results
from polyseme.experiments.definition import Method
from polyseme.experiments.figures import save_figure
from polyseme.experiments.judged_senses import (
    N_BINS,
    NamingJudge,
    auc,
    judge_ambiguity,
    layer_from_split,
)
from polyseme.experiments.label_fusion import fuse_columns, fuse_half
from polyseme.experiments.problem import Problem
from polyseme.experiments.report import sections_of, write_report
from polyseme.experiments.runner import run_experiment
from polyseme.experiments.tables import Table
from polyseme.experiments.true_senses import ANSWERS, FUSIONS, Fusion, run_senses
from tests.examples import examples

SMALL = {"max_leaf_size": 8, "branching": 4, "beam_size": 2}
N_TOPICS, LABELS_OF_TOPIC = 8, 6


def documents(n, rng):
    """Two or three labels of one topic each, a word for every label and some of the topic."""
    n_labels = N_TOPICS * LABELS_OF_TOPIC
    X, Y = np.zeros((n, n_labels + 3 * N_TOPICS), dtype=np.float32), np.zeros((n, n_labels))
    for i in range(n):
        topic = rng.integers(N_TOPICS)
        own = rng.choice(LABELS_OF_TOPIC, rng.integers(2, 4), replace=False)
        Y[i, topic * LABELS_OF_TOPIC + own] = 1
        X[i, topic * LABELS_OF_TOPIC + own] = rng.random(len(own))
        X[i, n_labels + 3 * topic + rng.choice(3, 2, replace=False)] = 0.5
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return sp.csr_array(X), sp.csr_array(Y)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    return Problem.of("topical", Dataset(*documents(900, rng), *documents(300, rng)), n_threads=2)


def method(fusion, senses="induce"):
    options = {"fusion": None if fusion is None else asdict(fusion), "senses": senses}
    return Method("any", SMALL, options, run_senses)


@pytest.fixture(scope="module")
def figures(problem):
    return run_senses(problem, method(Fusion("hard")), seed=0)


# Cells


def test_senses_of_fused_labels_are_their_parts_where_topics_tell_them_apart(figures):
    json.dumps(figures, allow_nan=False)
    assert figures["n_fused"] == 12
    assert figures["split_NMI"] > 0.7 > figures["split_NMI_by_chance"]
    assert figures["split_right"] > figures["whole_right"] + 0.1
    assert figures["parts_right"] > 0.95
    for answer in ANSWERS:
        for name in ("NMI", "purity", "right"):
            assert 0 <= figures[f"{answer}_{name}"] <= 1
            assert 0 <= figures[f"{answer}_{name}_by_chance"] <= 1


def test_whole_labels_say_nothing_and_are_the_larger_part(figures):
    assert figures["whole_NMI"] == 0
    assert figures["whole_right"] == figures["whole_right_by_chance"]
    assert figures["whole_purity"] == figures["whole_purity_by_chance"] < figures["split_purity"]


def test_every_fused_label_is_counted_once_by_its_number_of_senses(figures):
    assert sum(figures["n_senses"]["split"]) == sum(figures["n_senses"]["shown"]) == 12
    assert figures["n_senses"]["split"][0] <= figures["n_senses"]["shown"][0]
    assert sum(figures["n_senses"]["unfused"]) == figures["n_asked"] - 12
    assert sum(n for n, _, _ in figures["reliability"]) <= figures["n_asked"]


def test_predictions_are_the_same_without_senses(problem, figures):
    without = run_senses(problem, method(Fusion("hard"), "none"), seed=0)
    for k in (1, 3, 5):
        assert without[f"P@{k}"] == figures[f"P@{k}"]
    assert "senses_percent" not in without
    assert 0 < figures["senses_percent"] < 100


def test_where_nothing_is_fused_labels_with_senses_are_counted(problem):
    figures = run_senses(problem, method(None), seed=0)
    assert figures["n_labels"] == 48
    assert figures["n_shown"] <= figures["n_judged"] <= 48
    assert sum(figures["n_senses"]["shown"]) == 48
    assert sum(figures["n_senses"]["shown"][1:]) == figures["n_shown"]


def test_data_without_frequent_labels_give_a_cell_all_the_same(problem):
    figures = run_senses(problem, method(Fusion("easy", 3, least=10_000)), seed=0)
    json.dumps(figures, allow_nan=False)
    assert figures["n_fused"] == 0
    assert "split_NMI" not in figures
    assert "AUC" not in figures


def test_the_seed_decides_what_is_fused(problem, figures):
    again = run_senses(problem, method(Fusion("hard")), seed=0)
    other = run_senses(problem, method(Fusion("hard")), seed=1)
    assert again["split_right"] == figures["split_right"] != other["split_right"]


def test_labels_are_asked_about_that_are_as_frequent_as_fused_ones():
    counts = np.array([5, 6, 19, 20, 21, 100])
    assert Fusion("hard").may_ask(counts).tolist() == [False] * 3 + [True] * 3
    rare = Fusion("hard", least=3, most=10)
    assert rare.may_ask(counts).tolist() == [False, True, True, True, False, False]


def judge_of(problem, **parameters):
    fused_label, n_fused = fuse_half(problem.X_train, problem.Y_train, 2, "hard", least=10)
    fused = problem.with_labels(
        fuse_columns(problem.Y_train, fused_label), fuse_columns(problem.Y_test, fused_label)
    )
    model = fused.fit({**SMALL, "senses": "induce", **parameters}, 0)
    ranked = model.predict_top_k(fused.X_test, 20)
    return NamingJudge(problem, fused, model, ranked, fused_label, n_fused, 0), fused_label


def test_documents_that_reach_no_slot_go_to_the_largest_of_their_label(problem):
    judge, _ = judge_of(problem, beam_size=1)
    clusters = judge.model.clusters_
    for slot, (_, label, _) in zip(judge.slots(), (judge.train, judge.test), strict=True):
        assert (clusters.labels[slot] == label).all()
    document, label, _ = judge.test
    matched = judge.model.match(problem.X_test).to_scipy().toarray()
    reached = np.array(
        [
            matched[d, clusters.cluster_of_slot[clusters.slots_of(n)]].any()
            for d, n in zip(document, label, strict=True)
        ]
    )
    assert not reached.all()
    for slot, n in zip(judge.slots()[1][~reached], label[~reached], strict=True):
        others = clusters.slots_of(n)
        sizes = judge.model.slot_documents_
        assert sizes[slot] == sizes[others].max()


def test_the_senses_of_test_documents_are_named_by_predictions(problem):
    judge, _ = judge_of(problem)
    train, test = judge.senses_of(judge.model, at_least=0)
    layer = judge.model.senses_
    for senses, (_, label, _) in ((train, judge.train), (test, judge.test)):
        has = senses >= 0
        assert has.any()
        own = [layer.senses_of(n, at_least=0) for n in label[has]]
        assert all(s in range_ for s, range_ in zip(senses[has], own, strict=True))
    whole, _ = judge.senses_of(judge.model, at_least=1)
    assert (whole == -1).all()


def test_true_parts_make_senses_of_their_words_and_labels(problem):
    judge, fused_label = judge_of(problem)
    document, label, part = judge.train
    fused = judge.fused
    layer = layer_from_split(fused.X_train, fused.Y_train, document, label, part)
    assert layer.labels.tolist() == list(range(12))
    assert (np.diff(layer.starts) == 2).all()
    assert layer.counts.sum() == len(document)
    words, beside = layer.words.to_scipy().toarray(), layer.beside.to_scipy().toarray()
    np.testing.assert_allclose(np.linalg.norm(words, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(beside, axis=1), 1, rtol=1e-5)
    for i, own in enumerate(layer.labels):
        senses = range(layer.starts[i], layer.starts[i + 1])
        parts = [
            document[(label == own) & (part == one)] for one in np.flatnonzero(fused_label == own)
        ]
        for sense, rows in zip(senses, sorted(parts, key=len, reverse=True), strict=True):
            assert layer.counts[sense] == len(rows)
            total = fused.X_train.toarray()[rows].sum(axis=0)
            np.testing.assert_allclose(words[sense], total / np.linalg.norm(total), rtol=1e-4)
            assert beside[sense, own] == 0
            assert set(np.flatnonzero(beside[sense])) <= set(fused.Y_train[rows].indices)


# Ambiguity


@given(st.integers(2, 60), st.integers(0, 10**6))
@examples(30)
def test_figures_of_probabilities_are_those_of_scikit_learn(n, seed):
    rng = np.random.default_rng(seed)
    is_fused = np.arange(n) < rng.integers(1, n)
    p = np.round(rng.random(n), 1)
    found = judge_ambiguity(p, is_fused)
    assert found["AUC"] == auc(p, is_fused) == pytest.approx(roc_auc_score(is_fused, p))
    assert found["Brier"] == pytest.approx(brier_score_loss(is_fused, p))
    assert found["fused_percent"] == pytest.approx(100 * is_fused.mean())
    n_labels, mean, share = np.array(found["reliability"]).T
    assert n_labels.sum() == n
    assert n_labels @ mean == pytest.approx(p.sum())
    assert n_labels @ share == pytest.approx(is_fused.sum())
    assert found["calibration_error"] == pytest.approx(n_labels @ abs(mean - share) / n)


def test_precision_and_recall_are_of_what_is_shown():
    found = judge_ambiguity(np.array([0.9, 0.5, 0.4, 0.1]), np.array([True, False, True, False]))
    assert found["precision"] == 0.5
    assert found["recall"] == 0.5


def test_the_precision_of_nothing_is_a_number_so_that_seeds_have_the_same_figures():
    found = judge_ambiguity(np.array([0.4, 0.1]), np.array([True, False]))
    assert found["precision"] == found["recall"] == 0


def test_a_label_that_was_not_judged_is_not_shown_and_has_no_probability():
    p, is_fused = np.array([0.9, np.nan, 0.1]), np.array([True, True, False])
    found = judge_ambiguity(p, is_fused)
    assert found["recall"] == 0.5
    assert found["AUC"] == 0.5  # the one that was not judged is behind the other
    assert found["Brier"] == pytest.approx(0.01)
    assert sum(n for n, _, _ in found["reliability"]) == 2


def test_certainty_is_in_the_last_bin():
    found = judge_ambiguity(np.array([1.0, 0.0]), np.array([True, False]))
    assert found["reliability"][N_BINS - 1] == [1, 1, 1]
    assert found["calibration_error"] == found["Brier"] == 0
    assert found["Brier_of_constant"] == 0.25


# Reports


@pytest.fixture(scope="module")
def results(problem, figures):
    """The same figures for all methods, but for the seed in one of them."""
    without = {k: v for k, v in figures.items() if k.startswith("P@")}
    cells = [
        Cell(
            m.name,
            seed,
            m.settings,
            without if "without" in m.name else {**figures, "split_NMI": 0.5 + 0.25 * seed},
        )
        for m in all_experiments()["true-senses"].methods(problem)
        for seed in (0, 1)
    ]
    return Results("true-senses", problem.description, tuple(cells))


def test_the_report_has_a_table_for_each_fusion_and_one_for_each_question(results, tmp_path):
    experiment = all_experiments()["true-senses"]
    text = write_report(experiment, results, tmp_path).read_text(encoding="utf-8")
    for title in FUSIONS:
        assert f"**{title}: 12 ± 0 fused labels**" in text
    assert text.count("| senses of every label | 0.625 [") == len(FUSIONS)
    for title in ("Ambiguity", "Reliability of the probability", "How many senses", "Cost"):
        assert f"**{title}**" in text
    (row,) = [line for line in text.splitlines() if "+0.00" in line and "random pairs" in line]
    assert row.count("+0.00 ± 0.00 |") == 3


def test_reliability_is_that_of_all_seeds_together(results, figures):
    tables = sections_of(all_experiments()["true-senses"], results)
    (table,) = [
        t for t in tables if isinstance(t, Table) and t.title == "Reliability of the probability"
    ]
    shown = [row[1] for row in table.rows]
    expected = [
        f"{100 * share:.0f}% of {2 * n:.0f}" if n else "" for n, _, share in figures["reliability"]
    ]
    assert shown == expected


def test_a_report_of_nothing_and_of_half_can_be_written_and_drawn(results, tmp_path):
    pytest.importorskip("matplotlib")
    experiment = all_experiments()["true-senses"]
    for cells in ((), results.cells[:3], results.cells):
        part = replace(results, cells=cells)
        assert sections_of(experiment, part)
        assert len(save_figure(experiment, part, tmp_path)) == (2 if cells else 0)


def test_finished_cells_are_not_run_again(problem, results, tmp_path, monkeypatch):
    results.save(tmp_path / "true-senses.json")
    monkeypatch.setattr(Problem, "fit", lambda *arguments: pytest.fail("trained again"))
    experiment = all_experiments()["true-senses"]
    found = run_experiment(experiment, problem, tmp_path, [0, 1])
    assert found.cells == results.cells
