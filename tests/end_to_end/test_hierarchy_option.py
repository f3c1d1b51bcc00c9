"""``polyseme train --tree`` and ``--hierarchy``: other trees from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import polyseme
from tests.end_to_end.command_line import (
    N_LABELS,
    SMALL,
    documents,
    refuse,
    succeed,
    write_csv,
    write_data,
)

QUICK = (*SMALL, "--rounds=0", "--senses=none", "--ordering=product")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data", documents(96, seed=1))


@pytest.mark.parametrize("tree", ["k-means", "bonsai", "huffman", "random"])
def test_train_takes_a_tree_by_name(data, tmp_path, tree):
    succeed("train", data, "-o", tmp_path / "model", "--tree", tree, *QUICK)
    assert polyseme.load(tmp_path / "model").tree == tree


def test_an_unknown_tree_is_refused_with_those_that_are_known(data, tmp_path):
    said = refuse("train", data, "-o", tmp_path / "model", "--tree", "oak")
    known = "'balanced', 'parabel', 'k-means', 'bonsai', 'huffman', 'random'"
    assert f"tree must be one of {known}, not 'oak'" in said


def test_train_takes_a_hierarchy_of_columns_from_json(data, tmp_path):
    file = tmp_path / "tree.json"
    file.write_text(json.dumps([[0, 1, 2, 3, 4], {"rest": list(range(5, N_LABELS))}]))
    given = (data, "--hierarchy", file, *QUICK)
    assert "Total" in succeed("train", *given, "--estimate")
    succeed("train", *given, "-o", tmp_path / "model")
    model = polyseme.load(tmp_path / "model")
    expected = [[0, 1, 2, 3, 4], list(range(5, N_LABELS))]
    assert model.tree_.to_nested(model.clusters_) == expected


def test_train_takes_a_thesaurus_of_names_for_texts(tmp_path):
    texts = write_csv(tmp_path / "texts.csv", 120, seed=0)
    file = tmp_path / "broader.tsv"
    file.write_text("mercury\tscience\njava\tscience\n")
    given = ("train", texts, "--hierarchy", file, *QUICK)
    assert "the hierarchy has no place for" in refuse_after_notes(*given, "-o", tmp_path / "m")
    succeed(*given, "-o", tmp_path / "model", "--hierarchy-others=together")
    model = polyseme.load(tmp_path / "model").classifier_
    assert model.tree_.n_clusters == 2
    assert "Total" in succeed(*given, "--hierarchy-others=together", "--estimate")


def refuse_after_notes(*arguments: object) -> str:
    """Return the last line on stderr of what must be refused."""
    return refuse(*arguments).splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("tree.json", "[[0, 1],\n oops]", "tree.json, line 2: not JSON"),
        ("tree.json", "[[0, 1]]", "the hierarchy has no place for 10 labels, such as 2, 3, 4;"),
        ("tree.tsv", "a\tb\tc\n", "tree.tsv, line 1: a label and a broader label are expected"),
        ("tree.csv", "a,b\nb,a\n", "tree.csv: label 'a' is broader than itself, by way of 'b'"),
        ("tree.pdf", "", "tree.pdf: a hierarchy is a file that ends in .json, .tsv or .csv"),
        ("tree.ttl", "", "tree.ttl has no concepts of SKOS with a name"),
    ],
)
def test_a_hierarchy_that_will_not_do_ends_in_one_sentence(data, tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    said = refuse("train", data, "-o", tmp_path / "model", "--hierarchy", tmp_path / name)
    assert words in said
    assert len(said.strip().splitlines()) == 1
    assert not (tmp_path / "model").exists()


def test_a_hierarchy_that_is_not_there_is_named(data, tmp_path):
    said = refuse("train", data, "-o", tmp_path / "m", "--hierarchy", tmp_path / "none.tsv")
    assert "none.tsv: No such file or directory." in said


def test_others_need_a_hierarchy(data, tmp_path):
    said = refuse("train", data, "-o", tmp_path / "m", "--hierarchy-others", "together")
    assert "--hierarchy-others needs --hierarchy with a file" in said
