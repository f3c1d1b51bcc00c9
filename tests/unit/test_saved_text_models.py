"""Text models on disk: saved, loaded, damaged, edited."""

from __future__ import annotations

import json
import pickle
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file

import polyseme
from polyseme import TextModel, XRLinear
from polyseme.demo import make_corpus
from polyseme.files.model_folder import open_model, save_model
from polyseme.files.stored_model import Contents
from polyseme.inputs.names import Names
from polyseme.text import Record, TextFeatures
from tests.model_folders import edit_description, manifest_of

TRAINING, TEST = make_corpus(1200, seed=0), make_corpus(300, seed=1)
SMALL = {"max_leaf_size": 16, "beam_size": 4, "verbose": 0, "n_jobs": 2}


def fitted(corpus=TRAINING, **parameters):
    features = parameters.pop("features", TextFeatures(ngrams=(1, 1)))
    model = TextModel(features, XRLinear(**SMALL), verbose=0, **parameters)
    return model.fit(corpus.texts, corpus.labels)


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture
def saved(model, tmp_path):
    model.save(tmp_path / "model")
    return tmp_path / "model"


def records(corpus):
    return [
        Record(t, tuple(labels)) for t, labels in zip(corpus.texts, corpus.labels, strict=True)
    ]


@pytest.mark.parametrize(
    "features",
    [
        TextFeatures(),
        TextFeatures(analyzer="char", ngrams=(2, 3), sublinear=False),
        TextFeatures(hashing=True, n_buckets=2**12),
    ],
)
def test_a_loaded_model_suggests_the_same(features, tmp_path):
    model = fitted(make_corpus(200, seed=2), features=features)
    model.save(tmp_path / "m")
    loaded = polyseme.load(tmp_path / "m", n_jobs=2)
    assert isinstance(loaded, TextModel)
    assert loaded.suggest(TEST.texts, threshold=0) == model.suggest(TEST.texts, threshold=0)
    assert loaded.threshold_ == model.threshold_
    assert loaded.report_ == json.loads(json.dumps(model.report_))
    assert loaded.features_.get_params() == model.features_.get_params()
    assert loaded.classifier_.n_jobs == 2
    for label in range(model.classifier_.n_labels_):
        for place in (None, 0, 1, 2):
            assert loaded.examples_of(label, place) == model.examples_of(label, place)


def test_no_file_of_a_model_is_a_pickle(saved, monkeypatch):
    def refuse(*arguments, **keywords):
        raise AssertionError("a model was unpickled")

    for file in saved.iterdir():
        if file.suffix == ".json":
            json.loads(file.read_bytes())
        else:
            assert load_file(file)
            # The header says all: nothing but numbers and the names of arrays.
            length = int.from_bytes(file.read_bytes()[:8], "little")
            header = json.loads(file.read_bytes()[8 : 8 + length])
            assert {array["dtype"][0] for array in header.values()} <= {"B", "I", "U", "F"}
    for name in ("load", "loads", "Unpickler", "_Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    assert polyseme.load(saved).suggest(TEST.texts[:3], threshold=0)


def test_a_model_that_is_not_trained_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not trained yet"):
        TextModel().save(tmp_path / "m")


def parameters(**changes):
    stored = {"held_out": 0.1, "refit": True, "precision": None, "examples": 3}
    return {"parameters": stored | changes}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"kind": "PictureModel"}, "upgrade polyseme"),
        ({"parts": None}, "has no classifier"),
        ({"parts": {}}, "has no classifier"),
        ({"parts": {"classifier": []}}, "has no classifier"),
        ({"parts": {"classifier": {"kind": "xr-linear"}}}, "parameters is None"),
        ({"parts": {"classifier": {"kind": "text"}}}, "has no classifier"),
        ({"parts": {"classifier": {"kind": "PictureModel"}}}, "upgrade polyseme"),
        ({"features": None}, "parameters of its features"),
        (
            {"features": {"parameters": {"evil": 1}, "n_documents": 3}},
            "parameters of its features",
        ),
        ({"features": {"parameters": {"analyzer": "x"}, "n_documents": 3}}, "analyzer must be"),
        ({"features": {"parameters": {}, "n_documents": "many"}}, "from 'many' texts"),
        ({"features": {"parameters": {"hashing": True}, "n_documents": 3}}, "names, or hashing"),
        ({"calibration": "magic"}, "not a curve"),
        ({"threshold": 7}, "threshold is 7"),
        ({"threshold": None}, "threshold is None"),
        ({"parameters": {}}, "not those of a TextModel"),
        (parameters(held_out=2), "held_out must be"),
        (parameters(refit=1), "refit is 1"),
        (parameters(examples=-1), "examples must be"),
        ({"report": []}, r"report is \[\]"),
        ({"n_without_labels": "x"}, "n_without_labels is 'x'"),
    ],
)
def test_a_damaged_description_is_refused(saved, changes, sentence):
    edit_description(saved, **changes)
    with pytest.raises(ValueError, match=sentence):
        polyseme.load(saved)


