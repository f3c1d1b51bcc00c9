"""Examples of pages and docstrings run; those that other tests run are not repeated here."""

from __future__ import annotations

import csv
import doctest
import importlib
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click
import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import MultiLabelBinarizer

import polyseme
from polyseme.cli import main
from polyseme.demo import make_corpus
from polyseme.text import open_corpus
from tests import tiny_encoders
from tests.hub_server import serving_hub
from tests.small_text_models import usual_model

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CORPUS = make_corpus(240, seed=0)
SKOS = """@prefix s: <http://www.w3.org/2004/02/skos/core#> .
@prefix e: <http://example.org/> .
e:cat a s:Concept ; s:prefLabel "Cats"@en, "Katzen"@de ; s:altLabel "kitty"@en ; s:broader e:pet .
e:dog a s:Concept ; s:prefLabel "Dogs"@en, "Hunde"@de ; s:broader e:pet .
e:pet a s:Concept ; s:prefLabel "Pets"@en, "Haustiere"@de .
"""


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.S | re.M)


def lines_of_shell(page: Path) -> list[str]:
    """Calls of polyseme, each in one line, without what pipes and files are for."""
    joined = "\n".join(blocks(str(page.relative_to(ROOT)), "sh")).replace("\\\n", " ")
    parts = [part.strip() for line in joined.splitlines() for part in re.split(r"[|<]", line)]
    return [part for part in parts if part.startswith("polyseme ") and "..." not in part]


ALL_LINES = sorted({(page.stem, line) for page in PAGES for line in lines_of_shell(page)})


@pytest.mark.parametrize(("page", "line"), ALL_LINES)
def test_a_line_of_shell_on_any_page_parses(page, line):
    _, verb, *arguments = shlex.split(line, comments=True)
    command = main.get_command(click.Context(main), verb)
    assert command is not None
    if page != "write-a-backbone":  # its method is that of a package that is not installed
        command.make_context(verb, arguments)


# Files that examples speak of


