"""Trained models on disk: what comes back, what a save that fails leaves, and what is saved."""

import copy
import errno
import os
import resource

import numpy as np
import pytest

import polyseme
from polyseme import XRLinear, senses
from tests import saved_topics
from tests.saved_topics import DATA, NAMES, WORDS, assert_same_answers, trained

UNSAVED = ("n_jobs", "verbose")

model = saved_topics.model
saved = saved_topics.saved
folder = saved_topics.folder


# What comes back


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"copies": 1, "rounds": 0},
        {"max_leaf_size": 100},
        {"loss": "logistic", "activation": "sigmoid", "merge": "sum", "bias": 0.0},
        {"activation": "none", "assignment": "adaptive", "max_weights_per_label": 3},
    ],
    ids=str,
)
def test_a_loaded_model_answers_exactly_like_the_saved_one(parameters, tmp_path):
    model = trained(**parameters)
    model.save(tmp_path / "model")
    loaded = polyseme.load(tmp_path / "model")
    assert_same_answers(loaded, model)
    ours, theirs = loaded.decision_function(DATA.X_test), model.decision_function(DATA.X_test)
    np.testing.assert_array_equal(ours.toarray(), theirs.toarray())
    assert loaded.score(DATA.X_test, DATA.Y_test) == model.score(DATA.X_test, DATA.Y_test)


def test_all_that_was_learned_comes_back(model, saved):
    loaded = polyseme.load(str(saved))
    kept = {name: value for name, value in model.get_params().items() if name not in UNSAVED}
    assert kept.items() <= loaded.get_params().items()
    assert (loaded.n_labels_, loaded.n_features_in_) == (model.n_labels_, model.n_features_in_)
    assert loaded.n_documents_ == model.n_documents_
    assert loaded.tree_ == model.tree_
    assert loaded.assignments_ == model.assignments_
    assert loaded.phase_seconds_ == model.phase_seconds_
    assert list(loaded.label_names_) == NAMES
    assert list(loaded.feature_names_) == WORDS
    np.testing.assert_array_equal(loaded.clusters_.labels, model.clusters_.labels)
    np.testing.assert_array_equal(loaded.label_counts_, model.label_counts_)
    np.testing.assert_array_equal(loaded.slot_documents_, model.slot_documents_)
    for name, array in model.senses_.to_arrays().items():
        np.testing.assert_array_equal(loaded.senses_.to_arrays()[name], array, strict=True)
    assert loaded.senses_.n_judged > 0
    assert senses.senses_of(loaded, "label 3", DATA.X, DATA.Y) == senses.senses_of(
        model, "label 3", DATA.X, DATA.Y
    )


def test_weights_are_maps_of_the_file(saved):
    loaded = polyseme.load(saved)
    for part in (*loaded.matcher_.levels, loaded.ranker_.weights):
        base = part.bytes
        assert not base.flags.writeable
        while not isinstance(base, np.memmap):
            base = base.base
        assert base.filename is not None


def test_how_to_use_a_machine_is_not_saved(model):
    stored = model.contents().description["parameters"]
    assert stored.keys() == model.get_params().keys() - set(UNSAVED)


def test_the_number_of_threads_belongs_to_the_machine(saved):
    assert polyseme.load(saved).n_jobs is None
    assert polyseme.load(saved, n_jobs=2).n_jobs == 2
    assert_same_answers(polyseme.load(saved, n_jobs=1), polyseme.load(saved, n_jobs=3))


def test_a_wrong_number_of_jobs_is_not_the_fault_of_the_model(saved):
    with pytest.raises(ValueError, match=r"^n_jobs must be None or -1 for all cores"):
        polyseme.load(saved, n_jobs=0)


def test_threads_are_called_jobs_when_a_model_is_loaded(saved):
    with pytest.raises(TypeError, match="load has no parameter 'n_threads'; it is called n_jobs"):
        polyseme.load(saved, n_threads=2)


def test_a_loaded_model_can_be_saved_over_itself_and_trained_again(folder, model):
    loaded = polyseme.load(folder)
    loaded.save(folder)
    assert_same_answers(loaded, model)
    assert_same_answers(polyseme.load(folder), model)
    assert_same_answers(loaded.fit(DATA.X, DATA.Y), model)


