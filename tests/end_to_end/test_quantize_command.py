"""``polyseme quantize``: from a model with a transformer to one that needs no torch."""

from __future__ import annotations

import json
import sys
import warnings

import pytest

import polyseme
from polyseme import TextModel, XRLinear, XTransformer
from polyseme.demo import make_corpus
from tests.end_to_end.command_line import refuse, succeed, write_csv
from tests.tiny_encoders import need_libraries, need_onnx, table_folder, transformer_folder

need_libraries()
need_onnx()

BARE = {"ordering": "product", "senses": "none", "verbose": 0, "n_jobs": 1, "max_leaf_size": 20}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    corpus = make_corpus(200, seed=0)
    write_csv(folder / "test.csv", 30, seed=1)
    encoders = {
        "transformer": transformer_folder(folder / "of-transformer", corpus.texts),
        "table": table_folder(folder / "of-table", corpus.texts),
    }
    how = {"finetuning": "none", "max_tokens": 60, **BARE}
    classifiers = {name: XTransformer(str(path), **how) for name, path in encoders.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # texts are cut off
        for name, classifier in {**classifiers, "linear": XRLinear(**BARE)}.items():
            model = TextModel(classifier=classifier, held_out=0, verbose=0)
            model.fit(corpus.texts, corpus.labels).save(folder / name)
    return folder


@pytest.mark.filterwarnings("ignore:.*texts have more than")
def test_a_model_is_quantized_and_what_it_loses_is_told(place, tmp_path):
    arguments = place / "transformer", place / "test.csv", "-o", tmp_path / "quick"
    said = json.loads(succeed("quantize", *arguments, "--json"))
    assert said["n_bytes"]["after"] < said["n_bytes"]["before"]
    assert said["accuracy"]["before"]["P@1"] > 20
    measured = json.loads(succeed("evaluate", tmp_path / "quick", place / "test.csv", "--json"))
    assert measured["accuracy"] == pytest.approx(said["accuracy"]["after"])
    shown = succeed("quantize", *arguments, "--precision=float32")
    assert "P@5" in shown
    assert polyseme.load(tmp_path / "quick").classifier_.features_.encoder.precision == "float32"


@pytest.mark.parametrize(
    ("name", "why"),
    [("table", "is a static table"), ("linear", "XRLinear has no encoder to quantize")],
)
def test_a_model_without_a_transformer_is_refused_in_a_sentence(place, tmp_path, name, why):
    said = refuse("quantize", place / name, "-o", tmp_path / "quick")
    assert why in said.splitlines()[-1]
    assert not (tmp_path / "quick").exists()


def test_a_missing_extra_is_told_with_its_command(place, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    said = refuse("quantize", place / "transformer", "-o", tmp_path / "quick")
    assert "pip install '.[onnx]'" in said.splitlines()[-1]
