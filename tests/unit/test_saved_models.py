"""Trained models on disk: what comes back, and what is refused."""

import copy
import errno
import os
import resource
import shutil
import tracemalloc
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from safetensors.numpy import load_file, save

import polyseme
from polyseme import XRLinear, senses
from tests.model_folders import (
    edit_description,
    edit_manifest,
    manifest_of,
    replace_weights,
    weights_of,
)
from tests.small_data import topics

DATA = topics()
NAMES = [f"label {i}" for i in range(DATA.Y.shape[1])]
WORDS = [f"word {i}" for i in range(DATA.X.shape[1])]
UNSAVED = ("n_jobs", "verbose")


def trained(names=True, **parameters):
    model = XRLinear(**{"max_leaf_size": 3, "beam_size": 3, **parameters})
    given = {"label_names": NAMES, "feature_names": WORDS} if names else {}
    return model.fit(DATA.X, DATA.Y, **given)


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


@pytest.fixture(scope="module")
def saved_deep(tmp_path_factory):
    path = tmp_path_factory.mktemp("deep") / "model"
    trained(branching=4, max_leaf_size=2).save(path)
    return path


@pytest.fixture
def deep(saved_deep, tmp_path):
    """The same for a tree of two levels."""
    return shutil.copytree(saved_deep, tmp_path / "model")


