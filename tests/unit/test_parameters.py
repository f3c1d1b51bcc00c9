import inspect
import os

import numpy as np
import pytest

from polyseme import XRLinear
from polyseme.backbones.linear.weights import LinearTraining
from polyseme.estimators.parameters import NONE, RENAMED, check_parameters, number_above
from polyseme.machine.threads import count_jobs, count_threads
from polyseme.metrics import propensities
from polyseme.partition.assignment import AssignmentPlan
from polyseme.training.disentangle import TrainingPlan

WHOLE = {
    "copies": 1,
    "beam_size": 1,
    "rounds": 0,
    "n_trees": 1,
    "branching": 2,
    "max_leaf_size": 1,
    "max_iter": 1,
    "random_state": 0,
    "max_cluster_size": 1,
    "max_weights_per_label": 1,
}
OPTIONAL = ("max_cluster_size", "max_weights_per_label")
NUMBERS = ("C", "tol", "min_weight", "bias")
CHOICES = {
    "assignment": ("closed_form", "coverage", "capped", "random", "adaptive", "strongest"),
    "loss": ("squared-hinge", "logistic"),
    "training_rows": ("teacher-forcing", "matcher-aware", "both"),
    "activation": ("l3-hinge", "l2-hinge", "sigmoid", "none"),
    "slot_weights": ("own", "shared"),
    "senses": ("induce", "none"),
    "tree": ("balanced", "k-means", "bonsai", "huffman", "random"),
    "tree_features": ("documents", "sampled", "co-occurrence", "both", "varied"),
    "ordering": ("learned", "product"),
    "merge": ("mean", "sum", "max"),
    "weight_bits": (8, 32),
    "verbose": (0, 1),
}
SHARES = ("favour_rare",)
FOLDS = "match_folds"
SWITCHES = ("finetune_matcher", "sense_positives")


def refused(name, value):
    model = XRLinear(**{name: value})
    with pytest.raises(ValueError, match=f"^{name} must be ") as caught:
        check_parameters(model)
    return str(caught.value)


def test_every_parameter_is_looked_at_here():
    known = {*WHOLE, *NUMBERS, *SHARES, *CHOICES, *SWITCHES, FOLDS, "n_jobs"}
    assert set(inspect.signature(XRLinear).parameters) == known == set(XRLinear._constraints)


def test_another_estimator_brings_its_own_constraints():
    class Baker(XRLinear):
        _constraints = XRLinear._constraints | {"heat": NONE | number_above(10)}

        def __init__(self, copies=2, heat=None):
            super().__init__(copies=copies)
            self.heat = heat

    check_parameters(Baker())
    check_parameters(Baker(heat=11))
    with pytest.raises(ValueError, match=r"^heat must be None or a number above 10 that .* not 9"):
        check_parameters(Baker(heat=9))
    with pytest.raises(ValueError, match=r"^copies must be"):
        check_parameters(Baker(copies=0))


@pytest.mark.parametrize("name", SHARES)
def test_a_share_is_a_number_from_0_to_1(name):
    for value in (0, 0.3, 1):
        check_parameters(XRLinear(**{name: value}))
    for value in (-0.1, 1.1, float("nan"), "0.5", None, True):
        assert "a share from 0 to 1" in refused(name, value)


def test_the_defaults_are_fine():
    check_parameters(XRLinear())


def test_the_defaults_are_those_of_the_design():
    model = XRLinear()
    assert (model.copies, model.beam_size, model.rounds) == (3, 10, 1)
    assert (model.branching, model.max_leaf_size) == (32, 100)
    assert model.finetune_matcher is True
    assert model.sense_positives is False


@pytest.mark.parametrize(("name", "least"), WHOLE.items())
def test_a_count_below_its_least_is_refused(name, least):
    check_parameters(XRLinear(**{name: least}))
    check_parameters(XRLinear(**{name: np.int64(least)}))
    message = refused(name, least - 1)
    assert f"from {least} to 2147483647" in message
    assert message.endswith(f", not {least - 1}.")


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("value", [2.0, "2", True, [2], np.array([2, 3]), float("nan"), 2**40])
def test_a_count_that_is_no_whole_number_is_refused(name, value):
    assert "a whole number" in refused(name, value)


@pytest.mark.parametrize("name", WHOLE)
def test_none_is_a_count_only_where_there_is_a_default_to_compute(name):
    if name in OPTIONAL:
        check_parameters(XRLinear(**{name: None}))
    else:
        refused(name, None)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [-1, "1", None, True, float("nan"), float("inf"), 1e300])
def test_a_number_that_makes_no_sense_is_refused(name, value):
    if name == "C" and value is None:  # which leaves it to be chosen
        check_parameters(XRLinear(C=None))
        return
    assert "a number" in refused(name, value)


def test_zero_is_a_least_weight_and_a_bias_but_no_c_and_no_tolerance():
    check_parameters(XRLinear(min_weight=0, bias=np.float32(0)))
    refused("C", 0)
    refused("tol", 0.0)


