"""Models go to a hub and come back, over HTTP, to one that stands in for it."""

from __future__ import annotations

import sys

import pytest
from click.testing import CliRunner

import polyseme
from polyseme import TextModel, XRLinear, hub
from polyseme.cli import main
from polyseme.files.model_folder import model_files
from tests.hub_server import serving_hub

pytest.importorskip("huggingface_hub")

TEXTS = ["a fish tank", "a battle tank", "fish swim", "battle of armour"]


def trained(labels=("fish", "war")):
    model = TextModel(classifier=XRLinear(verbose=0), held_out=0, verbose=0)
    fish, war = labels
    return model.fit(TEXTS, [[fish], [war], [fish], [war]])


@pytest.fixture(scope="module")
def model():
    return trained()


@pytest.fixture
def served(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_none")
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    with serving_hub() as found:
        yield found


def test_a_model_comes_back_as_it_went(model, served, tmp_path):
    address, repositories = served
    model.save(tmp_path / "m")
    assert hub.push(tmp_path / "m", "me/fish", endpoint=address).endswith("me/fish")
    assert set(repositories["me/fish"]) == {*model_files(tmp_path / "m"), "README.md"}
    hub.pull("me/fish", tmp_path / "back" / "fish", endpoint=address)
    back = polyseme.load(tmp_path / "back" / "fish")
    assert back.suggest(TEXTS, threshold=0) == model.suggest(TEXTS, threshold=0)
    assert "# m" in (tmp_path / "back" / "fish" / "README.md").read_text()
    assert sorted(path.name for path in (tmp_path / "back").iterdir()) == ["fish"]


def test_files_of_the_model_before_do_not_stay(model, served, tmp_path):
    address, repositories = served
    model.save(tmp_path / "m")
    hub.push(tmp_path / "m", "me/fish", endpoint=address)
    before = set(repositories["me/fish"])
    trained(("fishes", "wars")).save(tmp_path / "m")
    hub.push(tmp_path / "m", "me/fish", endpoint=address)
    after = set(repositories["me/fish"])
    assert after == {*model_files(tmp_path / "m"), "README.md"}
    assert before & after == {"model.json", "README.md"}


def test_what_arrives_damaged_is_refused_and_leaves_nothing(model, served, tmp_path):
    address, repositories = served
    model.save(tmp_path / "m")
    hub.push(tmp_path / "m", "me/fish", endpoint=address)
    name = next(file for file in repositories["me/fish"] if file.startswith("weights"))
    content = repositories["me/fish"][name]
    repositories["me/fish"][name] = content[:-1] + bytes([content[-1] ^ 1])
    with pytest.raises(ValueError, match="damaged"):
        hub.pull("me/fish", tmp_path / "back", endpoint=address)
    del repositories["me/fish"]["model.json"]
    with pytest.raises(ValueError, match="is not a model of polyseme"):
        hub.pull("me/fish", tmp_path / "back", endpoint=address)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_a_hub_that_does_not_know_the_model_is_one_sentence(served, tmp_path):
    address, _ = served
    with pytest.raises(
        OSError, match=r"me/nothing from the hub http://[^ ]*: there is no such model"
    ):
        hub.pull("me/nothing", tmp_path / "back", endpoint=address)


def test_a_folder_that_is_there_is_not_written_to(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="is there already; give a new folder"):
        hub.pull("me/fish", tmp_path)


def test_the_command_line_pushes_and_pulls(model, served, tmp_path, monkeypatch):
    address, _ = served
    monkeypatch.chdir(tmp_path)
    model.save("m")
    pushed = CliRunner().invoke(main, ["push", "m", "me/fish", "--json", "--endpoint", address])
    assert pushed.exit_code == 0, pushed.output
    pulled = CliRunner().invoke(main, ["pull", "me/fish", "--endpoint", address])
    assert pulled.stdout == "fish\n"
    assert polyseme.load("fish").classes_.tolist() == ["fish", "war"]
    again = CliRunner().invoke(main, ["pull", "me/fish", "--endpoint", address])
    assert (again.exit_code, "give a new folder" in again.stderr) == (2, True)


def test_a_missing_package_is_said_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ValueError, match=r"pip install '\.\[hub\]'"):
        hub.pull("me/fish", tmp_path / "m")
