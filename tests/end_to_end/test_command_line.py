"""The command line from files to predictions."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest
import scipy.sparse as sp

import polyseme
from tests.end_to_end.command_line import (
    N_FEATURES,
    N_LABELS,
    SMALL,
    documents,
    refuse,
    run,
    succeed,
    write_data,
)

VERBS = ("demo", "init", "train", "predict", "evaluate", "senses", "info", "push", "pull")


# Help


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example_and_common_options_that_do_something(verb):
    text = succeed(verb, "--help")
    assert f"Example: polyseme {verb}" in text
    assert "--json" in text
    assert ("--seed" in text) == (verb in ("demo", "train"))


def test_help_fits_into_80_columns():
    for verb in VERBS:
        assert max(map(len, succeed(verb, "--help").splitlines())) <= 80


def test_the_version_is_that_of_the_package():
    assert polyseme.__version__ in succeed("--version")


# Train


def test_train_saves_a_model_and_tells_what_each_phase_took(data, tmp_path):
    text = succeed("train", data, "-o", tmp_path / "model", *SMALL)
    for phase in ("Reading the data", "Training the matcher", "Saving the model", "Total"):
        assert phase in text
    loaded = polyseme.load(tmp_path / "model")
    assert loaded.n_labels_ == N_LABELS
    assert loaded.label_names_[3] == "label 3"


def test_train_as_json_reports_sizes_parameters_and_seconds(data, tmp_path):
    report = json.loads(succeed("train", data, "-o", tmp_path / "model", "--json", *SMALL))
    assert report["n_labels"] == N_LABELS
    assert report["n_slots"] >= N_LABELS
    assert report["parameters"]["branching"] == 3
    assert next(iter(report["seconds"])) == "Reading the data"


def test_train_names_the_most_ambiguous_labels(ambiguous, data, tmp_path, monkeypatch):
    layer = polyseme.load(ambiguous).senses_
    monkeypatch.setattr("polyseme.estimators.learning.induce_senses", lambda *_, **__: layer)
    shown = succeed("train", data, "-o", tmp_path / "model", *SMALL)
    assert "Most ambiguous labels" in shown
    assert "label 0, word6" in shown
    assert "1 of 2 labels that were judged is likely ambiguous." in shown
    assert "of 40 test labels judged ambiguous, 88% really were two labels fused" in shown
    report = json.loads(succeed("train", data, "-o", tmp_path / "model", *SMALL, "--json"))
    (one,) = report["most_ambiguous"]
    assert (one["name"], one["senses"]) == ("label 3", ["label 0, word6", "label 1, word7"])
    assert report["senses"]["calibration"] == layer.calibration


def test_train_says_nothing_of_ambiguous_labels_where_there_are_none(data, tmp_path):
    shown = succeed("train", data, "-o", tmp_path / "model", *SMALL, "--senses=none")
    assert "mbiguous" not in shown


def test_options_win_over_the_file_of_parameters(data, tmp_path):
    config = tmp_path / "small.toml"
    config.write_text(
        "branching = 3\nmax_leaf_size = 3\nbeam_size = 3\nfinetune_matcher = false\n"
    )
    out = succeed(
        "train", data, "-o", tmp_path / "m", "--config", config, "--beam-size=2", "--json"
    )
    parameters = json.loads(out)["parameters"]
    assert parameters["beam_size"] == 2
    assert parameters["branching"] == 3
    assert parameters["finetune_matcher"] is False


def test_an_unknown_parameter_in_the_file_is_refused_with_a_suggestion(data, tmp_path):
    config = tmp_path / "small.toml"
    config.write_text("beam = 3\nbeam_sise = 3\n")
    sentence = refuse("train", data, "-o", tmp_path / "m", "--config", config)
    assert "small.toml: unknown parameter 'beam'" in sentence


def test_the_same_seed_gives_the_same_predictions_for_any_number_of_threads(data, tmp_path):
    answers = set()
    for threads in (1, 2):
        path = tmp_path / f"model{threads}"
        succeed("train", data, "-o", path, *SMALL[:3], f"--threads={threads}", "--seed=5")
        answers.add(succeed("predict", path, data))
    assert len(answers) == 1


# Predict


def test_predict_prints_a_line_of_json_a_document(model, data):
    lines = succeed("predict", model, data, "-k", 3).splitlines()
    assert len(lines) == 30
    first = json.loads(lines[0])
    assert first["row"] == 0
    assert len(first["labels"]) == 3
    best = first["labels"][0]
    assert best["name"] == f"label {best['label']}"
    assert best["score"] == max(one["score"] for one in first["labels"])


def test_predict_names_the_sense_of_a_label_that_has_several(ambiguous, data, tmp_path):
    found = [json.loads(line) for line in succeed("predict", ambiguous, data).splitlines()]
    senses = {
        label["label"]: label["sense"]["name"]
        for one in found
        for label in one["labels"]
        if "sense" in label
    }
    assert set(senses) == {3}
    assert senses[3] in ("label 0, word6", "label 1, word7")
    succeed("predict", ambiguous, data, "-o", tmp_path / "a.tsv")
    rows = [line.split("\t") for line in (tmp_path / "a.tsv").read_text().splitlines()[1:]]
    assert {len(row) for row in rows} == {6}  # the same columns in every line
    assert {row[5] for row in rows if row[2] != "label 3"} == {""}
    assert {row[5] for row in rows if row[2] == "label 3"} <= {"label 0, word6", "label 1, word7"}
    succeed("predict", ambiguous, data, "-o", tmp_path / "a.npz")
    assert sp.load_npz(tmp_path / "a.npz").shape == (30, N_LABELS)


def test_predict_takes_a_matrix_file_a_folder_and_a_text_file(model, data, tmp_path):
    X = sp.load_npz(data / "X.tst.npz")
    np.save(tmp_path / "dense.npy", X.toarray())
    text = tmp_path / "test.txt"
    lines = [
        " ".join(["0", *(f"{j}:{float(v)!r}" for j, v in zip(row.indices, row.data, strict=True))])
        for row in (sp.csr_array(X[[i]]) for i in range(X.shape[0]))
    ]
    text.write_text(f"{X.shape[0]} {N_FEATURES} {N_LABELS}\n" + "\n".join(lines) + "\n")
    expected = succeed("predict", model, data / "X.tst.npz")
    assert succeed("predict", model, data) == expected
    assert succeed("predict", model, tmp_path / "dense.npy") == expected
    assert succeed("predict", model, text) == expected


def test_predict_writes_a_sparse_matrix_with_the_same_scores(model, data, tmp_path):
    out = tmp_path / "scores.npz"
    assert succeed("predict", model, data, "-k", 4, "-o", out) == ""
    scores = sp.load_npz(out)
    assert scores.shape == (30, N_LABELS)
    assert (np.diff(scores.indptr) <= 4).all()
    assert all((np.diff(row) > 0).all() for row in np.split(scores.indices, scores.indptr[1:-1]))
    first = json.loads(succeed("predict", model, data, "-k", 4).splitlines()[0])
    for one in first["labels"]:
        assert scores[0, one["label"]] == pytest.approx(one["score"], abs=1e-6)
    assert [file.name for file in tmp_path.iterdir()] == ["scores.npz"]


def test_predict_writes_json_lines_to_a_file(model, data, tmp_path):
    out = tmp_path / "labels.jsonl"
    report = json.loads(succeed("predict", model, data, "-o", out, "--json"))
    assert report == {"output": str(out), "n_documents": 30, "n_without_label": 0, "k": 10}
    assert out.read_text() == succeed("predict", model, data)


def test_asking_for_more_labels_than_there_are_gives_those_there_are(model, data, tmp_path):
    for line in succeed("predict", model, data, "-k", 1000).splitlines():
        assert 1 <= len(json.loads(line)["labels"]) <= N_LABELS
    asked = ("-k", 1000, "-o", tmp_path / "labels.jsonl", "--json")
    assert json.loads(succeed("predict", model, data, *asked))["k"] == N_LABELS


# Evaluate


def test_evaluate_as_json_has_every_figure_and_the_propensity_constants(model, data):
    figures = json.loads(succeed("evaluate", model, data, "--json"))
    for key in ("P@1", "P@3", "P@5", "PSP@5", "nDCG@5", "R@10"):
        assert -1e-9 <= figures[key] <= 100 + 1e-9
    assert figures["P@1"] > 80
    assert (figures["A"], figures["B"]) == (0.55, 1.5)
    assert figures["n_documents"] == 30


def test_evaluate_prints_a_table_with_the_constants(model, data):
    text = succeed("evaluate", model, data, "-a", 0.6, "-b", 2.6)
    assert "nDCG" in text
    assert "Labels by number of training documents" in text
    assert "A = 0.6, B = 2.6" in text
    assert re.search(
        r"\(best F1 on these documents\): precision .*%, recall .*%, F1 .*%\.\n", text
    )
    assert "% of the documents get none" in text


def test_evaluate_writes_its_figures_as_a_page_too(model, data, tmp_path):
    page = tmp_path / "figures.html"
    assert "ends in .html" in refuse("evaluate", model, data, "--report", tmp_path / "f.pdf")
    text = succeed("evaluate", model, data, "--report", page)
    assert "Probabilities above 0.1 are off by" in text
    written = page.read_text(encoding="utf-8")
    assert f"<h1>Evaluation of {model.name} on {data.name}</h1>" in written
    assert "What probabilities are worth" in written


def test_evaluate_weighs_rare_labels_by_the_constants_that_are_given(model, tmp_path):
    X, Y = documents(30, seed=1)
    folder = write_data(tmp_path / "wrong", (X, Y[::-1]))  # so that some labels are missed
    usual, other = (
        json.loads(succeed("evaluate", model, folder, "--json", *constants))
        for constants in ((), ("-a", 0.6, "-b", 2.6))
    )
    assert other["P@3"] == usual["P@3"]
    assert abs(other["PSP@3"] - usual["PSP@3"]) > 1e-3


def test_evaluate_says_when_there_is_no_test_part(model, tmp_path):
    folder = write_data(tmp_path / "only", documents(24, seed=3))
    result = run("evaluate", model, folder, "--json")
    assert "no test part" in result.stderr
    assert json.loads(result.stdout)["n_documents"] == 24


def test_evaluate_refuses_data_with_other_labels(model, tmp_path):
    X, Y = documents(24, seed=3)
    folder = write_data(tmp_path / "other", (X, Y[:, :5]))
    assert "has 5 labels and the model 12" in refuse("evaluate", model, folder)


def test_evaluate_refuses_data_with_labels_of_other_names(model, tmp_path):
    folder = write_data(tmp_path / "other", documents(24, seed=3))
    (folder / "labels.txt").write_text("".join(f"tag {i}\n" for i in range(N_LABELS)))
    assert "other names" in refuse("evaluate", model, folder)


# Senses and info


def test_senses_of_a_label_are_found_by_name_and_by_number(ambiguous):
    by_name = json.loads(succeed("senses", ambiguous, "label 3", "--json"))
    assert by_name == json.loads(succeed("senses", ambiguous, 3, "--json"))
    assert (by_name["label"], by_name["name"], by_name["evidence"]) == (3, "label 3", "labels")
    assert by_name["ambiguity"] == pytest.approx(0.9)
    assert [sense["name"] for sense in by_name["senses"]] == [
        "label 0, word6",
        "label 1, word7",
    ]


def test_senses_are_called_by_what_tells_them_apart(ambiguous):
    shown = succeed("senses", ambiguous, "label 3")
    assert "label 3 has two senses, as far as its " in shown
    assert "the probability that it is ambiguous is 90%." in shown
    assert "label 3: label 0, word6\nshare: 75%, 15 documents\nlabels: label 0\n" in shown
    assert "words: word7\nrows: 7\n" in shown
    assert "sense 1" not in shown
    assert "slot" not in shown


def test_of_a_label_with_one_meaning_that_is_all_that_is_said_of_senses(ambiguous):
    shown = succeed("senses", ambiguous, "label 5")
    first, *others = shown.splitlines()
    assert first.startswith("label 5 has one meaning, as far as its ")
    assert first.endswith("the probability that it is ambiguous is 20%.")
    assert [line.split(":")[0] for line in others] == ["labels", "words"]
    assert "sense" not in shown
    assert len(json.loads(succeed("senses", ambiguous, "label 5", "--json"))["senses"]) == 1


def test_a_label_that_was_not_judged_says_why(ambiguous):
    first, *_ = succeed("senses", ambiguous, "label 4").splitlines()
    assert (
        first == "label 4 has 25 documents, which do not divide; it is taken to have one meaning."
    )
    assert json.loads(succeed("senses", ambiguous, 4, "--json"))["ambiguity"] is None


def test_the_split_of_a_label_with_one_meaning_is_shown_to_who_asks(ambiguous):
    shown = succeed("senses", ambiguous, "label 5", "--at-least", 0.1)
    assert shown.startswith("label 5 rather has one meaning: the probability that it is ")
    assert "split in three:" in shown
    assert shown.count("label 5: ") == 3
    assert "not in the range 0<=x<=1" in refuse("senses", ambiguous, "--at-least", 2)


def test_senses_without_a_label_list_the_most_ambiguous_ones_with_their_senses(ambiguous):
    lines = [line.split() for line in succeed("senses", ambiguous).splitlines()]
    assert lines == [
        ["Most", "ambiguous", "labels", "Probability", "Senses"],
        ["label", "3", "90%", "label", "0,", "word6"],
        ["label", "1,", "word7"],
    ]
    (listed,) = json.loads(succeed("senses", ambiguous, "--json"))
    assert (listed["label"], listed["name"]) == (3, "label 3")
    assert listed["ambiguity"] == pytest.approx(0.9)
    assert listed["senses"] == ["label 0, word6", "label 1, word7"]
    more = json.loads(succeed("senses", ambiguous, "--json", "--at-least", 0))
    assert [len(one["senses"]) for one in more] == [2, 3]


def test_a_model_without_ambiguous_labels_says_so(ambiguous):
    result = run("senses", ambiguous, "--at-least", 0.95)
    assert result.stdout == ""
    assert "none of the 2 labels that were judged is likely ambiguous" in result.stderr
    assert json.loads(succeed("senses", ambiguous, "--at-least", 0.95, "--json")) == []


def test_senses_that_texts_alone_tell_apart_come_with_a_warning(ambiguous, tmp_path):
    loaded = polyseme.load(ambiguous)
    loaded.senses_ = dataclasses.replace(loaded.senses_, evidence="text")
    loaded.save(tmp_path / "model")
    warning = "Most documents have one label, so senses were told apart by their text alone"
    for verb in (("senses",), ("senses", "label 3"), ("info",)):
        assert warning in succeed(verb[0], tmp_path / "model", *verb[1:])
    assert warning not in succeed("senses", tmp_path / "model", "label 4")
    assert warning not in succeed("senses", ambiguous, "label 3")


def test_senses_list_no_more_than_was_asked_for(ambiguous, data):
    several = succeed("senses", ambiguous, "-n", 1, "--at-least", 0, "--json")
    assert len(json.loads(several)) == 1
    shown = succeed("senses", ambiguous, "label 3", "--data", data, "-n", 1, "--json")
    for sense in json.loads(shown)["senses"]:
        assert "word" in sense["name"]
        for listed in ("labels", "words", "documents"):
            assert len(sense[listed]) <= 1


def test_senses_show_the_texts_that_lie_beside_the_matrices(ambiguous, tmp_path):
    folder = write_data(tmp_path / "texts", documents(120, seed=0))
    (folder / "X.trn.txt").write_text("".join(f"text {i}\n" for i in range(120)))
    for label in ("label 3", "label 4"):
        shown = json.loads(succeed("senses", ambiguous, label, "--data", folder, "--json"))
        assert any(sense["documents"] for sense in shown["senses"])
        for sense in shown["senses"]:
            assert sense["examples"] == [f"text {i}" for i in sense["documents"]]


def test_senses_of_an_unknown_label_suggests_close_ones(model):
    sentence = refuse("senses", model, "lable 3")
    assert "no label named 'lable 3'; did you mean" in sentence
    assert "no label '99'" in refuse("senses", model, 99)


def test_info_describes_the_model(model):
    about = json.loads(succeed("info", model, "--json"))
    assert about["n_labels"] == N_LABELS
    assert about["n_features"] == N_FEATURES
    assert sum(about["labels_by_copies"].values()) == N_LABELS
    assert about["parameters"]["branching"] == 3
    assert about["n_bytes"] == sum(file.stat().st_size for file in model.iterdir())
    assert "with names" in succeed("info", model)
    assert "no figures by label" in refuse("info", model, "--by-label")


def test_info_tells_slots_and_how_many_labels_are_ambiguous(ambiguous):
    about = json.loads(succeed("info", ambiguous, "--json"))
    assert (about["senses"]["n_judged"], about["senses"]["n_ambiguous"]) == (2, 1)
    shown = succeed("info", ambiguous)
    assert "1 of 2 labels that were judged" in shown
    assert "labels by slots" in shown
    assert "88% really were two labels fused on purpose; 82% was expected." in shown


# Estimate


def test_an_estimate_needs_no_output_and_trains_nothing(data, tmp_path):
    text = succeed("train", data, "--estimate", *SMALL)
    for row in ("Reading the data", "Training the ranker", "Total", "Model on disk"):
        assert row in text
    assert "its" in text.splitlines()[-1]  # "Fits", or "Does NOT fit"
    succeed("train", data, "--estimate", "-o", tmp_path / "model", *SMALL)
    assert not (tmp_path / "model").exists()


def test_an_estimate_as_json_has_ranges_for_everything(data):
    report = json.loads(succeed("train", data, "--estimate", "--json", *SMALL))
    assert report["n_documents"] == 120
    assert report["n_labels"] == N_LABELS
    figures = [report["total_seconds"], report["model_bytes"], *report["seconds"].values()]
    figures += [report["microseconds_per_document"]]
    assert all(0 <= figure["low"] <= figure["about"] <= figure["high"] for figure in figures)
    assert report["fits"] in (True, None)
    assert report["total_seconds"]["about"] == pytest.approx(
        sum(seconds["about"] for seconds in report["seconds"].values())
    )


def test_a_job_that_does_not_fit_is_an_answer_with_advice(data, monkeypatch):
    monkeypatch.setattr("polyseme.cost.estimate.available_memory", lambda: 1_000_000)
    text = succeed("train", data, "--estimate", *SMALL)
    assert "Does NOT fit" in text
    assert "try " in text


def test_data_that_do_not_fit_are_not_even_read(data, monkeypatch):
    monkeypatch.setattr("polyseme.cli.estimate.available_memory", lambda: 1000)
    monkeypatch.setattr("polyseme.datasets.load", pytest.fail)
    assert "the data alone need" in succeed("train", data, "--estimate")
    report = json.loads(succeed("train", data, "--estimate", "--json"))
    assert report["fits"] is False


def test_an_estimate_refuses_what_training_refuses(data, tmp_path):
    assert "does not exist" in refuse("train", tmp_path / "nothing", "--estimate")
    assert "copies" in refuse("train", data, "--estimate", "--copies=0")
    assert "Missing option '-o'" in refuse("train", data)


def test_a_model_of_pecos_is_evaluated_without_what_needs_its_training_documents(tmp_path):
    data = write_data(tmp_path / "data", documents(120, seed=0), documents(30, seed=1))
    options = ("--copies=1", "--ordering=product", "--senses=none", *SMALL)
    succeed("train", data, "-o", tmp_path / "ours", *options)
    succeed("export-pecos", tmp_path / "ours", "-o", tmp_path / "theirs")
    succeed("import-pecos", tmp_path / "theirs", "-o", tmp_path / "again")
    assert "imported without its training documents" in refuse("senses", tmp_path / "again")
    page = tmp_path / "page.html"
    shown = succeed("evaluate", tmp_path / "again", data, "--report", page)
    assert "No PSP: the model was imported" in shown
    assert "Labels by number of training documents" not in shown
    assert "Rare and frequent" not in page.read_text()
    ours, theirs = (
        json.loads(succeed("evaluate", tmp_path / name, data, "--json"))["accuracy"]
        for name in ("ours", "again")
    )
    kept = {name: figure for name, figure in ours.items() if not name.startswith("PS")}
    assert theirs == pytest.approx(kept)
