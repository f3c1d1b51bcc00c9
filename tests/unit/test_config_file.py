"""Files of all settings: what is written can be read, and nothing in it changes a thing."""

from __future__ import annotations

import re

import pytest

from polyseme import XRLinear
from polyseme.cli.config_file import (
    config_text,
    method_in,
    text_options,
    with_hierarchy_of,
    with_texts_of,
)
from polyseme.cli.estimator_options import parameters_of, read_config, read_toml
from polyseme.files.kinds import METHODS, method_named

NOTHING = {str(option.name): () if option.multiple else None for option in text_options()}


@pytest.mark.parametrize("method", METHODS)
def test_a_new_file_sets_nothing_but_the_method_and_explains_every_parameter(tmp_path, method):
    path = tmp_path / "a.toml"
    path.write_text(config_text(method))
    assert read_toml(path) == {"method": method, "texts": {}}
    assert method_in(path) == method
    assert read_config(path, method_named(method)) == {}
    assert with_texts_of(path, NOTHING) == NOTHING
    text = path.read_text()
    for parameter in parameters_of(method_named(method)):
        assert re.search(rf"^# \S.*\n# {parameter.name} = ", text, re.M), parameter.name
    for option in text_options():
        assert re.search(rf"^# \S.*\n# {option.name} = ", text, re.M), option.name


def test_what_stands_there_is_the_default(tmp_path):
    path = tmp_path / "a.toml"
    bare = re.sub(
        r"^# (?=\w+ = (?![NX]$|VALUE|\"NAME\"))", "", config_text("xr-linear"), flags=re.M
    )
    path.write_text(bare)
    set_here = read_config(path, XRLinear)
    defaults = XRLinear().get_params()
    assert set_here == {name: defaults[name] for name in set_here}
    assert set(defaults) - set(set_here) == {n for n, value in defaults.items() if value is None}


def test_lists_and_choices_of_texts_stand_there_as_they_are_given():
    text = config_text("xr-linear")
    assert '# languages = ["CODE"]\n' in text
    assert '# format = "csv|tsv|jsonl|parquet|excel|xlsx|annif|fasttext"\n' in text


def test_a_tree_of_labels_comes_from_the_file_unless_it_is_given(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text('hierarchy = "stw.ttl"\nhierarchy_others = "together"\n')
    nothing = {"hierarchy": None, "hierarchy_others": None}
    found = with_hierarchy_of(path, nothing)
    assert (str(found["hierarchy"]), found["hierarchy_others"]) == ("stw.ttl", "together")
    given = {"hierarchy": tmp_path / "other.ttl", "hierarchy_others": "refuse"}
    assert with_hierarchy_of(path, given) == given
    assert read_config(path, XRLinear) == {}
    path.write_text("hierarchy = 1\n")
    with pytest.raises(ValueError, match=r"a\.toml: hierarchy must be a text, not 1"):
        with_hierarchy_of(path, nothing)
    path.write_text('hierarchy_others = "drop"\n')
    with pytest.raises(ValueError, match=r"a\.toml: hierarchy_others: 'drop' is not one of"):
        with_hierarchy_of(path, nothing)
    assert '# hierarchy = "FILE"\n' in config_text("xr-linear")


def test_a_table_that_is_nearly_called_texts_is_recognised(tmp_path):
    (tmp_path / "a.toml").write_text("[text]\nngrams = 2\n")
    with pytest.raises(ValueError, match="unknown parameter 'text'; did you mean 'texts'"):
        read_config(tmp_path / "a.toml", XRLinear)


def test_a_byte_order_mark_does_not_matter(tmp_path):
    (tmp_path / "a.toml").write_text("copies = 2\n", encoding="utf-8-sig")
    assert read_toml(tmp_path / "a.toml") == {"copies": 2}


def test_options_of_texts_come_from_the_file_where_they_are_not_given(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(
        '[texts]\ntext_columns = ["title", "body"]\nngrams = 3\nprecision = 0.8\n'
        'per_label = true\nvocabulary = "names.tsv"\nanalyzer = "char"\n'
    )
    found = with_texts_of(path, {**NOTHING, "analyzer": "word"})
    assert found["text_columns"] == ("title", "body")
    assert (found["ngrams"], found["precision"], found["per_label"]) == ("3", 0.8, True)
    assert str(found["vocabulary"]) == "names.tsv"
    assert found["analyzer"] == "word"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("texts = 1", "texts must be a table"),
        ("[texts]\nngram = 1", "unknown 'ngram' in .texts.; did you mean 'ngrams'?"),
        ("[texts]\nhashing = 1", "hashing in .texts. must be true or false, not 1"),
        ("[texts]\nmax_features = 1.5", "max_features in .texts. must be a whole number, not 1.5"),
        ('[texts]\nanalyzer = "letters"', "analyzer in .texts.: 'letters' is not one of"),
        ('[texts]\nprecision = "high"', "precision in .texts. must be a number, not"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path, text, sentence):
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence):
        with_texts_of(path, NOTHING)
    path.write_text("method = 7")
    with pytest.raises(ValueError, match="method must be a text, not 7"):
        method_in(path)
