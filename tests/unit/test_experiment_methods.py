"""What experiments run besides plain settings of the estimator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polyseme import XRLinear
from polyseme.datasets import Dataset
from polyseme.experiments import all_experiments
from polyseme.experiments.cells import Cell, Results
from polyseme.experiments.choices import RowsOfMatcher, run_with_rows
from polyseme.experiments.definition import Method
from polyseme.experiments.equal_cost import SECOND_SEED, run_two_trees
from polyseme.experiments.measuring import measure
from polyseme.experiments.problem import Problem
from polyseme.experiments.published import PAPER, PLAIN
from polyseme.experiments.shared_training import fit_once_and_measure
from polyseme.experiments.tables import Table
from polyseme.experiments.tuning import run_candidate
from polyseme.machine import phases
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


def test_models_with_rows_of_the_matcher_are_trained_without_senses(problem):
    options = {"matcher_rows": "both"}
    figures = run_with_rows(problem, Method("any", SMALL, options, run_with_rows), seed=0)
    assert phases.SENSES not in figures["phase_seconds"]
    assert phases.TRAINING_RANKER in figures["phase_seconds"]


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


def trainings(monkeypatch):
    """Note the problem and the seed of every training."""
    fit, found = Problem.fit, []
    monkeypatch.setattr(
        Problem,
        "fit",
        lambda self, how, seed: (found.append((self, seed)), fit(self, how, seed))[1],
    )
    return found


def test_a_candidate_is_judged_on_documents_that_it_was_not_trained_on(problem, monkeypatch):
    fitted = trainings(monkeypatch)
    figures = run_candidate(problem, Method("any", SMALL), seed=0)
    (trial, _), (whole, _) = fitted
    assert whole is problem
    n_trained, n_held_out = trial.X_train.shape[0], trial.X_test.shape[0]
    assert n_trained + n_held_out == problem.X_train.shape[0]
    assert trial.Y_train.shape[0] == n_trained
    assert 0.05 < n_held_out / n_trained < 0.2
    assert figures["held_out_P@1"] != figures["P@1"]


def test_the_two_trees_of_an_ensemble_differ_in_their_seeds(problem, monkeypatch):
    fitted = trainings(monkeypatch)
    run_two_trees(problem, Method("any", {**PLAIN, **SMALL}), seed=3)
    assert [seed for _, seed in fitted] == [3, 3 + SECOND_SEED]
    assert SECOND_SEED > 0


def tables_of(experiment, figures):
    """Return the own tables of an experiment for figures by method."""
    cells = tuple(Cell(method, 0, {}, found) for method, found in figures.items())
    sections = all_experiments()[experiment].sections(Results(experiment, {}, cells))
    assert sections
    return sections


def precisions(percent, **others):
    return {**{f"P@{k}": percent for k in (1, 3, 5)}, **others}


def test_a_setting_is_chosen_by_held_out_documents_alone():
    sections = tables_of(
        "tuned",
        {
            "defaults": precisions(90.0, **{f"held_out_P@{k}": 50.0 for k in (1, 3, 5)}),
            "other": precisions(80.0, **{f"held_out_P@{k}": 60.0 for k in (1, 3, 5)}),
        },
    )
    assert any("**other**" in section for section in sections if isinstance(section, str))


def test_at_the_same_price_is_the_best_that_costs_no_more():
    (table,) = tables_of(
        "equal-cost",
        {
            "plain, beam 5": precisions(40.0, prediction_us=5.0, model_bytes=100),
            "plain, beam 10": precisions(50.0, prediction_us=10.0, model_bytes=300),
            "plain, beam 20": precisions(60.0, prediction_us=20.0, model_bytes=300),
            "copies 2, beam 10": precisions(55.0, prediction_us=10.0, model_bytes=200),
        },
    )
    assert [row[:3] for row in table.rows] == [
        ["copies 2, beam 10, prediction time", "plain, beam 10", "+5.00"],
        ["copies 2, beam 10, model size", "plain, beam 5", "+15.00"],
    ]


def test_extra_time_is_in_times_of_the_baseline():
    def timed(seconds):
        return dict.fromkeys(("training_seconds", "prediction_us", "one_document_us"), seconds)

    (table,) = tables_of("overhead", {"XR-Linear": timed(2.0), "copies 2": timed(3.0)})
    assert table.rows == [["copies 2", "+0.50", "+0.50", "+0.50"]]


def test_the_objective_of_each_round_stands_before_and_after():
    reaches = {"reaches_before": [10, 20, 30, 40], "reaches_after": [15, 25, 35, 45]}
    (table,) = tables_of("rounds", {"rounds 4": reaches})
    assert isinstance(table, Table)
    assert table.rows[0] == ["round 1", "10.00", "15.00"]
    assert table.rows[3] == ["round 4", "40.00", "45.00"]


def test_edges_train_once_for_both_orders_and_leave_the_model_as_it_was(problem, monkeypatch):
    fit, fitted = Problem.fit, []
    monkeypatch.setattr(Problem, "fit", lambda *a: (fitted.append(fit(*a)), fitted[-1])[1])
    methods = methods_of("edges", problem)
    assert len(methods) == 8
    figures = {}
    for order in ("product", "learned"):
        method = methods[f"strongest, shared, {order}"]
        method = replace(method, parameters={**method.parameters, **SMALL})
        figures[order] = method.run(problem, method, 0)
    assert len(fitted) == 1
    assert fitted[0].ordering_ is not None
    assert fitted[0].slot_weights == "shared"
    assert figures["product"]["hits"] != figures["learned"]["hits"]
    assert figures["learned"]["hits"] == measure(fitted[0], problem)["hits"]


def test_names_are_told_to_one_of_two_models_of_texts(problem):
    truth = problem.Y_train, problem.Y_test
    names = [f"topic{chr(97 + j // 26)}{chr(97 + j % 26)}" for j in range(problem.n_labels)]
    texts = [[" ".join(names[j] for j in row) for row in _rows(Y)] for Y in truth]
    dataset = replace(problem.dataset, label_names=names)
    dataset.__dict__.update(train_texts=texts[0], test_texts=texts[1])
    named = replace(problem, dataset=dataset)
    figures = {}
    of_matrices = measure(problem.fit(SMALL, 0), problem)
    for name, method in methods_of("names-in-texts", named).items():
        method = replace(method, parameters={**method.parameters, **SMALL})
        figures[name] = method.run(named, method, 0)
    # The words of names come on top; features of texts are others than those of the matrices.
    assert figures["with names"]["model_bytes"] > figures["without names"]["model_bytes"]
    assert figures["without names"]["hits"] != of_matrices["hits"]


def test_trees_are_measured_with_the_shape_of_their_levels(problem):
    found = {}
    for name, method in methods_of("trees", problem).items():
        method = replace(method, parameters={**method.parameters, "max_leaf_size": 4})
        found[name] = method.run(problem, method, 0)
    assert set(found) == {"balanced", "k-means", "bonsai", "huffman", "random"}
    assert found["balanced"]["tree_levels"] == found["random"]["tree_levels"]
    assert found["balanced"]["hits"] != found["random"]["hits"]
    for figures in found.values():
        assert figures["tree_levels"] == sorted(figures["tree_levels"])
        assert figures["largest_cluster"] * figures["tree_levels"][-1] >= problem.n_labels


def test_forests_differ_by_what_labels_are_compared_by_alone(problem):
    settings = [dict(method.parameters) for method in methods_of("forests", problem).values()]
    compared_by = [one.pop("tree_features") for one in settings]
    assert len(set(compared_by)) == len(settings)
    assert all(one == settings[0] for one in settings)


def test_a_model_that_knows_no_clusters_is_trained_with_a_column_per_slot(problem, monkeypatch):
    trained = []

    class Counted(XRLinear):
        def fit(self, X, Y, **more):
            trained.append((Y.shape[1], Y.nnz))
            return super().fit(X, Y, **more)

    monkeypatch.setattr(
        Problem, "estimator", lambda problem, parameters, seed=0: Counted(**SMALL, verbose=0)
    )
    methods = methods_of("expanded-labels", problem)
    assert list(methods) == ["plain", "own documents", "all documents"]
    for method in methods.values():
        assert method.run(problem, method, 0)["P@1"] > 50
    (n_labels, n_pairs), own, everything = trained
    assert n_labels == problem.n_labels < own[0] == everything[0]
    # A beam of few clusters reaches both places of nearly every document here.
    assert n_pairs < own[1] <= everything[1]


def _rows(Y):
    return np.split(Y.indices, Y.indptr[1:-1])
