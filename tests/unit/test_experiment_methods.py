"""What experiments run besides plain settings of the estimator."""

from __future__ import annotations

import numpy as np
import pytest

from polyseme import XRLinear
from polyseme.datasets import Dataset
from polyseme.experiments import all_experiments
from polyseme.experiments.choices import RowsOfMatcher
from polyseme.experiments.definition import Method
from polyseme.experiments.measuring import measure
from polyseme.experiments.problem import Problem
from polyseme.experiments.published import PAPER, PLAIN
from polyseme.experiments.shared_training import fit_once_and_measure
from tests.small_data import two_senses

SMALL = {"max_leaf_size": 10, "beam_size": 2}


@pytest.fixture(scope="module")
def problem():
    data = two_senses(n_documents=600)
    return Problem.of("senses", Dataset(data.X, data.Y, data.X_test, data.Y_test), n_threads=2)


def methods_of(name, problem):
    return {method.name: method for method in all_experiments()[name].methods(problem)}


def test_ways_to_predict_share_one_training_and_measure_as_if_they_did_not(problem, monkeypatch):
    fit, fitted = Problem.fit, []
    monkeypatch.setattr(Problem, "fit", lambda *a: (fitted.append(a), fit(*a))[1])
    for predict in ({"merge": "sum"}, {"merge": "mean"}, {"beam_size": 1}, {}):
        method = Method("any", SMALL, {"predict": predict}, fit_once_and_measure)
        shared = fit_once_and_measure(problem, method, seed=0)
        alone = measure(fit(problem, SMALL, 0).set_params(**predict), problem)
        assert shared["hits"] == alone["hits"]
        assert shared["reach_test"] == alone["reach_test"]
    assert len(fitted) == 1
    fit_once_and_measure(problem, method, seed=1)
    assert len(fitted) == 2


@pytest.mark.parametrize("rows", ["teacher-forcing", "matcher-aware", "both"])
def test_teacher_forcing_of_the_matcher_is_the_way_of_the_estimator(rows, problem):
    apart = RowsOfMatcher(**SMALL, training_rows=rows, verbose=0)
    together = XRLinear(**SMALL, training_rows=rows, verbose=0)
    scores = [
        model.fit(problem.X_train, problem.Y_train).predict_top_k(problem.X_test)[1]
        for model in (apart, together)
    ]
    np.testing.assert_array_equal(*scores)


def test_rows_of_the_matcher_leave_those_of_the_ranker_alone(problem):
    model = RowsOfMatcher(**SMALL, verbose=0)
    model.matcher_rows = "both"
    assert model.make_matcher().training_rows == "both"
    assert model.training_rows == "teacher-forcing"


def test_the_papers_settings_are_those_of_its_appendix():
    for settings in (PLAIN, PAPER):
        assert settings["branching"] == 32
        assert settings["max_leaf_size"] == 100
        assert settings["beam_size"] == 10
        assert settings["training_rows"] == "teacher-forcing"
    assert (PAPER["copies"], PAPER["assignment"], PAPER["merge"]) == (2, "closed_form", "mean")
    assert (PLAIN["copies"], PLAIN["rounds"]) == (1, 0)


def test_caps_follow_the_mean_size_of_a_cluster(problem):
    # 128 labels in two clusters of 64
    sizes = {
        name: method.parameters["max_cluster_size"]
        for name, method in methods_of("assignments", problem).items()
        if "times the mean" in name
    }
    assert sizes == {
        "capped, 1.5 times the mean": 96,
        "capped, 2 times the mean": 128,
    }


def test_equal_cells_of_experiments_are_seen_to_be_equal(problem):
    linear, copies = methods_of("linear", problem), methods_of("copies", problem)
    assert linear["alternative update"].settings == copies["copies 2"].settings
    assert linear["XR-Linear"].settings == methods_of("rounds", problem)["plain"].settings
    negatives = methods_of("negatives", problem)
    assert negatives["copies 2, teacher / teacher"].settings == Method("any").settings
    merge, positives = methods_of("merge", problem), methods_of("positives", problem)
    assert merge["capped, max"].settings == positives["all positives, max"].settings