@contextmanager
def little_memory():
    """See to it that nothing large is made."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


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


# What is refused


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


@pytest.mark.slow
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
        ("senses.labels", -1, 24),
        ("senses.starts", 1, 10**12),
        ("senses.counts", 0, -1),
        ("senses.probabilities", 0, np.nan),
        ("senses.typical", (0, 0), 240),
        ("senses.words.columns", 0, DATA.X.shape[1]),
        ("senses.beside.columns", 0, 24),
        ("senses.beside.values", 0, np.inf),
    ],
)
def test_numbers_that_do_not_fit_in_the_clusters_or_the_senses(folder, name, position, value):
    rewrite_arrays(folder, some_array(name, position, value))
    assert "is damaged" in refused(folder)


@pytest.mark.slow
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
            raw = arrays[name].reshape(-1).view(np.uint8)
            raw[rng.integers(len(raw))] ^= 1 << rng.integers(8)

    rewrite_arrays(folder, change)
    with suppress(ValueError):
        loaded = polyseme.load(folder)
        labels, scores = loaded.predict_top_k(DATA.X_test)
        assert labels.max() < 24
        assert not np.isnan(scores).any()
        senses.senses_in(loaded, DATA.X_test, labels, at_least=0)
        for label in range(24):
            senses.senses_of(loaded, label, at_least=0)


@pytest.mark.parametrize(
    ("name", "position", "value"),
    [
        ("tree.0", 0, 1),
        ("tree.0", 0, -1),
        ("tree.0", -1, 0),
        ("tree.0", -1, 10**12),
        ("tree.0", -1, 2**63 - 1),
        ("tree.1", 1, 10**12),
        ("tree.1", 1, -1),
        ("tree.1", -1, 10**12),
        ("tree.1", slice(None), 0),
    ],
)
def test_numbers_that_do_not_fit_in_the_tree(deep, name, position, value):
    rewrite_arrays(deep, some_array(name, position, value))
    with little_memory():
        assert "is damaged" in refused(deep)


def test_a_node_without_children_is_harmless(deep):
    """Its place is taken by a sibling with twice as many, so that all sizes agree."""
    rewrite_arrays(deep, some_array("tree.1", 1, 0))
    with suppress(ValueError):
        labels, scores = polyseme.load(deep).predict_top_k(DATA.X_test)
        assert labels.max() < 24
        assert not np.isnan(scores).any()


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "Forest"},
        {"kind": None},
        {"kind": "text"},
        {"kind": "XRLinear"},
        {"kind": ["xr-linear"]},
        {"parameters": None},
        {"parameters": {"copies": 0}},
        {"parameters": {"beam_size": 0}},
        {"parameters": {"beam_size": 2**31}},
        {"parameters": {"beam_size": 10.0}},
        {"parameters": {"merge": "best"}},
        {"parameters": {"activation": "sinh"}},
        {"parameters": {"branching": float("inf")}},
        {"parameters": {"C": float("nan")}},
        {"parameters": {"C": 10**400}},
        {"parameters": {"cost": 1.0}},
        {"parameters": {"n_jobs": 2}},
        {"parameters": {"__class__": "os"}},
        {"assignments": 3},
        {"assignments": [3]},
        {"assignments": [{"reached_before": 1}]},
        {"updates": None},
        {"updates": [{"n_documents": -1, "n_labels": 0}]},
        {"phase_seconds": "long"},
        {"phase_seconds": {"Label tree": "long"}},
        {"phase_seconds": {"Label tree": float("nan")}},
        {"phase_seconds": {"Label tree": 10**400}},
        {"phase_seconds": {"Label tree": -1}},
        {"senses": 3},
        {"senses": []},
        {"senses": {}},
        {"senses": {"evidence": "labels"}},
        {"senses": {"evidence": "smell", "calibration": {}}},
        {"senses": {"evidence": "labels", "calibration": []}},
        {"senses": {"evidence": "labels", "calibration": {"auc": float("nan")}}},
        {"senses": {"evidence": "labels", "calibration": {"long": "x" * 200_000}}},
        {"parameters": {"senses": "guess"}},
    ],
    ids=str,
)
def test_a_description_that_does_not_fit(folder, changes):
    edit_description(folder, **changes)
    refused(folder)


WRONG = [-1, 2**31 - 1, 2**31, 10**30, 1.5, "8", None, True, [8]]
SIZES = {
    "n_labels": [0, 1, 23, 25],
    "n_sparse": [0, 1, DATA.X.shape[1] - 1, DATA.X.shape[1] + 1],
    "n_dense": [1],
    "n_sparse_seen": [0, 1, DATA.X.shape[1] - 1, DATA.X.shape[1] + 1],
    "n_dense_seen": [1],
    "n_levels": [0, 1, 3],
    "n_documents": [0, 1],
}


@pytest.mark.slow
@pytest.mark.parametrize("has_names", [True, False], ids=["names", "no names"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        (name, value)
        for name, others in SIZES.items()
        for value in WRONG + others
        if (name, value) != ("n_documents", 2**31 - 1)
    ],
)
def test_every_wrong_size_is_refused_before_anything_large_is_made(deep, has_names, name, value):
    if not has_names:
        trained(branching=4, max_leaf_size=2, names=False).save(deep)
    polyseme.load(deep)
    edit_description(deep, **{name: value})
    with little_memory():
        assert "is damaged" in refused(deep)


@pytest.mark.parametrize("name", SIZES)
def test_a_size_that_is_missing_is_refused(folder, name):
    description = manifest_of(folder)["description"]
    del description[name]
    edit_manifest(folder, description=description)
    assert f"is damaged: {name} is None" in refused(folder)


def test_more_documents_than_there_were_need_no_more_memory(folder, model):
    """Nothing in a model tells how many documents had no label."""
    edit_description(folder, n_documents=2**31 - 1)
    with little_memory():
        assert_same_answers(polyseme.load(folder), model)


def test_another_share_of_dense_features_is_refused(folder):
    n_features = DATA.X.shape[1]
    for n_dense in (1, n_features):
        edit_description(folder, n_sparse=n_features - n_dense, n_dense=n_dense)
        with pytest.raises(ValueError, match=r"damaged: its array 'matcher\.0\.record_sizes'"):
            polyseme.load(folder)


def test_a_model_json_that_was_edited_by_hand_is_refused(folder):
    path = folder / "model.json"
    text = path.read_text()
    for old, new in [
        ('"n_labels": 24', '"n_labels": 25'),
        ('"beam_size": 3', '"beam_size": 4'),
        ('"merge": "sum"', '"merge": "max"'),
        ('"polyseme_version": "', '"polyseme_version": "9'),
        ('"crc32": ', '"crc32": 1'),
    ]:
        assert old in text
        path.write_text(text.replace(old, new))
        assert "model.json was changed: its checksum is wrong" in refused(folder)
    path.write_text(text)
    polyseme.load(folder)


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
    for trained in (model, polyseme.load(folder)):
        changed = copy.deepcopy(trained).set_params(**{name: value})
        with pytest.raises(ValueError, match=f"{name} was .* in training and is"):
            changed.save(folder)
    assert_same_answers(polyseme.load(folder), model)


def test_what_may_be_changed_at_will_is_saved(folder, model):
    copy.deepcopy(model).set_params(beam_size=5, merge="max", n_jobs=1, verbose=0).save(folder)
    loaded = polyseme.load(folder)
    assert (loaded.beam_size, loaded.merge) == (5, "max")


def test_a_parameter_called_self_is_no_parameter(folder):
    description = manifest_of(folder)["description"]
    edit_description(folder, parameters=description["parameters"] | {"self": 1})
    with pytest.raises(ValueError, match="its parameters are not those of a XRLinear"):
        polyseme.load(folder)
