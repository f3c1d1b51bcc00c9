"""The command line and the server with a method that reads texts."""

from __future__ import annotations

import json

import pytest

import polyseme
from polyseme.demo import make_corpus
from polyseme.server.model_store import ModelStore
from tests.end_to_end.command_line import refuse, run, succeed, write_csv
from tests.tiny_encoders import need_libraries, table_folder, transformer_folder
from tests.web.conftest import client_with

need_libraries()

SMALL = ("--method=x-transformer", "--max-leaf-size=16", "--beam-size=4", "--threads=1")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    texts = make_corpus(300, seed=0).texts
    table_folder(folder / "table", texts)
    transformer_folder(folder / "transformer", texts)
    write_csv(folder / "articles.csv", 300, seed=0)
    write_csv(folder / "new.csv", 30, seed=1)
    return folder


@pytest.fixture(scope="module")
def model(place):
    setting = f"--set=encoder={place / 'table'}"
    succeed("train", place / "articles.csv", "-o", place / "model", *SMALL, setting)
    return place / "model"


def test_texts_are_learned_tagged_and_measured(place, model):
    assert isinstance(polyseme.load(model).classifier_, polyseme.XTransformer)
    assert succeed("predict", model, place / "new.csv").strip()
    figures = json.loads(succeed("evaluate", model, place / "new.csv", "--json"))
    assert figures["accuracy"]["P@1"] > 20
    assert "x-transformer" in succeed("info", model)


def test_an_encoder_is_fine_tuned_on_the_way(place, tmp_path):
    result = run(
        *("train", place / "articles.csv", "-o", tmp_path / "model", *SMALL, "--copies=2"),
        *(f"--set=encoder={place / 'transformer'}", "--set=n_steps=2", "--set=batch_size=4"),
        *("--set=max_tokens=64", f"--set=work_folder={tmp_path / 'work'}", "--no-refit"),
    )
    assert result.exception is None, result.output
    assert polyseme.load(tmp_path / "model").classifier_.finetuning_
    assert list((tmp_path / "work").rglob("*.safetensors"))


def test_what_it_would_take_is_told(place):
    setting = f"--set=encoder={place / 'table'}"
    said = succeed("train", place / "articles.csv", "--estimate", *SMALL, setting)
    assert "Encoding texts" in said


def test_an_encoder_that_is_not_there_is_told_in_one_sentence(place, tmp_path):
    setting = f"--set=encoder={tmp_path / 'nothing'}"
    said = refuse("train", place / "articles.csv", "-o", tmp_path / "model", *SMALL, setting)
    assert said.splitlines()[-1].startswith("polyseme: there is no folder")
    assert not (tmp_path / "model").exists()


def test_the_server_answers_texts_and_says_that_features_are_not_enough(model):
    with client_with(ModelStore({"model": model})) as client:
        text = make_corpus(300, seed=0).texts[0]
        found = client.post("/v1/suggest", json={"text": text, "threshold": 0})
        assert found.status_code == 200, found.text
        assert found.json()["suggestions"]
        why = client.post("/v1/explain", json={"text": text, "limit": 1})
        assert why.status_code == 200, why.text
        refused = client.post("/v1/suggest", json={"features": [[0, 1.0]]})
        assert refused.status_code == 422
        assert "reads texts" in refused.text
