"""What senses are called."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.senses import SenseLayer, sense_name
from polyseme.senses.called import _called

Row = dict[str, float]


def names(
    beside: list[Row], words: list[Row] | None = None, *, label: str = "mercury"
) -> list[str]:
    """Return the names of the senses of a label with such labels and words."""
    words = words or [{} for _ in beside]
    labels = [label, *dict.fromkeys(name for row in beside for name in row)]
    features = list(dict.fromkeys(name for row in words for name in row)) or ["none"]
    layer = SenseLayer(
        labels=np.array([0], np.int32),
        probabilities=np.array([0.9], np.float32),
        starts=np.array([0, len(beside)]),
        counts=np.arange(len(beside), 0, -1),
        words=unit_rows(words, features),
        beside=unit_rows(beside, labels),
        typical=np.full((len(beside), 1), -1),
    )
    model = SimpleNamespace(
        senses_=layer,
        label_names_=Names.from_list(labels),
        feature_names_=Names.from_list(features),
    )
    return [sense_name(model, sense) for sense in range(len(beside))]


def unit_rows(rows: list[Row], names: list[str]) -> SparseRows:
    dense = np.array([[row.get(name, 0) for name in names] for row in rows], np.float32)
    lengths = np.linalg.norm(dense, axis=1, keepdims=True)
    return SparseRows.from_scipy(sp.csr_array(dense / np.where(lengths > 0, lengths, 1)))


def test_a_sense_is_called_by_what_the_others_have_less_of():
    beside = [{"comet": 3, "orbit": 2, "book": 4}, {"acid": 3, "flask": 2, "book": 4}]
    assert names(beside) == ["comet, orbit", "acid, flask"]


def test_what_tells_little_beside_what_tells_most_is_left_out():
    assert names([{"comet": 1, "moth": 0.2}, {"acid": 1, "flask": 0.3}]) == [
        "comet",
        "acid, flask",
    ]


def test_a_word_that_many_senses_have_names_none_nor_does_a_phrase_that_begins_with_it():
    words: list[Row] = [{"the": 9, "the comet": 5, "comet": 4}, {"of": 9, "acid of": 5, "acid": 4}]
    others: list[Row] = [{"the": 1, "of": 1, f"word{i}": 1} for i in range(30)]
    assert names([{}] * 32, [*words, *others])[:2] == ["comet", "acid"]


def test_where_all_words_are_common_they_are_better_than_no_name():
    words: list[Row] = [{"the": 9, "of": 1}, {"of": 9, "the": 1}, *[{"the": 1, "of": 1}] * 30]
    assert names([{}] * 32, words)[:2] == ["the", "of"]


def test_names_are_preferred_to_codes():
    beside = [
        {"gnd:4020588-5": 5, "gnd:105237154X": 4, "comet": 2, "orbit": 2},
        {"http://example.org/acid": 3, "flask": 2},
    ]
    assert names(beside) == ["comet, orbit", "flask"]


def test_names_of_what_tells_next_to_nothing_are_not_preferred_to_codes():
    assert names([{"Q4020": 5, "D004021": 4, "moth": 1}, {"flask": 1}]) == [
        "Q4020, D004021",
        "flask",
    ]


@pytest.mark.parametrize("name", ["COVID-19", "5G", "H2O", "Title: 2001", "3D", "水"])
def test_short_names_and_names_with_digits_are_names(name):
    assert names([{"gnd:4020588-5": 3, name: 2}, {"flask": 1}])[0] == name


def test_words_stand_where_labels_have_no_names():
    beside = [{"gnd:4020588-5": 1}, {"flask": 1}]
    words = [{"planet": 1}, {"metal": 1}]
    assert names(beside, words) == ["planet", "flask, metal"]


def test_numbers_of_features_stand_where_there_is_nothing_else():
    words = [{"117228": 1}, {"63287": 1}]
    assert names([{"gnd:4020588-5": 1}, {}], words) == ["gnd:4020588-5", "63287"]


def test_the_name_of_the_label_tells_none_of_its_senses():
    words = [{"Mercury": 3, "planet": 2}, {"metal": 1}]
    assert names([{}, {}], words) == ["planet", "metal"]


def test_no_sense_is_without_a_name_and_no_two_have_the_same():
    assert names([{"comet": 1}, {}, {}]) == ["comet", "the rest", "the rest, the rest"]
    same = {"comet": 1, "orbit": 1}
    assert len(set(names([same, same, same]))) == 3
    between = names([{"comet": 1}, {"acid": 1}, same | {"acid": 1}, {"comet": 1, "acid": 1}])
    assert len(set(between)) == 4
    assert all(between)


def test_a_name_does_not_say_a_thing_twice():
    assert _called(["Bank", "loan"], ["bank", "money"], "credit") == "Bank, loan"
    assert _called(["bank"], ["bank", "the bank", "money"], "credit") == "bank, money"
