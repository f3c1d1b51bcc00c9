"""The command line adds texts and labels to a model."""

from __future__ import annotations

import csv
import json
import os

import pytest

import polyseme
from polyseme.demo import make_corpus
from tests.end_to_end.command_line import refuse, run, succeed

SMALL = ("--max-leaf-size=16", "--beam-size=6", "--threads=2", "--ngrams=1")
CORPUS = make_corpus(900, seed=0)


def write_csv(path, is_wanted):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "tags"])
        for text, labels in zip(CORPUS.texts, CORPUS.labels, strict=True):
            if is_wanted(labels):
                writer.writerow([text, "; ".join(labels)])
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    old = write_csv(folder / "old.csv", lambda labels: "tank" not in labels)
    more = write_csv(folder / "more.csv", lambda labels: "tank" in labels)
    return old, more


@pytest.fixture
def plain(files, tmp_path):
    succeed("train", files[0], "-o", tmp_path / "m", *SMALL)
    return tmp_path / "m"


def names_of(path):
    return list(polyseme.load(path).classifier_.label_names_)


def test_update_adds_a_label_with_the_old_file_given_again(plain, files):
    old, more = files
    result = run("update", plain, more, "--with", old)
    assert result.exception is None, result.output
    assert "are from before the update" in result.stderr
    for words in (
        "new documents",
        "clusters trained anew",
        "ambiguous labels",
        "full training due",
        "Total",
    ):
        assert words in result.stdout
    assert names_of(plain)[-1] == "tank"
    shown = succeed("info", plain)
    assert "added since training" in shown
    added = json.loads(succeed("info", plain, "--json"))["text"]["added_since_report"]
    assert added["n_labels"] == 3  # two labels are never without "tank"
    assert (
        f"Measured before {added['n_documents']} documents and 3 labels were added; "
        "`polyseme evaluate` measures the model as it is now."
    ) in shown


def test_a_report_of_a_model_that_was_not_updated_is_not_called_old(plain):
    assert "Measured before" not in succeed("info", plain)
    assert json.loads(succeed("info", plain, "--json"))["text"]["added_since_report"] is None


def test_update_needs_no_old_file_after_keep_data_and_may_write_elsewhere(files, tmp_path):
    old, more = files
    succeed("train", old, "-o", tmp_path / "m", "--keep-data", *SMALL)
    printed = succeed("update", tmp_path / "m", more, "-o", tmp_path / "new", "--json")
    done = json.loads(printed)
    assert done["update"]["n_labels"] == 3  # two labels are never without it
    assert {"Reading new texts", "Saving the model"} <= set(done["update"]["seconds"])
    assert names_of(tmp_path / "new")[-1] == "tank"
    assert "tank" not in names_of(tmp_path / "m")


def test_a_full_training_that_is_due_is_said(plain, files):
    result = run("update", plain, files[0], "--with", files[0], "--keep-matcher")
    assert result.exception is None, result.output
    assert "a full training is due. " in result.stderr
    assert "documents were added" in result.stderr


def test_documents_that_come_twice_and_labels_that_nobody_knew_are_said(plain, files, tmp_path):
    again = run("update", plain, files[0], "--with", files[0], "-o", tmp_path / "again")
    assert "of the documents were in the model already and now count twice" in again.stderr
    other = tmp_path / "other.csv"
    other.write_text("text,labels\na bat in a cave,urn:1\na tank of water,urn:2\na reef,\n")
    said = run("update", plain, other, "--with", files[0], "-o", tmp_path / "other").stderr
    assert "no label of" in said
    assert "left out 1 document without labels" in said
    assert "in the model already" not in said


def test_a_kept_matcher_matches_every_text_as_before(plain, files, tmp_path):
    old, more = files
    before = polyseme.load(plain)
    X = before.features_.transform(CORPUS.texts[:50])
    for option, is_same in (("--keep-matcher", True), ("--threads=2", False)):
        succeed("update", plain, more, "--with", old, "-o", tmp_path / "new", option)
        found = [model.classifier_.match(X) for model in (before, polyseme.load(tmp_path / "new"))]
        one, other = (matched.to_scipy().toarray() for matched in found)
        assert (one.shape == other.shape and bool((one == other).all())) == is_same


def test_new_labels_get_their_names_from_the_vocabulary(tmp_path):
    for file, uri in (("old", "urn:1"), ("more", "urn:2")):
        texts = ("a bat in the cave", "a tank of water")
        (tmp_path / f"{file}.tsv").write_text("".join(f"{text}\t<{uri}>\n" for text in texts))
    (tmp_path / "names.tsv").write_text("<urn:1>\tanimals\n<urn:2>\tmachines\n")
    vocabulary = ("--vocabulary", tmp_path / "names.tsv")
    succeed("train", tmp_path / "old.tsv", "-o", tmp_path / "m", "--keep-data", *vocabulary)
    succeed("update", tmp_path / "m", tmp_path / "more.tsv", *vocabulary)
    assert names_of(tmp_path / "m") == ["animals", "machines"]


def test_update_without_old_documents_is_refused_in_one_sentence(plain, files):
    said = refuse("update", plain, files[1])
    assert "by --with, or train it with --keep-data" in said


def test_wrong_old_documents_are_refused_and_the_model_stays(plain, files):
    before = names_of(plain)
    assert "not those that the model was trained on" in refuse(
        "update", plain, files[1], "--with", files[1]
    )
    assert names_of(plain) == before


def test_a_model_of_matrices_is_refused(model, files):
    assert "polyseme.update.updated" in refuse("update", model, files[1], "--with", files[0])


def test_an_update_that_cannot_be_saved_leaves_the_old_model(plain, files, monkeypatch):
    before = {file.name: file.read_bytes() for file in plain.iterdir()}

    def fail(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("polyseme.files.model_folder.os.replace", fail)
    said = refuse("update", plain, files[1], "--with", files[0])
    assert "what was there before is unchanged" in said
    assert {file.name: file.read_bytes() for file in plain.iterdir()} == before