@pytest.mark.parametrize(("name", "choices"), CHOICES.items())
def test_a_choice_is_one_of_a_list_that_the_message_shows(name, choices):
    for choice in choices:
        check_parameters(XRLinear(**{name: choice}))
    for value in ["something", "", None, 3, np.array(choices)]:
        message = refused(name, value)
        assert all(repr(choice) in message for choice in choices)


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_is_true_or_false(name):
    check_parameters(XRLinear(**{name: np.True_}))
    for value in ["no", 0, None, np.array([True, False])]:
        assert "must be True or False" in refused(name, value)


@pytest.mark.parametrize("value", [1, -1, 2.0, "2", False, None, np.array([0]), 2**40])
def test_folds_are_none_or_at_least_two(value):
    for n_folds in (0, 2, 5, np.int64(0), np.int32(3)):
        check_parameters(XRLinear(match_folds=n_folds))
    assert "must be 0 or a whole number from 2 to 2147483647" in refused(FOLDS, value)


def test_nothing_is_checked_before_fit():
    model = XRLinear(copies=1).set_params(copies=0)
    with pytest.raises(
        ValueError, match="copies must be a whole number from 1 to 2147483647, not 0"
    ):
        model.fit(np.eye(2), [["a"], ["b"]])


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_an_old_name_is_refused_with_the_new_one(old, new):
    with pytest.raises(
        TypeError, match=f"^XRLinear has no parameter '{old}'; it is called {new}.$"
    ):
        XRLinear(**{old: 1})
    with pytest.raises(
        ValueError, match=f"^XRLinear has no parameter '{old}'; it is called {new}.$"
    ):
        XRLinear().set_params(**{old: 1})


def test_other_unknown_names_are_refused_as_ever():
    with pytest.raises(TypeError, match="unexpected keyword argument 'kopies'"):
        XRLinear(kopies=1)
    with pytest.raises(ValueError, match="Invalid parameter 'kopies'"):
        XRLinear().set_params(kopies=1)


def test_chance_has_a_number_so_that_models_can_be_had_again():
    assert "(the same number gives the same model), not None." in refused("random_state", None)


def test_verbose_may_be_a_truth():
    for value in (True, False):
        check_parameters(XRLinear(verbose=value))


def test_jobs_are_counted_as_in_scikit_learn():
    n_cores = count_threads(None)
    assert count_jobs(None) == count_jobs(-1) == n_cores
    assert count_jobs(-2) == max(1, n_cores - 1)
    assert count_jobs(-1000) == 1
    assert count_jobs(np.int64(3)) == 3


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system has no such thing")
def test_cores_that_this_process_may_not_use_are_not_counted(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5, 7, 9})
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert [count_threads(None), count_jobs(-2)] == [3, 2]


@pytest.mark.parametrize("value", [0, -1, 2.0, "2", True])
def test_threads_that_cannot_be_counted_are_refused(value):
    with pytest.raises(ValueError, match="n_threads must be a positive whole number or None"):
        count_threads(value)


@pytest.mark.parametrize("value", [0, 2.0, "2", True, [2], float("nan"), 2**40])
def test_jobs_that_cannot_be_counted_are_refused(value):
    assert "None or -1 for all cores" in refused("n_jobs", value)


def test_rare_labels_count_for_more_where_they_are_favoured():
    counts = np.array([1, 50], dtype=np.int64)
    assert XRLinear()._plan(counts, 100).label_weights is None
    rare, frequent = XRLinear(favour_rare=1.0)._plan(counts, 100).label_weights
    assert rare == pytest.approx(propensities(counts, 100).inverse[0], rel=1e-5)
    assert rare > frequent > 1
    half = XRLinear(favour_rare=0.5)._plan(counts, 100).label_weights
    assert half == pytest.approx(np.sqrt([rare, frequent]), rel=1e-5)


def test_every_parameter_reaches_those_who_need_it():
    others = {
        "copies": 3,
        "beam_size": 7,
        "rounds": 2,
        "finetune_matcher": False,
        "assignment": "adaptive",
        "max_cluster_size": 11,
        "match_folds": 5,
        "training_rows": "both",
        "sense_positives": True,
    }
    linear = {"loss": "logistic", "max_iter": 4, "bias": 2.0, "min_weight": 0.3, "weight_bits": 32}
    linear["max_weights_per_label"] = 6
    model = XRLinear(**others, **linear, C=5.0, tol=0.2, activation="sigmoid", random_state=9)
    how = LinearTraining(**linear, cost=5.0, tolerance=0.2)
    matcher, ranker = model.make_matcher(), model.make_ranker()
    assert matcher.how == ranker.how == how
    assert matcher.activation == ranker.activation == "sigmoid"
    assert matcher.beam_size == 7
    assert model._plan(np.ones(5, dtype=np.int64), 5) == TrainingPlan(
        AssignmentPlan("adaptive", 3, 11),
        beam_size=7,
        rounds=2,
        finetune_matcher=False,
        match_folds=5,
        training_rows="both",
        sense_positives=True,
    )
    assert model._run().seed == 9
