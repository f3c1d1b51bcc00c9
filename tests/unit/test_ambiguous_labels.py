"""The labels that are likely ambiguous, in order and with the names of their senses."""

from __future__ import annotations

import numpy as np
import pytest

from polyseme import XRLinear
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.senses import SenseLayer, ambiguous_labels, most_ambiguous, senses_of
from polyseme.tagger import tagger_for
from tests.end_to_end.command_line import N_FEATURES, N_LABELS, documents


def rows(pairs: list[list[tuple[int, float]]], n_columns: int) -> SparseRows:
    starts = np.cumsum([0, *map(len, pairs)])
    columns, values = zip(*(pair for row in pairs for pair in row), strict=True)
    return SparseRows(starts, np.array(columns, np.int32), np.array(values, np.float32), n_columns)


@pytest.fixture(scope="module")
def model() -> XRLinear:
    """Label 2 has two senses, label 7 rather has one; label 4 is as ambiguous as 2, and rarer."""
    X, Y = documents(120, seed=0)
    Y[:, [4]] *= np.arange(120)[:, np.newaxis] % 2
    Y.eliminate_zeros()
    found = XRLinear(max_leaf_size=3, senses="none", verbose=0).fit(X, Y)
    found.senses_ = SenseLayer(
        labels=np.array([2, 4, 7], np.int32),
        probabilities=np.array([0.75, 0.75, 0.25], np.float32),
        starts=np.array([0, 2, 4, 6]),
        counts=np.array([6, 4, 3, 2, 2, 2]),
        words=rows(
            [[(0, 1.0)], [(1, 1.0)], [(2, 1.0)], [(3, 1.0)], [(4, 1.0)], [(5, 1.0)]], N_FEATURES
        ),
        beside=rows(
            [
                [(0, 0.6), (1, 0.5), (9, 0.3)],
                [(0, 0.2), (3, 0.8)],
                [(5, 1.0)],
                [(6, 1.0)],
                [(8, 1.0)],
                [(9, 1.0)],
            ],
            N_LABELS,
        ),
        typical=np.full((6, 1), -1),
    )
    return found


def test_the_most_likely_come_first_and_of_equal_ones_the_more_frequent(model):
    assert model.label_counts_[2] > model.label_counts_[4]
    assert most_ambiguous(model) == [(2, 0.75), (4, 0.75)]
    assert most_ambiguous(model, at_least=0) == [(2, 0.75), (4, 0.75), (7, 0.25)]
    assert most_ambiguous(model, 1) == [(2, 0.75)]


def test_they_come_with_the_names_of_their_senses(model):
    first, second = tagger_for(model).ambiguous_labels()
    assert (first.label, first.name, first.ambiguity) == (2, 2, 0.75)
    assert first.senses == ["label 1, label 0", "label 3"]
    assert second.senses == ["label 5", "label 6"]
    (*_, third) = ambiguous_labels(model, at_least=0.2)
    assert third.senses == ["label 8", "label 9"]


def test_the_name_of_a_sense_does_not_depend_on_how_much_is_listed(model):
    for n in (0, 1, 5):
        found = senses_of(model, 2, n_labels=n, n_words=n)
        assert [sense.name for sense in found] == ["label 1, label 0", "label 3"]
        assert all(len(sense.labels) <= n for sense in found)


def test_a_model_without_senses_has_no_ambiguous_labels(model):
    X, Y = documents(60, seed=0)
    bare = tagger_for(XRLinear(senses="none", verbose=0).fit(X, Y))
    assert bare.ambiguous_labels() == bare.most_ambiguous() == []
    assert bare.n_ambiguous == 0
    assert bare.sizes()["senses"] is None


def test_sizes_tell_how_many_labels_were_judged_and_are_ambiguous(model):
    tagger = tagger_for(model)
    about = tagger.sizes()["senses"]
    assert (about["n_judged"], about["n_ambiguous"], tagger.n_ambiguous) == (3, 2, 2)
    assert (about["evidence"], about["calibration"]) == ("labels", {})