def test_a_model_without_names_has_none_when_loaded(tmp_path):
    XRLinear().fit(DATA.X, DATA.Y).save(tmp_path / "model")
    loaded = polyseme.load(tmp_path / "model")
    assert loaded.label_names_ is None
    assert loaded.feature_names_ is None


def test_ids_come_back_as_ids(tmp_path):
    XRLinear().fit(DATA.X, [np.flatnonzero(row) * 7 for row in DATA.Y.toarray()]).save(
        tmp_path / "model"
    )
    assert list(polyseme.load(tmp_path / "model").label_names_) == [i * 7 for i in range(24)]


@pytest.mark.parametrize(
    ("X", "Y"),
    [
        (DATA.X[:1], DATA.Y[:1]),
        (DATA.X, DATA.Y[:, :1]),
        (DATA.X * 0, DATA.Y),
        (DATA.X, DATA.Y * 0),
        (DATA.X[:, :1], DATA.Y),
    ],
    ids=["one document", "one label", "zero X", "no labels at all", "one feature"],
)
def test_a_model_of_hardly_anything_is_saved_and_loaded_all_the_same(X, Y, tmp_path):
    model = XRLinear(max_leaf_size=3).fit(X, Y)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(
        polyseme.load(tmp_path / "model").predict_top_k(X, 3), model.predict_top_k(X, 3)
    )


# A save that fails


@pytest.mark.parametrize("step", ["write_arrays", "_write_text", "os.replace"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interrupted_save_leaves_the_old_model(folder, model, monkeypatch, step, error):
    def fail(*arguments):
        raise error(errno.ENOSPC, "no space left")

    other = trained(copies=1, rounds=0)
    before = sorted(folder.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(f"polyseme.files.model_folder.{step}", fail)
        with pytest.raises(error):
            other.save(folder)
    assert sorted(folder.iterdir()) == before
    assert_same_answers(polyseme.load(folder), model)
    other.save(folder)
    assert_same_answers(polyseme.load(folder), other)


def test_a_full_disk_is_one_sentence_and_leaves_the_old_model(folder, model):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match=f"cannot save the model to {folder}: File too large"):
            trained(copies=1, rounds=0).save(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert_same_answers(polyseme.load(folder), model)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do everything")
def test_no_permission_is_one_sentence(folder, model):
    folder.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match="cannot save the model"):
            model.save(folder)
        folder.chmod(0o000)
        with pytest.raises((PermissionError, ValueError), match=str(folder)):
            polyseme.load(folder)
    finally:
        folder.chmod(0o700)


def test_a_save_never_replaces_something_that_is_no_model(tmp_path, model):
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(ValueError, match="the folder holds something else"):
        model.save(tmp_path)
    with pytest.raises(ValueError, match="it is a file; give a folder"):
        model.save(tmp_path / "thesis.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


# What is saved is what was trained


@pytest.mark.parametrize(
    ("name", "value"), [("C", -1), ("merge", "foo"), ("random_state", None), ("weight_bits", 16)]
)
def test_a_parameter_that_makes_no_sense_is_refused_before_a_good_model_is_replaced(
    folder, model, name, value
):
    spoilt = copy.deepcopy(model).set_params(**{name: value})
    with pytest.raises(ValueError, match=f"{name} must be"):
        spoilt.save(folder)
    assert_same_answers(polyseme.load(folder), model)


@pytest.mark.parametrize(("name", "value"), [("activation", "sigmoid"), ("C", 2.0), ("copies", 4)])
def test_a_parameter_that_was_changed_since_training_is_not_saved_as_if_trained_with(
    folder, model, name, value
):
    for one in (model, polyseme.load(folder)):
        changed = copy.deepcopy(one).set_params(**{name: value})
        with pytest.raises(ValueError, match=f"{name} was .* in training and is"):
            changed.save(folder)
    assert_same_answers(polyseme.load(folder), model)


def test_what_may_be_changed_at_will_is_saved(folder, model):
    copy.deepcopy(model).set_params(beam_size=5, merge="max", n_jobs=1, verbose=0).save(folder)
    loaded = polyseme.load(folder)
    assert (loaded.beam_size, loaded.merge) == (5, "max")