@pytest.mark.parametrize("value", [-1, 0, 1, 2**31 - 1, 2**31, 1.5, "8", None])
@pytest.mark.parametrize("name", ["n_labels", "n_sparse", "n_dense", "n_levels"])
def test_wrong_sizes_of_the_classifier_are_refused(saved, name, value):
    classifier = manifest_of(saved)["description"]["parts"]["classifier"]
    if classifier[name] == value:
        return
    edit_description(saved, parts={"classifier": classifier | {name: value}})
    with pytest.raises(ValueError, match="is damaged"):
        polyseme.load(saved)


def spoilt(array, how):
    if how in ("nan", "far"):
        return np.full_like(array, np.nan if how == "nan" else 10**9)
    array = array.copy()
    array[{"first": 0, "flat": 1, "down": 1}[how]] = {"first": 1, "flat": 0, "down": 10**9}[how]
    return array


@pytest.mark.parametrize(
    ("name", "array", "sentence"),
    [
        ("features.idf", None, "'features.idf' is missing"),
        ("features.idf", np.ones(3, np.float32), "'features.idf' has shape"),
        ("features.idf", "nan", "not finite"),
        ("examples.meanings", np.zeros(3, np.int64), "'examples.meanings' has shape"),
        ("examples.meanings", "first", "'examples.meanings' must go from 0 to"),
        ("examples.meanings", "flat", "a label of its examples has no meaning"),
        ("examples.meanings", "down", "'examples.meanings' must not decrease"),
        ("examples.meanings", None, "'examples.starts' has shape"),
        ("examples.starts", np.zeros(3, np.int64), "'examples.starts' must go from 0 to"),
        ("examples.starts", "down", "'examples.starts' must not decrease"),
        ("examples.documents", "far", "'examples.documents' has values outside"),
        ("examples.documents", None, "'examples.documents' is missing"),
        ("calibration.scores", None, "'calibration.scores' is missing"),
        ("calibration.scores", np.ones(1), "not a curve"),
        ("calibration.probabilities", np.array([0.9, 0.1]), "not a curve"),
        ("calibration.probabilities", np.ones(2, np.float32), "has type float32"),
    ],
)
def test_damaged_arrays_are_refused(saved, tmp_path, name, array, sentence):
    stored = open_model(saved)
    arrays = dict(stored.arrays)
    if array is None:
        del arrays[name]
    elif isinstance(array, str):
        arrays[name] = spoilt(arrays[name], array)
    else:
        arrays[name] = array
    save_model(tmp_path / "bad", Contents(stored.description, arrays, stored.names))
    with pytest.raises(ValueError, match=sentence):
        polyseme.load(tmp_path / "bad")


def test_names_that_do_not_fit_are_refused(saved, tmp_path):
    stored = open_model(saved)
    nameless = {"classifier/features": stored.names["classifier/features"]}
    for names, sentence in (
        (nameless, "its labels have no names"),
        ({**stored.names, "uris": Names.from_list(["a"])}, r"it has 1 names for \d+ uris"),
    ):
        save_model(tmp_path / "bad", Contents(stored.description, stored.arrays, names))
        with pytest.raises(ValueError, match=sentence):
            polyseme.load(tmp_path / "bad")


@pytest.mark.parametrize(
    "facts",
    [
        {"report": {"accuracy": "x"}},
        {"report": {"n_documents": 3, "n_labels": 2, "accuracy": {"P@1": "x"}}},
        {"report": {"n_documents": 3.5, "n_labels": 2, "accuracy": {}, "by_label_frequency": []}},
        {"report": {"n_documents": -3, "n_labels": 2, "accuracy": {}, "by_label_frequency": []}},
        {"reading": {"text_columns": 3}},
        {"reading": {"text_columns": [3]}},
        {"reading": {"labels_column": ["a"]}},
        {"phase_seconds": {"a": "x"}},
    ],
)
def test_facts_that_people_would_be_shown_are_checked(saved, tmp_path, facts):
    folder = shutil.copytree(saved, tmp_path / "copy")
    edit_description(folder, **facts)
    with pytest.raises(ValueError, match="is damaged"):
        polyseme.load(folder)


def test_parameters_that_make_no_sense_are_refused_before_saving(tmp_path):
    model = fitted(make_corpus(100, seed=2)).set_params(held_out=2.0)
    with pytest.raises(ValueError, match="held_out must be"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()
