"""Trained models on disk that were spoilt: each is refused, or harmless, and nothing crashes."""

import shutil
import tracemalloc
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from safetensors.numpy import load_file, save

import polyseme
from polyseme import XRLinear, senses
from tests import saved_topics
from tests.model_folders import (
    edit_description,
    edit_manifest,
    manifest_of,
    replace_weights,
    weights_of,
)
from tests.saved_topics import DATA, NAMES, assert_same_answers, trained
from tests.small_data import topics

model = saved_topics.model
saved = saved_topics.saved
folder = saved_topics.folder


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


def test_a_parameter_called_self_is_no_parameter(folder):
    description = manifest_of(folder)["description"]
    edit_description(folder, parameters=description["parameters"] | {"self": 1})
    with pytest.raises(ValueError, match="its parameters are not those of a XRLinear"):
        polyseme.load(folder)
