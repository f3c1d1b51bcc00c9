"""The command line finds labels for texts: in files, on stdin, and in every form of output."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from click import unstyle
from click.testing import CliRunner

from polyseme import TextModel, XRLinear
from polyseme.cli import main
from polyseme.cli.predictions import for_people
from polyseme.demo import make_corpus
from polyseme.suggestions import SuggestedSense, Suggestion
from polyseme.text.predictions import Predicted, as_tsv, write_predictions
from tests.end_to_end.command_line import refuse, run, succeed

# Files


def test_predict_prints_tsv_where_nobody_looks_and_json_if_asked(text_model, new):
    header, *lines = csv.reader(succeed("predict", text_model, new).splitlines(), delimiter="\t")
    assert header == ["row", "id", "name", "score", "uri", "sense"]
    documents = [
        json.loads(line) for line in succeed("predict", text_model, new, "--json").splitlines()
    ]
    assert len(documents) == 60
    nothing = {"name": "", "score": ""}
    expected = [
        [str(one["row"]), one["id"], label["name"], str(label["score"])]
        for one in documents
        for label in one["labels"] or [nothing]
    ]
    assert [line[:4] for line in lines] == expected
    assert [one["id"] for one in documents] == [str(i) for i in range(60)]


def test_limit_and_threshold_are_obeyed(text_model, new):
    lines = succeed("predict", text_model, new, "--limit=2", "--threshold=0", "--json").split("\n")
    assert all(len(json.loads(line)["labels"]) == 2 for line in lines if line)
    result = run("predict", text_model, new, "--threshold=1")
    rows = [line.rstrip("\t") for line in result.stdout.splitlines()[1:]]
    assert rows == [f"{i}\t{i}" for i in range(60)]
    assert "60 of 60 documents (100.0%) have no label that reaches 1.000" in result.stderr


def test_every_document_gets_a_label_if_wanted(text_model, new):
    def n_labels(*options):
        lines = succeed("predict", text_model, new, "--json", *options).splitlines()
        return [len(json.loads(line)["labels"]) for line in lines]

    usual = n_labels()
    assert n_labels("--at-least", 1) == [max(1, n) for n in usual]
    assert n_labels("--threshold", 1, "--at-least", 2) == [2] * 60
    assert n_labels("--top", 5) == [5] * 60
    assert n_labels("--threshold", 1, "--at-least", 12) == [12] * 60  # above the usual limit
    assert "--top excludes" in refuse("predict", text_model, new, "--top=5", "--threshold=0.1")
    assert "--at-least must be from 0 to the limit, 2" in refuse(
        "predict", text_model, new, "-k", 2, "--at-least", 3
    )


def test_an_id_column_can_be_chosen_and_a_wrong_one_is_refused(text_model, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,isbn,text\n1,978,a bat in a cave\n")
    found = json.loads(succeed("predict", text_model, path, "--json", "--id-column", "isbn"))
    assert found["id"] == "978"
    assert "has no column 'isbm' (--id-column); did you mean 'isbn'?" in refuse(
        "predict", text_model, path, "--id-column", "isbm"
    )


def test_a_text_file_is_one_document_or_one_a_line(text_model, tmp_path):
    path = tmp_path / "letter.txt"
    path.write_text("bat and umpire\nfishing for bass\n")
    assert len(succeed("predict", text_model, path, "--json").splitlines()) == 1
    assert len(succeed("predict", text_model, path, "--json", "--lines").splitlines()) == 2
    assert "not a file or folder of texts" in refuse("predict", text_model, tmp_path / "x.txt")
    assert len(succeed("predict", text_model, tmp_path, "--json").splitlines()) == 1


@pytest.mark.parametrize("options", [["--lines"], ["--lines", "--format=csv"]])
def test_lines_of_a_table_are_refused_unless_the_format_says_so(text_model, new, options):
    assert "--lines is for plain text, and" in refuse("predict", text_model, new, *options)
    found = succeed("predict", text_model, new, "--lines", "--format=lines", "--json")
    assert len(found.splitlines()) > 60


def test_a_text_column_that_is_missing_is_said(text_model, tmp_path):
    (tmp_path / "a.csv").write_text("id,Titel,body\n1,Tanks,a tank and a siege\n")
    result = run("predict", text_model, tmp_path / "a.csv")
    assert "a.csv: CSV with ','; text from 'body', no labels, ids from 'id'." in result.stderr
    assert (
        "has no column 'title', which the model was trained with; its texts are those of 'body'"
        in result.stderr
    )
    assert (
        "no column"
        not in run("predict", text_model, tmp_path / "a.csv", "--text-column=body").stderr
    )


def test_lines_are_taken_as_such_and_have_no_columns(text_model):
    prose = "Title, abstract and body of a paper\nquantum theory, optics\n"
    for options, n_texts in ((("--lines",), 2), ((), 1)):
        found = from_stdin(prose, "predict", text_model, "--json", *options)
        assert len(found.stdout.splitlines()) == n_texts
    refused = from_stdin("milk", "predict", text_model, "-", "--id-column", "nope")
    assert "--id-column is for tables, and stdin is plain text" in refused.stderr


def test_ids_that_occur_twice_are_said(text_model, tmp_path):
    (tmp_path / "a.csv").write_text("id,text\na,a tank\nb,a bat\na,a siege\n")
    said = run("predict", text_model, tmp_path / "a.csv").stderr
    assert "1 document had an id that an earlier one has, the first 'a'." in said


def test_missing_ids_are_said_where_the_training_documents_had_some(text_model, new, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("number,text\n1,a bat in a cave\n")
    said = run("predict", text_model, path).stderr
    assert said.count("a.csv has no column of ids such as 'id'") == 1
    assert "no column of ids" not in run("predict", text_model, path, "--id-column=number").stderr
    assert "no column of ids" not in run("predict", text_model, new).stderr


@pytest.mark.parametrize("verb", ["predict", "evaluate"])
def test_a_model_in_the_place_of_the_data_is_seen(text_model, new, verb):
    said = refuse(verb, new, text_model)
    assert f"{new} is not a model, but {text_model} is; give the model first" in said


def test_a_matrix_of_features_is_named_as_what_it_is(text_model, data):
    said = refuse("predict", text_model, data / "X.tst.npz")
    assert "X.tst.npz is a matrix of features (.npz), and the model is one of texts" in said


# Stdin and arguments


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
    binary = from_stdin(b"caf\xe9", "predict", text_model)
    assert (binary.exit_code, "not UTF-8" in binary.stderr) == (2, True)


def test_stdin_with_structure_is_read_as_what_it_is(text_model, new):
    rows = list(csv.DictReader(new.read_text().splitlines()))[:3]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    table = "".join(new.read_text().splitlines(keepends=True)[:4])
    expected = succeed("predict", text_model, new, "--json").splitlines()[:3]
    for content in (lines, table):
        found = from_stdin(content, "predict", text_model, "-", "--json")
        assert found.stdout.splitlines() == expected
        assert "stdin looks like" in found.stderr
        found = from_stdin(content, "predict", text_model, "-", "--json", "--lines")
        assert len(found.stdout.splitlines()) == len(content.splitlines())
        assert "as you say --lines, all of it is text" in found.stderr
    plain = from_stdin(lines, "predict", text_model, "--json", "--format=text")
    assert [json.loads(line).get("id", "none") for line in plain.stdout.splitlines()] == ["none"]
    assert "looks like" not in plain.stderr
    by_line = from_stdin(lines, "predict", text_model, "--json", "--format=lines")
    assert len(by_line.stdout.splitlines()) == 3


def test_labels_on_stdin_do_not_count_as_text(text_model):
    text = make_corpus(1, seed=9).texts[0]
    bare = from_stdin(f"{text}\n", "predict", text_model, "--lines", "--json", "--top=3")
    labelled = from_stdin(f"__label__tank {text}\n", "predict", text_model, "--json", "--top=3")
    assert labelled.stdout == bare.stdout
    table = from_stdin('{"text": "a tank", "labels": "a; b"}\n', "predict", text_model, "-")
    assert "labels in 'labels' are ignored; read as that" in table.stderr


def test_what_is_wrong_on_stdin_is_said_of_stdin(text_model):
    broken = from_stdin('{"text": "a"}\n{"text": \n', "predict", text_model, "-")
    assert (broken.exit_code, "stdin, row 1 (line 2): not JSON" in broken.stderr) == (2, True)
    binary = from_stdin(b"a\nb\nc\xe9\n" * 9, "predict", text_model, "--format=lines")
    assert (binary.exit_code, "stdin, line 3: not UTF-8" in binary.stderr) == (2, True)


def test_a_text_can_be_an_argument(text_model):
    texts = make_corpus(2, seed=9).texts
    one = succeed("predict", text_model, "--text", texts[0], "--top=2")
    assert one == from_stdin(texts[0], "predict", text_model, "--top=2").stdout
    both = succeed("predict", text_model, "--text", texts[0], "--text", texts[1], "--json")
    assert [json.loads(line)["row"] for line in both.splitlines()] == [0, 1]
    said = refuse("predict", text_model, "a bat in a cave")
    assert (
        "is not a file or folder of texts; if it is the text itself, give it with --text" in said
    )
    assert "exclude each other" in refuse("predict", text_model, "x.csv", "--text", "a")


def test_a_closed_stdin_is_a_sentence(text_model):
    command = f"exec '{sys.executable}' -m polyseme predict '{text_model}' <&-"
    found = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert found.returncode == 2
    assert found.stderr == "polyseme: stdin is closed; give a file as INPUT.\n"


# Forms of output


def test_predictions_are_written_as_the_ending_says(text_model, new, tmp_path):
    report = json.loads(succeed("predict", text_model, new, "-o", tmp_path / "a.npz", "--json"))
    assert report["n_documents"] == 60
    matrix = sp.load_npz(tmp_path / "a.npz")
    assert np.load(tmp_path / "a.npz")["ids"].tolist() == [str(i) for i in range(60)]
    assert report["n_without_label"] == int((np.diff(matrix.indptr) == 0).sum())
    for ending in ("tsv", "csv", "parquet"):
        assert succeed("predict", text_model, new, "-o", tmp_path / f"a.{ending}") == ""
    assert (tmp_path / "a.tsv").read_text() == succeed("predict", text_model, new)
    as_tsv, as_csv = (
        list(csv.reader((tmp_path / f"a.{ending}").read_text().splitlines(), delimiter=sign))
        for ending, sign in (("tsv", "\t"), ("csv", ","))
    )
    assert as_tsv == as_csv
    assert len(as_csv) == 1 + matrix.nnz + report["n_without_label"]
    table = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "a.parquet").to_pylist()
    as_texts = [["" if cell is None else str(cell) for cell in row.values()] for row in table]
    assert as_texts == as_csv[1:]
    book = pytest.importorskip("openpyxl")
    succeed("predict", text_model, new, "-o", tmp_path / "a.xlsx")
    sheet = book.load_workbook(tmp_path / "a.xlsx").worksheets[0]
    rows = sheet.iter_rows(values_only=True)
    assert [["" if cell is None else str(cell) for cell in row] for row in rows] == as_csv
    succeed("predict", text_model, new, "-o", tmp_path / "a.jsonl")
    as_lines = succeed("predict", text_model, new, "--json")
    assert (tmp_path / "a.jsonl").read_text() == as_lines
    succeed("predict", text_model, new, "-o", tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text()) == [
        json.loads(line) for line in as_lines.splitlines()
    ]
    nameless = run("predict", text_model, new, "-o", tmp_path / "a")
    assert "a has no ending, so it gets JSON lines." in nameless.stderr
    assert (tmp_path / "a").read_text() == as_lines


def test_a_json_list_of_no_documents_is_a_list_too(tmp_path):
    assert write_predictions(tmp_path / "a.json", []) == 0
    assert json.loads((tmp_path / "a.json").read_text()) == []


@pytest.mark.parametrize(("ending", "sign"), [("csv", ","), ("tsv", "\t")])
def test_a_carriage_return_in_an_id_or_a_name_breaks_no_row(tmp_path, ending, sign):
    path = tmp_path / f"a.{ending}"
    write_predictions(path, [Predicted(0, [Suggestion(0, "b\rc", 0.5)], "a\rb")])
    with open(path, newline="") as file:
        assert "\r\n" not in file.read()
        file.seek(0)
        rows = list(csv.reader(file, delimiter=sign))
    assert rows[1][:3] == ["0", "a\rb", "b\rc"]
    assert len(rows) == 2


def test_a_full_disk_is_all_that_is_said_of_an_excel_file(text_model, new, tmp_path):
    (tmp_path / "a.xlsx").symlink_to("/dev/full")
    program = [sys.executable, "-m", "polyseme", "predict", text_model, new]
    done = subprocess.run([*program, "-o", tmp_path / "a.xlsx"], capture_output=True, text=True)
    assert done.returncode == 2
    _, said = done.stderr.split("\n", 1)  # behind what was read
    assert re.fullmatch("polyseme: .*a.xlsx: No space left on device.\n", said)


def test_an_output_of_another_format_than_its_ending_is_refused(text_model, articles, tmp_path):
    said = refuse("predict", text_model, articles, "-o", tmp_path / "out.ods")
    assert "the ending .ods is not known; use .csv" in said
    (tmp_path / "folder.csv").mkdir()
    said = refuse("predict", text_model, articles, "-o", tmp_path / "folder.csv")
    assert "folder.csv is a folder; give a file to write" in said


def test_rows_are_counted_through_all_batches_and_scores_are_not_rounded_away(
    text_model, new, tmp_path, monkeypatch
):
    monkeypatch.setattr("polyseme.text.predictions.TEXTS_AT_ONCE", 7)
    lines = succeed("predict", text_model, new, "--threshold=0", "-k", 2).splitlines()[1:]
    as_json = succeed("predict", text_model, new, "--threshold=0", "-k", 2, "--json").splitlines()
    expected = [
        (str(one["row"]), label["name"], label["score"])
        for one in map(json.loads, as_json)
        for label in one["labels"]
    ]
    assert [row for row, _, _ in expected] == [str(i) for i in range(60) for _ in range(2)]
    found = [[row, name, score] for row, _, name, score, *_ in (s.split("\t") for s in lines)]
    assert [(row, name) for row, name, _ in found] == [(row, name) for row, name, _ in expected]
    assert [float(score) for *_, score in found] == pytest.approx(
        [score for *_, score in expected], abs=6e-5
    )


def test_predictions_of_matrices_are_written_as_tsv_too(model, data, tmp_path):
    succeed("predict", model, data, "-k", 2, "-o", tmp_path / "a.tsv")
    rows = [line.split("\t") for line in (tmp_path / "a.tsv").read_text().splitlines()[1:]]
    first = json.loads(succeed("predict", model, data, "-k", 2).splitlines()[0])["labels"]
    assert [(row, name) for row, _, name, *_ in rows[:2]] == [("0", one["name"]) for one in first]


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


def test_a_terminal_shows_the_sense_of_a_label_behind_its_name():
    sense = SuggestedSense(1, "comet, planet")
    labels = [
        Suggestion(7, "mercury", 0.91, "http://x/7", sense),
        Suggestion(8, "moon", 0.5, "http://x/8"),
    ]
    predicted = Predicted(0, labels, "no. 7", "A transit.")
    name, first, second = map(unstyle, for_people(predicted))
    assert name == "no. 7  A transit.\n"
    assert first == "   0.91  mercury (comet, planet)  http://x/7\n"
    assert second == "   0.50  moon  http://x/8\n"
    lines = "".join(as_tsv([predicted])).splitlines()[1:]
    assert [line.split("\t")[1:] for line in lines] == [
        ["no. 7", "mercury", "0.91", "http://x/7", "comet, planet"],
        ["no. 7", "moon", "0.5", "http://x/8", ""],
    ]
    assert json.loads(predicted.as_json())["labels"][0]["sense"] == {
        "place": 1,
        "name": "comet, planet",
    }


# What would be lost or misread


def test_the_file_that_is_read_is_not_written_over(text_model, new, tmp_path):
    own = tmp_path / "own.csv"
    before = new.read_bytes()
    own.write_bytes(before)
    (tmp_path / "linked.csv").symlink_to(own)
    for output in (own, tmp_path / "linked.csv", tmp_path / "." / "own.csv"):
        assert "is the file that is read" in refuse("predict", text_model, own, "-o", output)
    assert own.read_bytes() == before


@pytest.mark.slow
def test_a_file_that_is_read_through_stdin_is_not_written_over_either(text_model, new, tmp_path):
    own = tmp_path / "own.csv"
    before = new.read_bytes()
    own.write_bytes(before)
    command = [sys.executable, "-m", "polyseme", "predict", text_model, "-", "-o", own]
    with open(own, "rb") as stdin:
        done = subprocess.run(command, stdin=stdin, capture_output=True, text=True)
    assert (done.returncode, "own.csv is the file that is read" in done.stderr) == (2, True)
    assert own.read_bytes() == before


def test_an_excel_file_comes_through_stdin_too(text_model, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (("id", "text"), ("a", "a tank"), ("b", "a bat")):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    arguments = ["predict", str(text_model), "-", "--top=1"]
    result = CliRunner().invoke(main, arguments, input=(tmp_path / "a.xlsx").read_bytes())
    assert [line.split("\t")[1] for line in result.stdout.splitlines()] == ["id", "a", "b"]


def test_thresholds_of_labels_are_not_called_one(tmp_path):
    corpus = make_corpus(300, seed=0)
    classifier = XRLinear(max_leaf_size=16, verbose=0, senses="none")
    model = TextModel(classifier=classifier, precision=0.9, per_label=True, verbose=0)
    model.fit(corpus.texts, corpus.labels).save(tmp_path / "m")
    result = run("predict", tmp_path / "m", "--text", "nothing that is known", "--text", "")
    assert "2 of 2 documents (100.0%) have no label that reaches its threshold" in result.stderr


def test_a_dash_as_the_output_is_stdout(text_model, new, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert succeed("predict", text_model, new, "-o", "-") == succeed("predict", text_model, new)
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize(
    "options", [["--lines"], ["--format", "csv"], ["--text-column", "a"], ["--encoding", "cp1252"]]
)
def test_options_of_files_are_refused_beside_a_text(text_model, options):
    result = run("predict", text_model, "--text", "a tank", *options)
    assert result.exit_code == 2
    assert f"{options[0]} is for files, not for --text" in result.stderr


def test_documents_without_a_text_are_counted(text_model, tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_text('{"text": "a tank"}\n{"text": NaN}\n{"text": null}\n{"text": " "}\n')
    result = run("predict", text_model, path)
    assert result.exit_code == 0
    assert "3 documents had no text to judge by" in result.stderr


def test_lines_of_fasttext_are_announced_whatever_their_file_is_called(text_model, tmp_path):
    path = tmp_path / "some.ft"
    path.write_text("__label__tank A tank with fish\n__label__tank A tank of the army\n")
    result = run("predict", text_model, path)
    assert result.exit_code == 0
    assert "some.ft looks like " in result.stderr
    assert len(result.stdout.splitlines()) >= 3


def test_structure_that_is_taken_as_text_is_doubted_aloud(text_model, tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_text('{"text": "a tank", "labels": ["tank"]}\n')
    result = run("predict", text_model, path, "--format", "lines")
    assert result.exit_code == 0
    assert "looks like JSON lines; as you say --format lines, all of it is text" in result.stderr