def write_table(name: str, first: int, last: int, *, has_labels: bool = True) -> None:
    with open(name, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "labels"][: 1 + has_labels])
        for text, labels in zip(CORPUS.texts[first:last], CORPUS.labels[first:last], strict=True):
            rows.writerow([text, ";".join(labels)][: 1 + has_labels])


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the files that the examples speak of, in which they run."""
    monkeypatch.chdir(tmp_path)
    write_table("articles.csv", 0, 200)
    write_table("test.csv", 200, 220)
    write_table("more.csv", 220, 240)
    write_table("new.csv", 200, 220, has_labels=False)
    Path("stw.ttl").write_text(SKOS, encoding="utf-8")
    usual_model().save("models/articles")
    return tmp_path


def matrices() -> dict[str, object]:
    X = TfidfVectorizer(dtype=np.float32).fit_transform(CORPUS.texts)
    Y = sp.csr_matrix(MultiLabelBinarizer().fit_transform(CORPUS.labels))
    return {
        **{"X": X[:200], "Y": Y[:200], "X_test": X[200:], "Y_test": Y[200:]},
        **{"n_labels": Y.shape[1], "embeddings": X[:200].toarray()[:, :32], "np": np, "sp": sp},
        "polyseme": polyseme,
    }


def texts_and_labels() -> dict[str, object]:
    return {"texts": CORPUS.texts[:200], "labels": CORPUS.labels[:200]}


def run(page: str, names: dict[str, object], **replaced: str) -> dict[str, object]:
    """Run all Python of a page, with some words of it replaced."""
    for block in blocks(page, "python"):
        for old, new in replaced.items():
            assert old in block or len(blocks(page, "python")) > 1
            block = block.replace(old, new)
        exec(compile(block, page, "exec"), names)
    return names


@contextmanager
def a_hub(monkeypatch) -> Iterator[dict[str, dict[str, bytes]]]:
    """Have models pushed to a hub on this machine; yields what it has."""
    monkeypatch.setenv("HF_TOKEN", "hf_none")
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    with serving_hub() as (address, repositories):
        for name in ("push", "pull"):
            there = partial(getattr(polyseme.hub, name), endpoint=address)
            monkeypatch.setattr(polyseme.hub, name, there)
        yield repositories


# Python


@pytest.mark.slow
def test_the_python_of_the_page_on_texts_runs(here, capsys):
    found = run("docs/text.md", texts_and_labels())
    assert "in the sense of" not in capsys.readouterr().err
    with open("labels.csv", encoding="utf-8", newline="") as file:
        assert len({row["row"] for row in csv.DictReader(file)}) == 20
    assert found["model"].report_["n_documents"] == 20


@pytest.mark.slow
def test_the_python_of_the_page_on_vocabularies_runs(here, capsys):
    pytest.importorskip("pyoxigraph", reason="the extra 'skos' is not installed")
    labels = [[f"http://example.org/{one}"] for one in ("cat", "dog")] * 15
    found = run("docs/vocabularies.md", {"texts": ["it purrs", "it barks"] * 15, "labels": labels})
    assert "3 concepts" in capsys.readouterr().out
    assert found["model"].name_of(found["number"]) == "Cats"


@pytest.mark.slow
def test_the_python_of_the_page_on_one_vs_rest_runs(here):
    found = run("docs/one-vs-rest.md", matrices(), **{"300": "30"})
    assert found["top"].shape[1] == 5


def test_the_python_of_the_page_on_near_labels_runs(here):
    pytest.importorskip("faiss", reason="the extra 'neighbours' is not installed")
    found = run("docs/nearest.md", matrices())
    assert found["model"].n_documents_ == 200


@pytest.mark.slow
def test_the_python_of_the_page_on_tuning_runs(here, capsys):
    run("docs/tuning.md", matrices(), **{'"10m"': '"5s"'})
    assert "PSP@5" in capsys.readouterr().out
    assert "copies" in Path("best.toml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_python_of_the_page_on_sharing_runs(here, monkeypatch):
    pytest.importorskip("huggingface_hub", reason="the extra 'hub' is not installed")
    with a_hub(monkeypatch) as repositories:
        run("docs/sharing.md", {"model": usual_model()})
    assert "somebody/articles" in repositories
    assert polyseme.load("models/fetched").classes_.tolist() == usual_model().classes_.tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:only the first 8 words")
def test_the_python_of_the_page_on_networks_that_read_words_runs(here):
    pytest.importorskip("torch", reason="the extra 'transformer' is not installed")
    small = {"texts": CORPUS.texts[:24], "labels": CORPUS.labels[:24]}
    smaller = {
        "AttentionXML(": "AttentionXML(n_epochs=1, n_hidden=4, n_words=8, ",
        "XMLCNN(": "XMLCNN(n_epochs=1, n_words=8",
    }
    found = run("docs/attention.md", small, **smaller)
    assert type(found["model"].classifier_).__name__ == "XMLCNN"


@pytest.mark.slow
def test_the_python_of_the_page_on_encoders_runs(here):
    tiny_encoders.need_libraries()
    tiny_encoders.transformer_folder(here / "encoders/minilm", CORPUS.texts)
    tiny_encoders.table_folder(here / "encoders/wordllama", CORPUS.texts)
    folder = 'work_folder="build/articles"'
    small = {folder: f'{folder}, finetuning="none"'}
    found = run("docs/neural.md", texts_and_labels(), **small)
    assert len(found["model"].report_["members"]) == 3


@pytest.mark.slow
def test_the_other_commands_can_be_given_in_python_as_the_page_says(here, monkeypatch, capsys):
    pytest.importorskip("huggingface_hub", reason="the extra 'hub' is not installed")
    Path("matrices").mkdir()
    found = matrices()
    for part, X, Y in (("trn", "X", "Y"), ("tst", "X_test", "Y_test")):
        sp.save_npz(f"matrices/X.{part}.npz", found[X])
        sp.save_npz(f"matrices/Y.{part}.npz", found[Y])
    (example,) = (one for one in blocks("docs/python.md", "python") if "# init" in one)
    names = {**found, "open_corpus": open_corpus}
    with a_hub(monkeypatch) as repositories:
        exec(compile(example.replace('"10m"', '"5s"'), "docs/python.md", "exec"), names)
    assert "somebody/articles" in repositories
    assert capsys.readouterr().out.count("<TrainingEstimate: about ") == 2
    assert "copies" in Path("settings.toml").read_text(encoding="utf-8")
    assert Path("results/merge.md").exists()
    assert names["data"].X_train.shape == found["X"].shape
    assert repr(polyseme.load("models/ours")).endswith(f" with {found['n_labels']} labels")


@pytest.mark.slow
def test_models_are_made_small_and_served_in_python_as_the_page_says(here, monkeypatch):
    tiny_encoders.need_libraries()
    tiny_encoders.need_onnx()
    pytest.importorskip("uvicorn", reason="the extra 'server' is not installed")
    tiny_encoders.transformer_folder(here / "encoder", CORPUS.texts)
    classifier = polyseme.XTransformer("encoder", finetuning="none", verbose=0, senses="none")
    model = polyseme.TextModel(classifier=classifier, held_out=0, verbose=0)
    model.fit(CORPUS.texts[:60], CORPUS.labels[:60]).save("models/with-encoder")
    served: list[object] = []
    monkeypatch.setattr("polyseme.server.running.serve", lambda *of, **how: served.extend(of))
    (example,) = (one for one in blocks("docs/python.md", "python") if "quantize" in one)
    exec(compile(example, "docs/python.md", "exec"), {"polyseme": polyseme})
    assert polyseme.load("models/int8").classifier_.n_documents_ == 60
    assert served[0] == {"articles": Path("models/articles")}


# Shell


@pytest.mark.slow
def test_the_lines_of_shell_on_the_page_on_texts_run_in_order(here):
    Path("letter.txt").write_text("A tank needs gravel.", encoding="utf-8")
    records = [{"text": text} for text in CORPUS.texts[:5]]
    Path("new.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    for line in lines_of_shell(ROOT / "docs/text.md"):
        _, *arguments = shlex.split(line.replace(" bat ", " tank "), comments=True)
        given = Path("letter.txt").read_bytes() if arguments[0] == "predict" else None
        result = CliRunner().invoke(main, arguments, input=given)
        assert result.exit_code == 0, (line, result.output, result.exception)
        if "-o" in arguments and not Path("models/other").exists():
            shutil.copytree("models/articles", "models/other")


# Docstrings

WITH_EXAMPLES = sorted(
    path.relative_to(ROOT / "src").with_suffix("").as_posix().replace("/", ".")
    for path in (ROOT / "src/polyseme").rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
ELSEWHERE = {"polyseme.hub", "polyseme.estimators.quantizing"}  # they want a hub, an encoder


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WITH_EXAMPLES if name not in ELSEWHERE])
def test_examples_of_a_docstring_run_and_show_what_they_say(name, here):
    needed = {"nearest": "faiss", "transformer": "torch", "attention": "torch", "cnn": "torch"}
    for part, library in needed.items():
        if part in name:
            pytest.importorskip(library)
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0
    assert found.failed == 0


def test_there_are_examples_to_run():
    assert len(WITH_EXAMPLES) > 10
    assert len(ALL_LINES) > 50
