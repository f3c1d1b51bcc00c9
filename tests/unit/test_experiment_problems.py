"""The problem that an experiment is about, and the figures that are measured on it."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polyseme import metrics
from polyseme.datasets import Dataset, find
from polyseme.experiments import problem as problem_module
from polyseme.experiments.cells import Results
from polyseme.experiments.definition import Method
from polyseme.experiments.equal_cost import average_top_k
from polyseme.experiments.measuring import accuracy, measure, prediction_times
from polyseme.experiments.problem import AS_IN_THE_PAPER, Problem, all_parameters
from tests import small_experiments
from tests.small_experiments import problem_of

problem = small_experiments.problem
RECORDED = Path(__file__).parents[2] / "experiments" / "results"


# What is measured


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


# The problem


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
