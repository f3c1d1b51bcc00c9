"""`polyseme.tune` on small data: what it finds, keeps and refuses."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import polyseme
from polyseme.demo import make_corpus
from polyseme.metrics import f1_at_k, propensities, psp_at_k
from polyseme.tuning import TuningInterrupted, halving, trials
from polyseme.tuning.candidates import with_parameters
from polyseme.tuning.metric import Metric
from tests import toy_backbone
from tests.small_data import two_senses

pytestmark = pytest.mark.slow  # a search trains many models

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DATA = two_senses(n_topics=4, n_documents=240)
MODEL = polyseme.XRLinear(
    C=0.1, copies=2, max_leaf_size=8, branching=2, beam_size=2, senses="none", n_jobs=2
)
SPACE = {"C": [0.1, 1.0], "copies": [1, 2], "merge": ["sum", "mean"]}
QUICK = {"budget": "10m", "metric": "P@1", "space": SPACE, "verbose": 0}


def tune(model=MODEL, X=DATA.X, Y=DATA.Y, **how):
    return polyseme.tune(model, X, Y, **{**QUICK, **how})


@pytest.fixture(scope="module")
def found():
    return tune()


# What comes out


def test_the_best_settings_are_those_of_the_best_score_on_all_documents(found):
    assert (found.n_documents, found.n_held_out) == (216, 24)
    assert len(found.trials) == 8
    assert found.best_score == max(trial.score for trial in found.trials)
    assert found.gain > 10
    assert found.baseline_parameters == {"C": 0.1, "copies": 2, "merge": "sum"}
    assert found.baseline_score == found.trials[0].score
    assert found.gain == found.best_score - found.baseline_score


def test_a_score_is_that_of_a_model_of_the_others_on_the_held_out_documents(found):
    order = np.random.default_rng(0).permutation(240)
    held_out, others = np.sort(order[:24]), np.sort(order[24:])
    for trial in (found.trials[0], found.trials[5]):
        model = with_parameters(MODEL, trial.parameters).fit(DATA.X[others], DATA.Y[others])
        expected = 100 * model.score(DATA.X[held_out], DATA.Y[held_out])
        assert trial.score == pytest.approx(expected)


def test_the_given_settings_win_ties():
    found = tune(space={"n_jobs": [1, 2], "random_state": [0]})
    assert found.best_parameters == found.baseline_parameters
    assert "nothing was better than the given settings" in repr(found)


def test_the_same_seed_tries_the_same_and_finds_the_same(found):
    again = tune()
    assert [(t.parameters, t.score) for t in again.trials] == [
        (t.parameters, t.score) for t in found.trials
    ]
    assert again.best_parameters == found.best_parameters
    other = tune(random_state=5)
    assert [t.score for t in other.trials] != [t.score for t in found.trials]


def test_the_best_estimator_is_untrained_and_else_as_given(found):
    best = found.best_estimator()
    assert not hasattr(best, "clusters_")
    assert best.get_params() == {**MODEL.get_params(), **found.best_parameters}


def test_the_settings_as_toml_tell_what_was_gained_and_can_be_read(found):
    text = found.to_toml()
    read = tomllib.loads(text)
    assert read == {
        **found.best_parameters,
        "branching": 2,
        "max_leaf_size": 8,
        "beam_size": 2,
    } | {"senses": "none"}
    assert found.summary in text
    assert polyseme.XRLinear(**read).get_params() == {
        **found.best_estimator().get_params(),
        "n_jobs": None,
    }


def test_a_result_shows_its_best_trials_and_the_given_settings(found):
    lines = str(found).splitlines()
    assert lines[0].split() == ["P@1", "Documents", "Seconds", "Model", "Settings"]
    assert any(line.endswith("as given") for line in lines)
    assert lines[-1] == found.summary
    assert found.to_dict()["trials"][0]["parameters"] == found.baseline_parameters


def test_the_estimator_is_left_as_it_is(found):
    assert found.estimator is MODEL
    assert not hasattr(MODEL, "clusters_")


def test_the_own_space_of_an_estimator_is_tried_with_good_settings_first():
    found = tune(space=None, fixed=["training_rows"], n_candidates=4)
    assert [set(trial.parameters) for trial in found.trials] == [
        set(polyseme.XRLinear.tuned_values) - {"training_rows"}
    ] * 4
    assert found.trials[1].parameters["min_weight"] == 0.05


def test_every_value_that_a_class_has_tuned_is_allowed():
    for name, values in polyseme.XRLinear.tuned_values.items():
        for value in values:
            polyseme.XRLinear(**{name: value}).check_parameters()
    for good in polyseme.XRLinear.tuned_first:
        polyseme.XRLinear(**good).check_parameters()


def test_another_backbone_is_tuned_by_what_all_estimators_share():
    model = toy_backbone.module().CentroidClassifier(max_leaf_size=4, verbose=0)
    found = tune(model, space=None, n_candidates=3)
    assert set(found.best_parameters) == set(type(model).tuned_values)
    assert found.best_score > 0


def test_dense_features_and_lists_of_names_are_tuned_on():
    names = [[f"label {label}" for label in row.indices] for row in sp.csr_array(DATA.Y)]
    found = tune(X=(DATA.X, np.ones((240, 2), dtype=np.float32)), Y=names, n_candidates=2)
    assert found.best_score > 10


def test_samples_grow_up_to_all_documents(monkeypatch):
    monkeypatch.setattr(trials, "SMALLEST_SAMPLE", 20)
    found = tune()
    assert [trial.n_documents for trial in found.trials[:3]] == [24, 72, 216]
    assert sum(trial.n_documents == 24 for trial in found.trials) == 8
    assert sum(trial.n_documents == 216 for trial in found.trials) == 3


# Texts


def test_of_a_text_model_the_classifier_is_tuned_without_the_documents_it_holds_out():
    corpus = make_corpus(300, seed=0)
    model = polyseme.TextModel(classifier=polyseme.XRLinear(max_leaf_size=10), verbose=0)
    found = tune(model, corpus.texts, corpus.labels, n_candidates=2)
    assert found.n_documents + found.n_held_out == 270
    best = found.best_estimator()
    assert isinstance(best, polyseme.TextModel)
    for name, value in found.best_parameters.items():
        assert getattr(best.classifier, name) == value
    assert "max_leaf_size = 10" in found.to_toml()


# Metrics


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("P@5", "P@5"),
        ("p@1", "P@1"),
        ("precision@3", "P@3"),
        ("RECALL@100", "R@100"),
        ("ndcg@5", "nDCG@5"),
        ("psP@3", "PSP@3"),
        ("psndcg@3", "PSnDCG@3"),
        ("f1@2", "F1@2"),
    ],
)
def test_a_metric_is_known_by_name_in_upper_or_lower_case(given, name):
    assert str(Metric.named(given)) == name


@pytest.mark.parametrize("given", ["", "P", "P@0", "P@", "P@-1", "accuracy", "MAP@5", "P@1001", 5])
def test_an_unknown_metric_is_answered_with_the_known_ones(given):
    known = re.escape("P@k, R@k, F1@k, nDCG@k, PSP@k, PSnDCG@k")
    with pytest.raises(ValueError, match=f"metric must be one of {known}.*, not {given!r}"):
        Metric.named(given)


def test_a_metric_measures_what_its_function_does():
    top, Y = np.array([[0, 1], [2, 0]]), np.array([[1, 0, 1], [0, 0, 1]])
    weights = propensities([5, 2, 1], 6)
    assert Metric.named("F1@2")(top, Y, weights) == f1_at_k(top, Y, 2)
    assert Metric.named("PSP@1")(top, Y, weights) == psp_at_k(top, Y, 1, weights)


def test_propensities_are_those_of_all_training_documents_with_the_constants_given():
    scores = [tune(metric="PSP@3", n_candidates=2, space={"C": [1.0]}, a=a) for a in (0.55, 3.0)]
    assert scores[0].best_score != scores[1].best_score


# Keeping and stopping


def test_a_search_goes_on_from_its_state_without_trying_anything_twice(tmp_path, monkeypatch):
    first = tune(state=tmp_path / "state.json")
    monkeypatch.setattr(trials.Laboratory, "try_out", None)  # would fail
    again = tune(state=tmp_path / "state.json")
    assert again.to_dict() == first.to_dict()


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"X": DATA.X * 2}, "data set"),
        ({"Y": DATA.Y[:, ::-1]}, "data set"),
        ({"model": polyseme.XRLinear(max_leaf_size=5)}, "estimator"),
        ({"space": {**SPACE, "C": [0.1, 2.0]}}, "space of values"),
        ({"metric": "P@2"}, "metric"),
        ({"random_state": 1}, "seed"),
        ({"held_out": 0.2}, "share of held-out documents"),
    ],
)
def test_the_state_of_another_search_is_refused(tmp_path, changed, word):
    tune(state=tmp_path / "state.json", n_candidates=1)
    with pytest.raises(ValueError, match=f"with another {word}"):
        tune(state=tmp_path / "state.json", **changed)


def test_threads_and_time_may_change_between_parts_of_a_search(tmp_path):
    tune(state=tmp_path / "state.json", n_candidates=1)
    model = with_parameters(MODEL, {"n_jobs": 1, "verbose": 1})
    found = tune(model, state=tmp_path / "state.json", n_candidates=2, budget=500)
    assert len(found.trials) == 2


def interrupting(n_trials):
    """Return trials of which the last one is ended by Ctrl-C."""
    usual, n_made = trials.Laboratory.try_out, 0

    def try_out(self, *given):
        nonlocal n_made
        n_made += 1
        if n_made > n_trials:
            raise KeyboardInterrupt
        return usual(self, *given)

    return try_out


def test_ctrl_c_keeps_what_was_found_and_says_how_to_go_on(tmp_path, monkeypatch):
    state = tmp_path / "state.json"
    with monkeypatch.context() as patch:
        patch.setattr(trials.Laboratory, "try_out", interrupting(3))
        with pytest.raises(TuningInterrupted, match=r"after 3 trials; .*state\.json has") as stop:
            tune(state=state)
    assert isinstance(stop.value, KeyboardInterrupt)
    assert len(stop.value.result.trials) == 3
    assert len(tune(state=state).trials) == 8


def test_ctrl_c_before_anything_was_found_has_no_result(monkeypatch):
    monkeypatch.setattr(trials.Laboratory, "try_out", interrupting(0))
    with pytest.raises(TuningInterrupted, match="after 0 trials") as stop:
        tune()
    assert stop.value.result is None


def test_a_trial_that_takes_too_long_is_stopped_within_a_phase(monkeypatch):
    laboratory = trials.Laboratory(
        MODEL,
        polyseme.inputs.features.check_features(DATA.X),
        polyseme.inputs.labels.check_labels(DATA.Y, 240)[0],
        Metric("P", 1),
        0.1,
        0,
        0.55,
        1.5,
    )
    answers = iter([False, False, True])
    with pytest.raises(trials.OutOfTimeError):
        laboratory.try_out({"C": 1.0}, 216, lambda: next(answers))


# Limits


def test_models_that_are_too_large_are_out_and_the_table_says_so(found):
    sizes = sorted(trial.model_bytes for trial in found.trials)
    limited = tune(max_model_size=sizes[3])
    best = [t for t in limited.trials if t.parameters == limited.best_parameters]
    assert best[-1].model_bytes <= sizes[3]
    assert "beyond the limits: " in limited.summary
    assert "out, takes" in str(limited)
    assert any(trial["out"] for trial in limited.to_dict()["trials"])


def test_the_size_that_is_measured_is_about_that_of_the_saved_model(found, tmp_path):
    model = with_parameters(MODEL, found.best_parameters).fit(DATA.X, DATA.Y)
    model.save(tmp_path / "model")
    n_bytes = sum(file.stat().st_size for file in (tmp_path / "model").glob("*.safetensors"))
    trial = next(t for t in found.trials if t.parameters == found.best_parameters)
    assert 0.5 < trial.model_bytes / n_bytes < 2


def test_settings_that_need_too_much_memory_are_never_trained(monkeypatch):
    def estimate(self, parameters):
        return trials.Measured(peak_bytes=10**9 * parameters["copies"])

    monkeypatch.setattr(trials.Laboratory, "estimate", estimate)
    found = tune(max_memory="1.5GB")
    assert all(t.parameters["copies"] == 1 for t in found.trials if t.n_documents)
    assert found.baseline_score is None
    assert "the given settings are beyond the limits" in found.summary


def test_limits_that_nothing_keeps_are_a_sentence(monkeypatch):
    with pytest.raises(ValueError, match="stays within the limits"):
        tune(max_model_size=10)
    monkeypatch.setattr(
        trials.Laboratory, "estimate", lambda *_: trials.Measured(peak_bytes=10**12)
    )
    with pytest.raises(ValueError, match="stays within the limits of memory"):
        tune(max_memory="8GB")


# Bad input


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"budget": "soon"}, "budget must be a time"),
        ({"budget": 1e-6}, "is too small"),
        ({"metric": "accuracy"}, "metric must be one of"),
        ({"max_memory": "lots"}, "max_memory must be a size"),
        ({"max_model_size": -1}, "max_model_size must be a size"),
        ({"held_out": 0}, "held_out must be a share"),
        ({"held_out": 0.9}, "held_out must be a share"),
        ({"n_candidates": 0}, "n_candidates must be a whole number"),
        ({"random_state": -1}, "random_state must be a whole number"),
        ({"fixed": ["D"]}, "no parameter 'D'"),
        ({"a": -1, "metric": "PSP@1"}, "propensities need"),
        ({"X": DATA.X[:19], "Y": DATA.Y[:19]}, "19 documents to tune on; at least 20"),
        ({"X": DATA.X[:100]}, "X has 100 rows and Y has 240"),
        ({"model": polyseme.XRLinear(C=-1)}, "C must be a number above 0"),
        ({"model": "xr-linear"}, "tune takes an estimator of polyseme, not 'xr-linear'"),
    ],
)
def test_bad_input_is_a_sentence(how, words):
    with pytest.raises(ValueError, match=words):
        tune(**how)


# Showing


def test_without_a_terminal_each_trial_is_a_line_on_stderr(capsys):
    tune(verbose=1, n_candidates=2)
    shown = capsys.readouterr()
    assert shown.out == ""
    first, second = shown.err.splitlines()
    assert re.fullmatch(r"P@1 \d+\.\d\d on 216 documents, \d+\.\d s: as given", first)
    assert second.startswith("P@1 ")
    tune(n_candidates=1)
    assert capsys.readouterr().err == ""


def test_on_a_terminal_there_is_a_table_while_it_runs(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    tune(verbose=1, n_candidates=2)
    shown = capsys.readouterr().err
    assert "Settings" in shown
    assert "P@1" in shown
    assert halving.__name__ not in shown
