"""The command line learns from texts, and measures and shows what it learned."""

from __future__ import annotations

import json

import pytest

import polyseme
from polyseme.demo import make_corpus
from polyseme.text import open_corpus
from tests.end_to_end.command_line import SMALL_FOR_TEXTS as SMALL
from tests.end_to_end.command_line import refuse, run, succeed


def test_train_on_a_csv_file_just_works_and_reports(articles, tmp_path):
    result = run("train", articles, "-o", tmp_path / "m", *SMALL)
    assert result.exception is None, result.output
    assert "text from 'title', 'body', labels from 'tags', split at ';'" in result.stderr
    for words in ("Computing features", "Total", "Accuracy on 80", "Threshold"):
        assert words in result.stdout
    assert polyseme.load(tmp_path / "m").reading_["text_columns"] == ["title", "body"]


def test_a_model_folder_has_a_card_and_knows_its_data(text_model, articles):
    card = (text_model / "README.md").read_text()
    assert "| data | articles.csv |" in card
    assert "## Limits" in card
    assert polyseme.load(text_model).origin_["data"] == "articles.csv"


def test_train_takes_all_settings_from_a_file(articles, tmp_path):
    config = tmp_path / "all.toml"
    succeed("init", config, "--method", "bonsai")
    assert "is there already" in refuse("init", config)
    text = config.read_text().replace("# max_leaf_size = 100", "max_leaf_size = 16")
    text = text.replace('# ngrams = "1-2"', "ngrams = 1").replace("# no_held", "no_held")
    config.write_text(text.replace("no_held_out = false", "no_held_out = true"))
    succeed("train", articles, "-o", tmp_path / "m", "--config", config, "--threads=2")
    model = polyseme.load(tmp_path / "m")
    assert type(model.classifier_).__name__ == "Bonsai"
    assert model.classifier_.max_leaf_size == 16
    assert (model.features_.ngram_range, model.held_out) == ((1, 1), 0)


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
    assert model.features_.ngram_range == (1, 2)
    assert model.report_["refitted"] is False
    assert model.report_["threshold"]["wanted_precision"] == 0.9
    assert model.examples_ is None


def test_replacing_a_larger_model_is_said(articles, new, tmp_path):
    first = run("train", articles, "-o", tmp_path / "m", "--no-held-out", *SMALL)
    assert "replaced" not in first.stderr
    again = run("train", new, "-o", tmp_path / "m", "--no-held-out", *SMALL)
    assert "has a model of 800 documents, which will be replaced." in again.stderr
    assert "the model that was replaced had 800 documents; this has 60." in again.stderr
    (tmp_path / "bad.csv").write_text("text,labels\na,b\na\n")
    assert "replaced" not in refuse("train", tmp_path / "bad.csv", "-o", tmp_path / "m", *SMALL)


def test_a_report_that_cannot_be_written_hides_neither_figures_nor_the_model(new, tmp_path):
    (tmp_path / "page.html").symlink_to("/dev/full")
    options = ("--report", tmp_path / "page.html", *SMALL)
    result = run("train", new, "-o", tmp_path / "m", *options)
    assert result.exit_code == 2
    assert "Accuracy on 6 documents" in result.stdout
    assert f"(No space left on device); the model is saved in {tmp_path / 'm'}." in result.stderr
    assert polyseme.load(tmp_path / "m")
    measured = run("evaluate", tmp_path / "m", new, "--report", tmp_path / "page.html")
    assert (measured.exit_code, "Accuracy on 60 documents" in measured.stdout) == (2, True)


def test_a_model_without_probabilities_is_evaluated_without_a_word_of_them(new, tmp_path):
    options = ("--no-held-out", "--ordering=product", *SMALL)
    succeed("train", new, "-o", tmp_path / "m", *options)
    shown = succeed("evaluate", tmp_path / "m", new)
    assert "robabilit" not in shown
    assert "Threshold" not in shown
    with_threshold = succeed("evaluate", tmp_path / "m", new, "--threshold=0.1")
    assert "Threshold 0.100: precision" in with_threshold


def test_no_threshold_is_spoken_of_that_nobody_chose(articles, new, tmp_path):
    succeed("train", articles, "-o", tmp_path / "m", "--no-held-out", *SMALL)
    shown = succeed("evaluate", tmp_path / "m", new)
    assert "Threshold 0.000" not in shown
    assert "(best F1 on these documents)" in shown


