"""A model that PECOS has trained is served like any other."""

import pytest

from polyseme.adapters.pecos import read_pecos
from polyseme.server.model_store import ModelStore
from tests.pecos_folders import PecosModel
from tests.web.conftest import client_with


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pecos")
    names = [f"label {i}" for i in range(40)]
    words = [f"word {i}" for i in range(17)]
    theirs = PecosModel().write(folder / "theirs")
    read_pecos(theirs, label_names=names, feature_names=words).save(folder / "ours")
    with client_with(ModelStore({"ours": folder / "ours"})) as client:
        yield client


def test_an_imported_model_suggests_and_explains(imported):
    document = {"features": {"word 3": 1.0, "word 5": 0.5}}
    found = imported.post("/v1/suggest", json=document)
    assert found.status_code == 200, found.text
    best = found.json()["suggestions"][0]["label"]
    why = imported.post("/v1/explain", json={**document, "labels": [best]})
    assert why.status_code == 200, why.text


@pytest.mark.parametrize(
    "place", ["labels", "labels?order=ambiguity", "labels/3", "tree", "models", "quality"]
)
def test_an_imported_model_can_be_looked_at(imported, place):
    found = imported.get(f"/v1/{place}")
    assert found.status_code == 200, found.text
