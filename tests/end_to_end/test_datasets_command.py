"""``polyseme datasets``: list, info and fetch, and names in place of folders."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from importlib import import_module

import pytest

from polyseme.datasets.catalogue import Archive, CatalogueEntry
from polyseme.datasets.xmc_text import write_xmc_text
from tests.archive_server import archive_server
from tests.end_to_end.command_line import SMALL, documents, refuse, run, succeed, write_data
from tests.hostile_archives import zipped

SIZES = {"n_train": 40, "n_test": 20, "n_labels": 12, "n_features": 30}


@pytest.fixture(scope="module")
def content(tmp_path_factory) -> bytes:
    folder = tmp_path_factory.mktemp("packed")
    for part, n_documents in (("train", 40), ("test", 20)):
        write_xmc_text(folder / f"{part}.txt", *documents(n_documents, seed=5))
    return zipped(
        {
            f"Tiny/tiny_{name}.txt": (folder / f"{name}.txt").read_bytes()
            for name in ("train", "test")
        }
    )


@pytest.fixture
def served(content):
    with archive_server(content) as server:
        yield server


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("POLYSEME_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


@pytest.fixture
def tiny(served, cache, monkeypatch) -> CatalogueEntry:
    """A catalogue of one small set, which the server has."""
    archive = Archive(served.url)
    entry = CatalogueEntry("Tiny-12", "made", 0.55, 1.5, "http://page", archive=archive, **SIZES)
    catalogue = import_module("polyseme.datasets.catalogue")
    monkeypatch.setattr(catalogue, "known_datasets", lambda: (entry,))
    monkeypatch.setattr(import_module("polyseme.cli.datasets"), "known_datasets", lambda: (entry,))
    return entry


# List and info


@pytest.mark.parametrize("verb", ["list", "info", "fetch"])
def test_every_verb_has_help_with_an_example(verb):
    text = succeed("datasets", verb, "--help")
    assert f"Example: polyseme datasets {verb}" in text
    assert "--json" in text
    assert max(map(len, text.splitlines())) <= 80


def test_list_names_all_sets_with_their_sizes(cache):
    lines = succeed("datasets", "list").splitlines()
    wiki = next(line for line in lines if "Wiki10-31K" in line)
    assert wiki.split() == ["Wiki10-31K", "14,146", "6,616", "30,938", "101,938"]
    assert next(line for line in lines if "LF-Amazon-131K" in line).count("unknown") == 4


def test_list_as_json_has_the_whole_catalogue(cache):
    known = {entry["name"]: entry for entry in json.loads(succeed("datasets", "list", "--json"))}
    amazon = known["Amazon-3M"]
    assert (amazon["n_labels"], amazon["propensity_a"]) == (2_812_281, 0.6)
    assert amazon["licence"] is None
    assert amazon["archive"]["sha256"] is None
    assert amazon["folder"] is None
    assert known["Wiki10-31K"]["figures"][0]["p_at_1"] == 84.14


def test_info_shows_sources_whole_and_says_what_is_unknown(cache):
    text = succeed("datasets", "info", "wiki10-31k")
    assert "Archive: https://archive.org/download/pecos-dataset/xmc-base/wiki10-31k.tar.gz" in text
    assert "not stated" in text
    assert "unknown" in text
    assert "84.57  74.55  65.59" in text


def test_info_of_a_folder_recognises_it_by_its_statistics(tiny, tmp_path):
    folder = write_data(tmp_path / "mine", documents(40, seed=0), documents(20, seed=1))
    assert json.loads(succeed("datasets", "info", folder, "--json"))["name"] == "Tiny-12"


def test_info_of_a_folder_that_nobody_knows_says_its_sizes(tiny, tmp_path):
    folder = write_data(tmp_path / "mine", documents(41, seed=0))
    assert "it has 41 training documents, no test documents, 12 labels and 30 features." in refuse(
        "datasets", "info", folder
    )
    (tmp_path / "empty").mkdir()
    assert "neither X.trn.npz" in refuse("datasets", "info", tmp_path / "empty")


@pytest.mark.parametrize("verb", ["info", "fetch"])
def test_an_unknown_name_is_answered_with_the_nearest(cache, verb):
    assert "did you mean Wiki10-31K?" in refuse("datasets", verb, "wiki10-31")


def test_an_empty_name_is_not_the_current_folder(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(write_data(tmp_path / "mine", documents(40, seed=0), documents(20, seed=1)))
    assert "no data set is called ''" in refuse("datasets", "info", "")


# Fetch


def test_fetch_prints_the_folder_and_names_work_from_then_on(tiny, cache, tmp_path):
    assert "run: polyseme datasets fetch Tiny-12" in refuse("train", "tiny-12", "-o", "model")
    result = run("datasets", "fetch", "tiny-12")
    assert result.exit_code == 0
    assert result.stdout == f"{cache / 'datasets' / 'Tiny-12'}\n"
    assert "polyseme train Tiny-12" in result.stderr

    succeed("train", "tiny-12", "-o", "model", *SMALL)
    by_name = succeed("evaluate", "model", "Tiny-12", "--json")
    by_path = succeed("evaluate", "model", cache / "datasets" / "Tiny-12", "--json")
    assert json.loads(by_name)["P@1"] == json.loads(by_path)["P@1"]
    assert len(succeed("predict", "model", "Tiny-12").splitlines()) == 20
    succeed("senses", "model", 0, "--data", "Tiny-12")
    assert "Total" in succeed("train", "Tiny-12", "--estimate", *SMALL)
    assert succeed("datasets", "list").rstrip().endswith("yes")
    assert f"Folder: {cache / 'datasets' / 'Tiny-12'}" in succeed("datasets", "info", "tiny-12")


def test_fetch_says_as_json_where_the_folder_is(tiny, cache):
    found = json.loads(succeed("datasets", "fetch", "Tiny-12", "--json"))
    assert found == {"name": "Tiny-12", "folder": str(cache / "datasets" / "Tiny-12")}


def test_a_name_nearly_right_is_corrected_where_data_is_expected(tiny):
    assert "did you mean the data set Tiny-12?" in refuse("train", "tiny12", "-o", "model")


def test_a_page_instead_of_the_archive_is_explained_and_by_hand_works(
    tiny, served, content, tmp_path
):
    served.content_type = "text/html"
    sentence = refuse("datasets", "fetch", "Tiny-12")
    assert "web page instead of the archive" in sentence
    assert "polyseme datasets fetch Tiny-12 --archive FILE" in sentence
    assert sentence.count("\n") == 1
    (tmp_path / "saved.zip").write_bytes(content)
    succeed("datasets", "fetch", "Tiny-12", "--archive", tmp_path / "saved.zip")
    assert "saved2.zip" in refuse("datasets", "fetch", "Tiny-12", "--archive", "saved2.zip")


def test_a_hostile_archive_is_one_sentence(tiny, served, tmp_path):
    served.content = zipped({"../evil": b"evil"})
    sentence = refuse("datasets", "fetch", "Tiny-12")
    assert "would lie outside" in sentence
    assert sentence.count("\n") == 1
    assert not list(tmp_path.rglob("evil"))


def test_a_set_without_archive_is_one_sentence(cache):
    assert "make a data folder" in refuse("datasets", "fetch", "tibkat-core")


PROGRAM = """
import signal, sys
from polyseme.cli import main
from polyseme.datasets.catalogue import Archive, CatalogueEntry
module = sys.modules["polyseme.datasets.catalogue"]
entry = CatalogueEntry("Tiny-12", "made", 0.5, 1.5, "http://page", archive=Archive({url!r}))
module.known_datasets = lambda: (entry,)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's child may be deaf to it
main(["datasets", "fetch", "Tiny-12"])
"""


@pytest.mark.timed
def test_ctrl_c_stops_within_a_second_and_keeps_what_arrived(cache, served, content):
    served.pause_after = 500
    part = cache / "archives" / "Tiny-12.archive.part"
    program = [sys.executable, "-c", PROGRAM.format(url=served.url)]
    with subprocess.Popen(program, stderr=subprocess.PIPE, text=True) as running:
        deadline = time.monotonic() + 20
        while not (part.exists() and part.stat().st_size == 500) and time.monotonic() < deadline:
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, errors = running.communicate(timeout=10)
    assert time.monotonic() - began < 1
    assert running.returncode == 130
    assert "what has arrived is kept" in errors
    assert "Traceback" not in errors
    assert part.read_bytes() == content[:500]

    served.pause_after = None
    finished = subprocess.run(program, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert served.asked_ranges == [None, "bytes=500-"]
