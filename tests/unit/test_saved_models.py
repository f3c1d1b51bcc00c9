"""Trained models on disk: what comes back, and what is refused."""

import errno
import os
import resource
import shutil
from contextlib import suppress

import numpy as np
import pytest
from safetensors.numpy import load_file, save

import polyseme
from polyseme import XRLinear, senses
from polyseme.estimators.parameters import RENAMED
from tests.model_folders import edit_manifest, manifest_of, replace_weights, weights_of
from tests.small_data import topics

DATA = topics()
NAMES = [f"label {i}" for i in range(DATA.Y.shape[1])]
WORDS = [f"word {i}" for i in range(DATA.X.shape[1])]
UNSAVED = ("n_jobs", "verbose")


def trained(**parameters):
    model = XRLinear(**{"max_leaf_size": 3, "beam_size": 3, **parameters})
    return model.fit(DATA.X, DATA.Y, label_names=NAMES, feature_names=WORDS)


@pytest.fixture(scope="module")
def model():
    return trained()


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model"
    model.save(path)
    return path


@pytest.fixture
def folder(saved, tmp_path):
    """A copy of the saved model that a test may spoil."""
    return shutil.copytree(saved, tmp_path / "model")


def assert_same_answers(first, second):
    for ours, theirs in zip(
        first.predict_top_k(DATA.X_test), second.predict_top_k(DATA.X_test), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


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


def test_the_number_of_threads_belongs_to_the_machine(saved):
    assert polyseme.load(saved).n_jobs is None
    assert polyseme.load(saved, n_jobs=2).n_jobs == 2
    assert_same_answers(polyseme.load(saved, n_jobs=1), polyseme.load(saved, n_jobs=3))


def test_a_model_from_before_parameters_were_renamed_is_loaded(folder, model):
    old_names = {new: old for old, new in RENAMED.items()}
    kept = {name: value for name, value in model.get_params().items() if name not in UNSAVED}
    edit_description(folder, parameters={old_names.get(n, n): v for n, v in kept.items()})
    assert_same_answers(polyseme.load(folder), model)
    assert polyseme.load(folder).get_params() == {**kept, "n_jobs": None, "verbose": 1}


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


# What is refused


def edit_description(folder, **changes):
    edit_manifest(folder, description=manifest_of(folder)["description"] | changes)


def rewrite_arrays(folder, change):
    """Let `change` spoil the arrays, and let model.json agree with the new file."""
    arrays = {name: array.copy() for name, array in load_file(weights_of(folder)).items()}
    change(arrays)
    replace_weights(folder, save(arrays))


def refused(folder, error=ValueError):
    with pytest.raises(error) as caught:
        polyseme.load(folder)
    message = str(caught.value)
    assert str(folder) in message
    assert "\n" not in message
    return message


def test_nothing_there(tmp_path):
    assert "there is no model at" in refused(tmp_path / "nowhere", FileNotFoundError)


def test_a_folder_that_is_no_model(tmp_path):
    assert "is not a polyseme model" in refused(tmp_path)
    (tmp_path / "model.json").write_text('{"name": "another"}')
    assert "does not describe a polyseme model" in refused(tmp_path)


def test_a_model_of_a_newer_format(folder):
    edit_manifest(folder, format_version=99)
    assert "needs a newer polyseme" in refused(folder)


@pytest.mark.parametrize("name", ["model.json", "weights", "names"])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: b"\0x" * 99,
    ],
    ids=["empty", "truncated", "garbage"],
)
def test_a_file_that_is_empty_or_truncated_or_garbage(folder, name, spoil):
    path = folder / name
    if name != "model.json":
        path = folder / manifest_of(folder)["files"][name]["name"]
    path.write_bytes(spoil(path.read_bytes()))
    assert path.name in refused(folder)


@pytest.mark.parametrize("part", ["weights", "names"])
def test_a_file_that_is_missing(folder, part):
    path = folder / manifest_of(folder)["files"][part]["name"]
    path.unlink()
    assert f"{path.name} is missing" in refused(folder)


def some_array(ending, position, value):
    """Spoil one number of the first array whose name ends like this."""

    def change(arrays):
        name = min(name for name in arrays if name.endswith(ending))
        arrays[name][position] = value

    return change


@pytest.mark.parametrize("part", ["matcher.0", "ranker"])
@pytest.mark.parametrize(
    ("ending", "position", "value"),
    [
        ("bias", 0, np.nan),
        ("bias", -1, -np.inf),
        ("scales", 0, np.nan),
        ("scales", -1, np.inf),
        ("record_sizes", 0, 60_000),
        ("record_sizes", slice(0, 5), 0),
        ("bytes", slice(0, 400), 255),
    ],
)
def test_numbers_that_do_not_fit_in_the_weights(folder, part, ending, position, value):
    rewrite_arrays(folder, some_array(f"{part}.{ending}", position, value))
    assert "is damaged" in refused(folder)


