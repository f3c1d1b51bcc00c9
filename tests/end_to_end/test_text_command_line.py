"""The command line from texts to names."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import scipy.sparse as sp
from click import unstyle
from click.testing import CliRunner

import polyseme
from polyseme.cli import main
from polyseme.cli.predictions import Predicted
from polyseme.demo import make_corpus
from polyseme.suggestions import SuggestedSense, Suggestion
from tests.end_to_end.command_line import refuse, run, succeed, write_csv

SMALL = ("--max-leaf-size=16", "--beam-size=4", "--threads=2", "--ngrams=1")


@pytest.fixture(scope="module")
def articles(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("data") / "articles.csv", 800, seed=0)


@pytest.fixture(scope="module")
def new(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("data") / "new.csv", 60, seed=1)


@pytest.fixture(scope="module")
def text_model(articles, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "articles"
    succeed("train", articles, "-o", path, *SMALL)
    return path


def test_train_on_a_csv_file_just_works_and_reports(articles, tmp_path):
    result = run("train", articles, "-o", tmp_path / "m", *SMALL)
    assert result.exception is None, result.output
    assert "text from 'title', 'body', labels from 'tags', split at ';'" in result.stderr
    for words in ("Computing features", "Total", "Accuracy on 80", "Threshold"):
        assert words in result.stdout
    assert polyseme.load(tmp_path / "m").reading_["text_columns"] == ["title", "body"]


def test_train_as_json_has_the_whole_report(articles, tmp_path):
    out = succeed(
        "train", articles, "-o", tmp_path / "m", *SMALL, "--json", "--precision", 0.7, "--no-refit"
    )
    found = json.loads(out)
    assert found["report"]["threshold"]["wanted_precision"] == 0.7
    assert found["report"]["refitted"] is False
    assert found["features"]["ngrams"] == [1, 1]
    assert found["n_documents"] == 720
    assert found["senses"]["n_judged"] <= found["n_labels"]
    assert len(found["most_ambiguous"]) == min(10, found["senses"]["n_ambiguous"])


def test_options_of_training_reach_the_model(articles, tmp_path):
    options = ("--no-refit", "--precision=0.9", "--examples=0", "--max-leaf-size=16")
    succeed("train", articles, "-o", tmp_path / "m", "--ngrams=2", *options)
    model = polyseme.load(tmp_path / "m")
    assert (model.refit, model.precision, model.examples) == (False, 0.9, 0)
    assert model.features_.ngram_range == (2, 2)
    assert model.report_["refitted"] is False
    assert model.report_["threshold"]["wanted_precision"] == 0.9
    assert model.examples_ is None


def test_nothing_held_out_is_said_and_works(articles, tmp_path):
    bare = run(
        "train", articles, "-o", tmp_path / "m", *SMALL, "--no-held-out", "--ordering=product"
    )
    assert "scores are not probabilities" in bare.stderr
    result = run("train", articles, "-o", tmp_path / "m", *SMALL, "--no-held-out")
    assert "nobody has checked the probabilities" in result.stderr
    assert "Accuracy" not in result.stdout
    assert succeed("info", tmp_path / "m")


def test_predict_prints_tsv_where_nobody_looks_and_json_if_asked(text_model, new):
    lines = [line.split("\t") for line in succeed("predict", text_model, new).splitlines()]
    documents = [
        json.loads(line) for line in succeed("predict", text_model, new, "--json").splitlines()
    ]
    assert len(documents) == 60
    pairs = [(str(doc["row"]), label) for doc in documents for label in doc["labels"]]
    assert [(row, name) for row, name, *_ in lines] == [(row, one["name"]) for row, one in pairs]
    scores = [one["score"] for _, one in pairs]
    assert [float(score) for _, _, score, *_ in lines] == pytest.approx(scores, abs=1e-4)
    assert len({len(line) for line in lines}) == 1


def test_limit_and_threshold_are_obeyed(text_model, new):
    lines = succeed("predict", text_model, new, "--limit=2", "--threshold=0", "--json").split("\n")
    assert all(len(json.loads(line)["labels"]) == 2 for line in lines if line)
    result = run("predict", text_model, new, "--threshold=1")
    assert result.stdout == ""
    assert "no label reaches a probability of 1.000" in result.stderr


def from_stdin(text, *arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=text)


def test_a_text_on_stdin_gets_names_with_scores(text_model):
    text = make_corpus(1, seed=9).texts[0]
    result = from_stdin(text, "predict", text_model, "--threshold=0", "--limit=3")
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert len(rows) == 3
    assert all(0 <= float(score) <= 1 for _, score, *_ in rows)
    by_line = from_stdin(f"{text}\n{text}\n", "predict", text_model, "-", "--lines", "--json")
    assert len(by_line.stdout.splitlines()) == 2
    nothing = from_stdin(" \n", "predict", text_model)
    assert (nothing.exit_code, "no text on stdin" in nothing.stderr) == (2, True)
    binary = from_stdin(b"\xff\xfe", "predict", text_model)
    assert (binary.exit_code, "not UTF-8" in binary.stderr) == (2, True)


def test_a_closed_stdin_is_a_sentence(text_model):
    command = f"exec '{sys.executable}' -m polyseme predict '{text_model}' <&-"
    found = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert found.returncode == 2
    assert found.stderr == "polyseme: stdin is closed; give a file as INPUT.\n"


def test_a_text_file_is_one_document_or_one_a_line(text_model, tmp_path):
    path = tmp_path / "letter.txt"
    path.write_text("bat and umpire\nfishing for bass\n")
    assert len(succeed("predict", text_model, path, "--json").splitlines()) == 1
    assert len(succeed("predict", text_model, path, "--json", "--lines").splitlines()) == 2
    assert "not a file or folder of texts" in refuse("predict", text_model, tmp_path / "x.txt")
    assert len(succeed("predict", text_model, tmp_path, "--json").splitlines()) == 1


def test_predictions_are_written_as_tsv_json_lines_or_a_matrix(text_model, new, tmp_path):
    report = json.loads(succeed("predict", text_model, new, "-o", tmp_path / "a.npz", "--json"))
    assert report["n_documents"] == 60
    matrix = sp.load_npz(tmp_path / "a.npz")
    assert succeed("predict", text_model, new, "-o", tmp_path / "a.tsv") == ""
    assert len((tmp_path / "a.tsv").read_text().splitlines()) == matrix.nnz
    succeed("predict", text_model, new, "-o", tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_text() == succeed("predict", text_model, new, "--json")


def test_rows_are_counted_through_all_batches_and_scores_are_not_rounded_away(
    text_model, new, tmp_path, monkeypatch
):
    monkeypatch.setattr("polyseme.cli.documents.TEXTS_AT_ONCE", 7)
    lines = succeed("predict", text_model, new, "--threshold=0", "-k", 2).splitlines()
    as_json = succeed("predict", text_model, new, "--threshold=0", "-k", 2, "--json").splitlines()
    expected = [
        (str(one["row"]), label["name"], label["score"])
        for one in map(json.loads, as_json)
        for label in one["labels"]
    ]
    assert [row for row, _, _ in expected] == [str(i) for i in range(60) for _ in range(2)]
    found = [line.split("\t")[:3] for line in lines]
    assert [(row, name) for row, name, _ in found] == [(row, name) for row, name, _ in expected]
    assert [float(score) for *_, score in found] == pytest.approx(
        [score for *_, score in expected], abs=6e-5
    )


def test_predictions_of_matrices_are_written_as_tsv_too(model, data, tmp_path):
    succeed("predict", model, data, "-k", 2, "-o", tmp_path / "a.tsv")
    rows = [line.split("\t") for line in (tmp_path / "a.tsv").read_text().splitlines()]
    first = json.loads(succeed("predict", model, data, "-k", 2).splitlines()[0])["labels"]
    assert [(row, name) for row, name, *_ in rows[:2]] == [("0", one["name"]) for one in first]


def test_a_terminal_gets_lines_for_people(text_model, new):
    pty = pytest.importorskip("pty")
    reader, writer = pty.openpty()
    command = [sys.executable, "-m", "polyseme", "predict", str(text_model), str(new)]
    with subprocess.Popen(command, stdout=writer, stderr=subprocess.DEVNULL) as program:
        os.close(writer)
        shown = b""
        try:
            while block := os.read(reader, 65536):
                shown += block
        except OSError:  # how a terminal ends
            pass
    os.close(reader)
    assert program.returncode == 0
    assert b"\t" not in shown
    assert b"0  " in shown


def test_evaluate_measures_texts(text_model, new):
    figures = json.loads(succeed("evaluate", text_model, new, "--json", "--threshold=0.2"))
    assert figures["accuracy"]["P@1"] > 50
    assert figures["threshold"]["threshold"] == 0.2
    assert figures["n_documents"] == 60
    assert "Propensity constants: A = 0.6" in succeed("evaluate", text_model, new, "-a", 0.6)


def test_senses_and_info_know_texts(text_model, articles):
    assert "such as: " in succeed("senses", text_model, "bat")
    assert "such as: " in succeed("senses", text_model, "bat", "--at-least", 0)
    kept = json.loads(succeed("senses", text_model, "bat", "--json"))["senses"]
    assert all(sense["examples"] for sense in kept)
    shown = json.loads(succeed("senses", text_model, "bat", "--data", articles, "--json"))
    assert shown["name"] == "bat"
    assert any(sense["documents"] for sense in shown["senses"])
    assert "such as" in succeed("senses", text_model, "bat", "--data", articles)
    succeed("senses", text_model)
    assert "did you mean" in refuse("senses", text_model, "batt")
    assert succeed("senses", text_model, "BÁT") == succeed("senses", text_model, "bat")
    about = json.loads(succeed("info", text_model, "--json"))
    assert about["text"]["report"]["n_documents"] == 80
    assert "texts, n-grams of words" in succeed("info", text_model)


def test_a_vocabulary_of_skos_gives_names_other_names_and_a_tree(tmp_path):
    rows = ["text,labels", *["a cat sleeps,u:cat", "the dog barks,u:dog", "an owl,u:owl"] * 9]
    data = tmp_path / "animals.csv"
    data.write_text("\n".join(rows), encoding="utf-8")
    vocabulary = tmp_path / "v.ttl"
    vocabulary.write_text(
        "@prefix s: <http://www.w3.org/2004/02/skos/core#> .\n"
        '<u:pet> a s:Concept ; s:prefLabel "pet"@en .\n'
        '<u:cat> a s:Concept ; s:prefLabel "Cat"@en ; s:altLabel "kitty"@en ;\n'
        "    s:broader <u:pet> .\n"
        '<u:dog> a s:Concept ; s:prefLabel "Dog"@en ; s:broader <u:pet> .\n',
        encoding="utf-8",
    )
    args = ("train", data, "-o", tmp_path / "m", "--vocabulary", vocabulary, "--language", "en")
    tree = ("--hierarchy", vocabulary)
    assert "no place for 'u:owl'" in refuse(*args, *tree)
    page = tmp_path / "report.html"
    assert "ends in .html" in refuse(*args, "--report", tmp_path / "report.pdf")
    done = run(*args, *tree, "--hierarchy-others", "together", "--report", page)
    assert done.exit_code == 0, done.output
    assert "m: report of the training" in page.read_text(encoding="utf-8")
    assert "2 of 3 labels have a name" in done.stderr
    assert "Counted together with all that is broader" in done.stdout
    shown = succeed("senses", tmp_path / "m", "KITTY")
    assert "Cat has" in shown
    assert "also called: kitty" in shown
    assert "broader: pet" in shown
    assert "3, 2 with a name" in succeed("info", tmp_path / "m")
    assert "no names in fi" in refuse(*args[:-1], "fi")
    assert "--language is for" in refuse("train", data, "-o", tmp_path / "m", "--language", "en")
    assert "is for texts" in refuse("train", tmp_path, "-o", tmp_path / "m", "--language", "en")


def test_a_terminal_shows_the_sense_of_a_label_behind_its_name():
    sense = SuggestedSense(1, "comet, planet")
    labels = [
        Suggestion(7, "mercury", 0.91, "http://x/7", sense),
        Suggestion(8, "moon", 0.5, "http://x/8"),
    ]
    predicted = Predicted(0, "A transit.", labels, with_senses=True)
    _, first, second = map(unstyle, predicted.for_people())
    assert first == "   0.91  mercury (comet, planet)  http://x/7"
    assert second == "   0.50  moon  http://x/8"
    assert [line.split("\t")[3:] for line in predicted.as_tsv()] == [
        ["http://x/7", "comet, planet"],
        ["http://x/8", ""],
    ]
    assert json.loads(predicted.as_json())["labels"][0]["sense"] == {
        "place": 1,
        "name": "comet, planet",
    }


def test_annif_files_and_a_vocabulary_give_names(tmp_path):
    corpus = make_corpus(60, seed=0)
    names = sorted({name for labels in corpus.labels for name in labels})
    uris = {name: f"http://x/{i}" for i, name in enumerate(names)}
    (tmp_path / "v.tsv").write_text("".join(f"<{uri}>\t{name}\n" for name, uri in uris.items()))
    (tmp_path / "a.tsv").write_text(
        "".join(
            f"{text}\t{' '.join(f'<{uris[name]}>' for name in labels)}\n"
            for text, labels in zip(corpus.texts, corpus.labels, strict=True)
        )
    )
    model = tmp_path / "m"
    succeed("train", tmp_path / "a.tsv", "-o", model, "--vocabulary", tmp_path / "v.tsv", *SMALL)
    row, name, _, uri, *_ = (
        succeed("predict", model, tmp_path / "a.tsv", "--threshold=0").split("\n")[0].split("\t")
    )
    assert (row, uri) == ("0", uris[name])
    assert json.loads(succeed("senses", model, name, "--json"))["name"] == name
    assert (
        json.loads(succeed("evaluate", model, tmp_path / "a.tsv", "--json"))["n_documents"] == 60
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--text-column", "nothing"), "has no column 'nothing'"),
        (("--held-out", "2"), "held_out must be"),
        (("--held-out", "0.2", "--no-held-out"), "exclude each other"),
        (("--precision", "7"), "precision must be"),
        (("--ngrams", "two"), "--ngrams must be a number or a range"),
        (("--ngrams", "3-2"), "ngrams must be"),
        (("--max-features", "0"), "max_features must be"),
        (("--vocabulary", "missing.tsv"), "missing.tsv"),
        (("--labels-file", "missing.txt"), "missing.txt"),
    ],
)
def test_mistakes_are_refused_in_one_sentence(articles, tmp_path, arguments, sentence):
    assert sentence in refuse("train", articles, "-o", tmp_path / "m", *arguments)
    assert not (tmp_path / "m").exists()


def test_an_estimate_on_texts_has_both_trainings_and_trains_nothing(articles, tmp_path):
    text = succeed("train", articles, "--estimate", "-o", tmp_path / "m")
    for row in ("Computing features", "Training without held-out documents", "Total"):
        assert row in text
    assert "its" in text.splitlines()[-1]  # "Fits", or "Does NOT fit"
    assert not (tmp_path / "m").exists()


def test_an_estimate_on_texts_counts_only_what_would_be_trained(articles):
    estimates = {
        option: json.loads(succeed("train", articles, "--estimate", "--json", option))["seconds"]
        for option in ("--no-held-out", "--no-refit")
    }
    held_out = "Training without held-out documents"
    assert {option: held_out in found for option, found in estimates.items()} == {
        "--no-held-out": False,
        "--no-refit": True,
    }
    assert "Training the ranker" in estimates["--no-held-out"]
    assert "Training the ranker" not in estimates["--no-refit"]


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_read(articles):
    assert "cannot save a model to /proc/x/y: nothing can be written to /proc" in refuse(
        "train", articles, "-o", "/proc/x/y"
    )


def test_office_files_and_headless_tables_get_advice(tmp_path):
    sheet = tmp_path / "articles.xlsx"
    sheet.write_bytes(b"PK\3\4")
    assert "save its table as CSV" in refuse("train", sheet, "-o", tmp_path / "m")
    headless = tmp_path / "articles.csv"
    headless.write_text(f"{'a bat in a cave ' * 9},animals\n")
    said = refuse("train", headless, "-o", tmp_path / "m")
    assert "if there is none, add one" in said
    assert len(said) < 400


def test_an_output_of_another_format_than_its_ending_is_refused(text_model, articles, tmp_path):
    said = refuse("predict", text_model, articles, "-o", tmp_path / "out.xlsx")
    assert "the ending .xlsx is not known; use .jsonl" in said


def test_options_of_texts_are_refused_for_matrices(data, model, tmp_path):
    assert "--analyzer is for texts" in refuse(
        "train", data, "-o", tmp_path / "m", "--analyzer=char"
    )
    assert "--threshold is for texts" in refuse("predict", model, data, "--threshold=0.5")
    assert "--labels-column is for texts" in refuse("evaluate", model, data, "--labels-column=x")
    assert "Missing argument 'INPUT'" in refuse("predict", model)
    assert "does not exist" in refuse("train", tmp_path / "nothing.csv", "-o", tmp_path / "m")


def test_a_file_without_labels_is_refused_by_train_and_taken_by_predict(text_model, tmp_path):
    path = tmp_path / "only.csv"
    path.write_text("text\na bat in a cave\n")
    assert "no column for the labels" in refuse("train", path, "-o", tmp_path / "m")
    assert len(succeed("predict", text_model, path, "--json").splitlines()) == 1
    path.write_text("text,labels\na bat,\nan owl,\n")
    assert "none of the 2 documents has a label" in refuse("train", path, "-o", tmp_path / "m")
