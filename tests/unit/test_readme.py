"""The documents say what is so: their examples run, their commands parse, their paths exist."""

from __future__ import annotations

import csv
import fnmatch
import importlib.util
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

from polyseme import TextModel, XRLinear, load
from polyseme.cli import VERBS
from polyseme.demo import make_corpus
from polyseme.text import TextFeatures
from tests.shown import assert_alike

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"),
    *sorted(file.relative_to(ROOT).as_posix() for file in (ROOT / "docs").rglob("*.md")),
]
OURS = (".ci", "benchmarks", "docs", "experiments", "native", "src", "tests", "tools")
SOURCES = ("py", "pyi", "hpp", "cpp", "js", "css", "html", "md")


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text_of(name), re.S | re.M)


def commands() -> list[str]:
    pages = ("README.md", "docs/command-line.md", "docs/accuracy.md", "docs/datasets.md")
    lines = "\n".join(block for page in pages for block in blocks(page, "sh")).splitlines()
    return [line for line in lines if line.startswith("polyseme ")]


@cache
def everything_of_ours() -> list[Path]:
    folders = [ROOT / folder for folder in OURS]
    return [*ROOT.iterdir(), *(path for folder in folders for path in folder.rglob("*"))]


def named_paths(name: str) -> set[str]:
    """Paths in backticks: folders with a slash behind, sources, and all that begins with ours."""
    words = re.findall(r"`([\w<>*./-]+)`", text_of(name))
    ours = rf"(?:{'|'.join(map(re.escape, OURS))})/.*|\w.*\.(?:{'|'.join(SOURCES)})|\w.*/"
    return {word for word in words if re.fullmatch(ours, word)}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["README.md", "docs/python.md"])
def test_the_first_python_that_is_seen_prints_what_it_says(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    example, *_ = blocks(name, "python")
    exec(compile(example, name, "exec"), {})
    printed = capsys.readouterr().out
    (shown,) = re.findall(r"^It prints:\n\n```\n(.*?)^```$", text_of(name), re.S | re.M)
    assert_alike(printed, shown)
    if name == "docs/python.md":
        assert float(printed.split()[1]) > 90
    assert (tmp_path / "tagger" / "model.json").exists()


@pytest.mark.slow
def test_what_commands_do_can_be_done_in_python_as_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for i, (name, n_documents) in enumerate({"articles": 900, "test": 90, "more": 30}.items()):
        write_csv(f"{name}.csv", make_corpus(n_documents, seed=i))
    write_csv("new.csv", make_corpus(20, seed=7), with_labels=False)
    _, example, *_ = blocks("docs/python.md", "python")
    found: dict[str, object] = {}
    exec(compile(example, "docs/python.md", "exec"), found)
    assert found["figures"]["accuracy"]["P@1"] > 50
    assert "tank" in found["names"]
    assert len(found["shares"]) > 1
    assert found["sizes"]["n_documents"] == 900
    assert load("models/articles").classifier_.n_documents_ == 930
    assert (tmp_path / "report.html").exists()
    with open("labels.csv", encoding="utf-8", newline="") as file:
        assert {row["row"] for row in csv.DictReader(file)} == {str(row) for row in range(20)}


def write_csv(path, corpus, *, with_labels=True):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "labels"] if with_labels else ["text"])
        for text, labels in zip(corpus.texts, corpus.labels, strict=True):
            writer.writerow([text, ";".join(labels)] if with_labels else [text])


@pytest.mark.slow
def test_the_python_of_the_page_on_senses_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    corpus = make_corpus(1200, seed=0)
    model = TextModel(TextFeatures(ngrams=(1, 1)), held_out=0, verbose=0)
    model.fit(corpus.texts, corpus.labels).save("models/articles")
    for example in blocks("docs/senses.md", "python"):
        exec(compile(example, "docs/senses.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.count(" / ") >= 3  # labels with the names of their senses
    assert "mercury SuggestedSense(" in printed


def test_the_python_of_the_page_on_trees_prints_what_it_says(capsys):
    (example,) = blocks("docs/trees.md", "python")
    exec(compile(example, "docs/trees.md", "exec"), {})
    (shown,) = re.findall(r"^It prints:\n\n```\n(.*?)^```$", text_of("docs/trees.md"), re.S | re.M)
    assert capsys.readouterr().out == shown


@pytest.mark.slow
def test_the_python_of_the_page_on_adapters_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    has_pecos = importlib.util.find_spec("pecos") is not None
    names: dict[str, object] = {}
    for example in blocks("docs/adapters.md", "python"):
        if has_pecos or "PecosXRLinear" not in example:
            exec(compile(example, "docs/adapters.md", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    assert float(printed[0].removeprefix("P@1 ")) > 80
    assert float(printed[-1]) < 1e-5
    assert load(tmp_path / "ours").n_labels_ == load(tmp_path / "ours").clusters_.n_slots


def test_the_python_of_the_page_on_label_trees_runs(capsys):
    (example,) = blocks("docs/plt.md", "python")
    exec(compile(example, "docs/plt.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "(100, 3) (100, 30) True" in printed
    assert "% as with the exact search" in printed


def test_every_verb_has_an_example():
    assert {line.split()[1] for line in commands()} == set(VERBS)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_make_command_is_a_target(name):
    wanted = re.findall(r"^make (\S+)", "".join(blocks(name, "sh")), re.M)
    targets = re.findall(r"^([\w-]+):", text_of("Makefile"), re.M)
    assert wanted
    assert set(wanted) <= set(targets)


@pytest.mark.parametrize("name", [*DOCUMENTS, "benchmarks/README.md"])
def test_links_between_documents_lead_somewhere(name):
    links = re.findall(r"\]\(([^)#]+)\)", text_of(name))
    here = (ROOT / name).parent
    missing = [link for link in links if "://" not in link and not (here / link).exists()]
    assert missing == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_blocks_of_code_fit_eighty_columns(name):
    lines = "".join(re.findall(r"^```\w*\n(.*?)^```$", text_of(name), re.S | re.M)).splitlines()
    assert [line for line in lines if len(line) > 80] == []


def test_settings_list_every_parameter_with_its_default():
    listed = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", text_of("docs/settings.md"), re.M))
    parameters = inspect.signature(XRLinear).parameters.values()
    assert listed == {parameter.name: repr(parameter.default) for parameter in parameters}


@pytest.mark.parametrize("name", [*DOCUMENTS, "benchmarks/README.md"])
def test_paths_that_a_document_names_exist(name):
    known = ["/" + path.relative_to(ROOT).as_posix() for path in everything_of_ours()]
    missing = [
        path
        for path in named_paths(name)
        if not fnmatch.filter(known, "*/" + re.sub(r"<\w+>", "*", path.rstrip("/")))
    ]
    assert missing == []