@pytest.mark.parametrize("part", ["matcher.0", "ranker"])
def test_whatever_the_bytes_of_the_weights_are_nothing_crashes(folder, part):
    documents = topics().X
    rng = np.random.default_rng(0)
    n_refused = 0
    for _ in range(60):
        copy = shutil.copytree(folder, folder.parent / "spoilt")

        def spoil(arrays):
            array = arrays[f"{part}.bytes"]
            array[rng.integers(len(array) - 64)] = rng.integers(256)

        rewrite_arrays(copy, spoil)
        try:
            loaded = polyseme.load(copy)
        except ValueError:
            assert "is damaged" in refused(copy)
            n_refused += 1
        else:
            loaded.predict_top_k(documents, 3)
        shutil.rmtree(copy)
    assert n_refused > 1


@pytest.mark.parametrize(
    ("name", "position", "value"),
    [
        ("clusters.labels", 0, -1),
        ("clusters.labels", -1, 24),
        ("clusters.labels", slice(None), 0),
        ("clusters.starts", 0, 1),
        ("clusters.starts", 1, 10**12),
        ("clusters.starts", -1, 0),
        ("label_counts", 0, -1),
        ("slot_documents", 0, -1),
    ],
)
def test_numbers_that_do_not_fit_in_the_clusters(folder, name, position, value):
    rewrite_arrays(folder, some_array(name, position, value))
    assert "is damaged" in refused(folder)


def test_an_array_that_is_missing_or_of_another_length_or_type(saved, tmp_path):
    for number, name in enumerate(load_file(weights_of(saved))):
        for kind, change in {
            "missing": lambda arrays, name=name: arrays.pop(name),
            "short": lambda arrays, name=name: arrays.update({name: arrays[name][:-1].copy()}),
            "long": lambda arrays, name=name: arrays.update(
                {name: np.concatenate([arrays[name], arrays[name][-1:]])}
            ),
            "text": lambda arrays, name=name: arrays.update(
                {name: arrays[name].view(np.int8).copy()}
            ),
            "flat": lambda arrays, name=name: arrays.update({name: arrays[name][None].copy()}),
        }.items():
            folder = shutil.copytree(saved, tmp_path / f"{number}-{kind}")
            rewrite_arrays(folder, change)
            assert "is damaged" in refused(folder), (name, kind)


@pytest.mark.parametrize("seed", range(30))
def test_random_damage_is_refused_or_harmless(folder, seed):
    """Whatever the numbers say, nothing may lead outside an array."""
    rng = np.random.default_rng(seed)

    def change(arrays):
        for _ in range(1 + seed % 3):
            name = sorted(arrays)[rng.integers(len(arrays))]
            raw = arrays[name].view(np.uint8)
            raw[rng.integers(len(raw))] ^= 1 << rng.integers(8)

    rewrite_arrays(folder, change)
    with suppress(ValueError):
        labels, scores = polyseme.load(folder).predict_top_k(DATA.X_test)
        assert labels.max() < 24
        assert not np.isnan(scores).any()


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "Forest"},
        {"kind": None},
        {"n_labels": 0},
        {"n_labels": 25},
        {"n_labels": "24"},
        {"n_features": 3},
        {"n_features": -1},
        {"n_documents": None},
        {"fan_outs": [4]},
        {"fan_outs": [2**40]},
        {"fan_outs": [-8]},
        {"fan_outs": [8.0]},
        {"fan_outs": "8"},
        {"fan_outs": [2, 4]},
        {"parameters": None},
        {"parameters": {"copies": 0}},
        {"parameters": {"beam_size": 0}},
        {"parameters": {"merge": "best"}},
        {"parameters": {"n_jobs": 2}},
        {"parameters": {"__class__": "os"}},
        {"assignments": 3},
        {"phase_seconds": "long"},
    ],
    ids=str,
)
def test_a_description_that_does_not_fit(folder, changes):
    edit_description(folder, **changes)
    refused(folder)


def test_names_that_do_not_fit_the_labels(folder):
    edit_description(folder, n_labels=24)
    other = XRLinear().fit(DATA.X, DATA.Y[:, :20], label_names=NAMES[:20])
    other.save(folder.parent / "other")
    files = manifest_of(folder)["files"] | {
        "names": manifest_of(folder.parent / "other")["files"]["names"]
    }
    shutil.copy(folder.parent / "other" / files["names"]["name"], folder)
    edit_manifest(folder, files=files)
    assert "has 20 names for 24 labels" in refused(folder)


def test_a_save_never_replaces_something_that_is_no_model(tmp_path, model):
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(ValueError, match="the folder holds something else"):
        model.save(tmp_path)
    with pytest.raises(ValueError, match="it is a file, give a folder"):
        model.save(tmp_path / "thesis.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