def test_names_with_a_comma_are_doubted_aloud(tmp_path):
    path = tmp_path / "works.csv"
    rows = "".join(f'a fugue {i},"Bach, Johann"\n' for i in range(12))
    path.write_text(f"text,labels\n{rows}")
    with pytest.warns(UserWarning, match="look like names that have one, such as 'Bach, Johann'"):
        open_corpus(path)
    options = ("--label-separator=", "--no-held-out", *SMALL)
    whole = run("train", path, "-o", tmp_path / "m", *options)
    assert "look like" not in whole.stderr
    assert polyseme.load(tmp_path / "m").classes_.tolist() == ["Bach, Johann"]


def test_nothing_held_out_is_said_and_works(articles, tmp_path):
    bare = run(
        "train", articles, "-o", tmp_path / "m", *SMALL, "--no-held-out", "--ordering=product"
    )
    assert "scores are not probabilities" in bare.stderr
    result = run("train", articles, "-o", tmp_path / "m", *SMALL, "--no-held-out")
    assert "the probabilities are unchecked" in result.stderr
    assert "Accuracy" not in result.stdout
    assert succeed("info", tmp_path / "m")


def test_a_file_of_another_encoding_and_format_is_trained_on(articles, tmp_path):
    other = tmp_path / "articles.data"
    other.write_bytes(articles.read_text().encode("utf-16"))
    options = ("--format=csv", "--encoding=utf-16", "--no-held-out", *SMALL)
    said = run("train", other, "-o", tmp_path / "m", *options)
    assert said.exit_code == 0, said.stderr
    assert polyseme.load(tmp_path / "m").classifier_.n_documents_ == 800
    assert "the format 'lines' is not one of texts with labels" in refuse(
        "train", articles, "-o", tmp_path / "m", "--format=lines"
    )


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


def test_info_has_a_row_for_each_label_only_if_asked(text_model):
    assert "by_label" not in json.loads(succeed("info", text_model, "--json"))["text"]["report"]
    about = json.loads(succeed("info", text_model, "--json", "--by-label"))
    assert set(about["text"]["report"]["by_label"]) == {
        *("label", "n_true", "n_suggested", "n_right")
    }
    assert "Of these right" not in succeed("info", text_model)
    shown = succeed("info", text_model, "--by-label")
    assert "Of these right" in shown
    assert "bat" in shown.partition("Of these right")[2]


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
    assert "Training report: m" in page.read_text(encoding="utf-8")
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
    row, own, name, _, uri, _ = (
        succeed("predict", model, tmp_path / "a.tsv", "--threshold=0").split("\n")[1].split("\t")
    )
    assert (row, own, uri) == ("0", "", uris[name])
    assert json.loads(succeed("senses", model, name, "--json"))["name"] == name
    assert (
        json.loads(succeed("evaluate", model, tmp_path / "a.tsv", "--json"))["n_documents"] == 60
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--text-column", "nothing"), "has no column 'nothing'"),
        (("--held-out", "2"), "--held-out must be a share"),
        (("--held-out", "0.99999"), "--held-out must be smaller"),
        (("--held-out", "0.2", "--no-held-out"), "exclude each other"),
        (("--precision", "0.8", "--no-held-out"), "--precision and --no-held-out exclude"),
        (("--no-refit", "--no-held-out"), "--no-refit and --no-held-out exclude each other"),
        (("--hashing", "--max-features", "5"), "--max-features and --hashing exclude each other"),
        (("--precision", "7"), "--precision must be a share"),
        (("--per-label",), "--per-label needs --precision"),
        (("--ngrams", "two"), "--ngrams must be a number from 1 on, or a range"),
        (("--ngrams", "3-2"), "--ngrams must be"),
        (("--ngrams", "0"), "--ngrams must be"),
        (("--max-features", "0"), "--max-features must be"),
        (("--threads", "0"), "--threads must be -1 for all cores"),
        (("--seed", "-1"), "--seed must be a whole number"),
        (("--vocabulary", "missing.tsv"), "missing.tsv"),
        (("--vocabulary=a.tsv", "--vocabulary", "b.tsv"), "--vocabulary is given 2 times"),
        (("--labels-file", "missing.txt"), "is a table by its ending"),
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
