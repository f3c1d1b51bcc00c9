"""The learned order of labels by itself, and what its native twin refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme import _native
from polyseme.inputs.documents import Documents
from polyseme.ordering.facts import (
    CANDIDATE_SHARE,
    FACTS,
    MOST_CANDIDATES,
    Candidates,
    log_lengths,
)
from polyseme.ordering.label_ordering import TABLES, LabelOrdering, table_shapes
from tests.examples import examples
from tests.oracles import ordering as oracle
from tests.small_problems import sparse
from tests.unit.test_ordered_predictions import RANGES, random_ordering


def level(**changes):
    """Return an ordering whose tables are empty: the bare product, made a probability."""
    knots = tuple(np.zeros(1, dtype=np.float32) for _ in FACTS)
    tables = tuple(np.zeros(shape, dtype=np.float32) for shape in table_shapes(knots))
    curve = np.array(changes.pop("curve", [1, 0, 0, 0]), dtype=np.float32)
    return LabelOrdering(knots, tables, curve)


def candidates_with(*products):
    """Return the candidates of documents whose labels 0, 1, ... have these products."""
    width = max(map(len, products))
    labels = np.full((len(products), width), -1, dtype=np.int32)
    facts = np.zeros((len(products), width, len(FACTS)), dtype=np.float32)
    for i, row in enumerate(products):
        labels[i, : len(row)] = np.arange(len(row))
        facts[i, : len(row), list(FACTS).index("product")] = row
    return Candidates(labels, facts, np.minimum((labels >= 0).sum(axis=1), MOST_CANDIDATES))


@pytest.mark.parametrize("curve", [[1, 0, 0, 0], [2, -1, 0.5, 1]])
def test_a_document_that_reached_no_label_has_none(curve):
    labels, scores = level(curve=curve).ordered(candidates_with([], [-1.0]), np.ones(2, "f4"))
    assert labels.tolist() == [[-1], [0]]
    assert scores[0] == 0
    assert scores[1] > 0


def test_tables_without_anything_leave_the_order_of_the_products():
    rng = np.random.default_rng(4)
    products = -np.sort(rng.random(30) * 10)
    labels, scores = level().ordered(candidates_with(products), np.zeros(1, "f4"))
    np.testing.assert_array_equal(labels[0], np.arange(30))
    np.testing.assert_allclose(scores[0], 1 / (1 + np.exp(-np.sort(products)[::-1])), rtol=1e-5)


@examples(40)
@given(seed=st.integers(0, 2**32 - 1))
def test_values_are_those_of_plain_loops_within_and_beyond_the_knots(seed):
    rng = np.random.default_rng(seed)
    ordering = random_ordering(rng)
    low, high = np.array(list(RANGES.values())).T
    facts = (low + (high - low) * rng.uniform(-0.5, 1.5, (20, len(FACTS)))).astype(np.float32)
    for row, value in zip(facts, ordering.values(facts), strict=True):
        known = dict(zip(FACTS, map(float, row), strict=True))
        assert value == pytest.approx(oracle.value_of(known, ordering), abs=1e-5)


def test_tables_and_facts_are_those_that_the_plain_loops_know():
    assert tuple(FACTS) == oracle.FACTS
    assert TABLES == oracle.TABLES
    assert MOST_CANDIDATES == oracle.MOST_CANDIDATES
    assert np.float32(oracle.CANDIDATE_SHARE) == CANDIDATE_SHARE


def test_a_dense_block_says_nothing_of_a_documents_length():
    X = np.array([[0, 1, 2], [0, 0, 0]], dtype=np.float32)
    both = Documents(sparse(X), X)
    np.testing.assert_allclose(log_lengths(both), np.log([3, 1]), rtol=1e-6)
    np.testing.assert_array_equal(log_lengths(Documents(dense=X)), [0, 0])


# What the native core refuses


def native_ordering(**changes):
    arrays = level().to_arrays() | {"label_counts": np.zeros(1, dtype=np.float32)} | changes
    return _native.LabelOrdering(**arrays)


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("knot_starts", np.arange(8), "every fact must have knots"),
        ("knot_starts", np.arange(10), "every fact must have knots"),
        ("knot_starts", np.arange(9) + 1, "knot starts do not fit the knots"),
        ("knot_starts", np.arange(9)[::-1], "knot starts do not fit the knots"),
        ("knot_starts", np.array([0, 1, 2, 3, 4, 5, 5, 7, 8]), "every fact must have knots"),
        ("knots", np.zeros(7, "f4"), "knot starts do not fit the knots"),
        ("knots", np.zeros(9, "f4"), "knot starts do not fit the knots"),
        ("values", np.zeros(12, "f4"), "the values of the ordering do not fit its knots"),
        ("values", np.zeros(14, "f4"), "the values of the ordering do not fit its knots"),
        ("curve", np.zeros(3, "f4"), "the curve of the ordering must have four numbers"),
        ("curve", np.zeros(5, "f4"), "the curve of the ordering must have four numbers"),
        ("label_bonus", np.zeros(2, "f4"), "the bonus and the counts of labels differ in length"),
    ],
)
def test_an_ordering_whose_arrays_do_not_fit_is_refused(name, wrong, message):
    native_ordering()
    with pytest.raises(ValueError, match=message):
        native_ordering(**{name: np.ascontiguousarray(wrong)})


@pytest.mark.parametrize("name", ["knots", "values", "curve", "label_counts"])
def test_an_ordering_of_another_type_is_refused(name):
    good = level().to_arrays() | {"label_counts": np.zeros(1, dtype=np.float32)}
    with pytest.raises(TypeError):
        native_ordering(**{name: good[name].astype(np.float64)})


def test_a_predictor_refuses_an_ordering_or_counts_of_other_labels():
    weights = _native.linear_level(
        np.array([0, 1]),
        np.zeros(2, dtype=np.uint32),
        np.zeros(64, dtype=np.uint8),
        np.zeros(0, dtype=np.float32),
        np.zeros(1, dtype=np.float32),
        2,
        False,
    )
    parts = [], weights, np.zeros(1, dtype=np.int32), 1, 2, "l3-hinge"
    X, counts = sparse(np.ones((1, 2))), np.zeros(1, dtype=np.float32)
    predictor = _native.Predictor(*parts, native_ordering())
    labels, facts = predictor.candidates(X, 1, "sum", counts, None, 1, None)
    assert labels.tolist() == [0] + [-1] * (MOST_CANDIDATES - 1)
    assert len(facts) == MOST_CANDIDATES * len(FACTS)
    for n in (0, 2):
        wrong = np.zeros(n, dtype=np.float32)
        with pytest.raises(ValueError, match="does not fit the number of labels"):
            _native.Predictor(*parts, native_ordering(label_counts=wrong))
        with pytest.raises(ValueError, match="label counts do not fit the labels"):
            predictor.candidates(X, 1, "sum", wrong, None, 1, None)
    with pytest.raises(ValueError, match="beam_size must be at least 1"):
        predictor.candidates(X, 0, "sum", counts, None, 1, None)
    matching = _native.Predictor([weights], None, None, 0, 2, "none")
    with pytest.raises(ValueError, match="this predictor has no ranker"):
        matching.candidates(X, 1, "sum", np.zeros(0, dtype=np.float32), None, 1, None)
    for n_features, n_labels, what in ((3, 1, "features"), (2, 0, "labels"), (2, 2, "labels")):
        names = native_names(np.zeros(n_features), np.arange(n_labels + 1), np.arange(n_labels))
        with pytest.raises(ValueError, match=f"fit the number of {what}"):
            _native.Predictor(*parts, native_ordering(names=names))
        with pytest.raises(ValueError, match=f"fit the number of {what}"):
            predictor.candidates(X, 1, "sum", counts, names, 1, None)


def native_names(word_of_feature, starts, words):
    """Return names natively; of features, if there are no words, none is one."""
    word_of_feature = np.asarray(word_of_feature) - (len(words) == 0)
    return _native.NameWords(
        word_of_feature.astype(np.int32), np.asarray(starts), np.asarray(words, dtype=np.int32)
    )


@pytest.mark.parametrize(
    ("word_of_feature", "starts", "words", "message"),
    [
        ([0], [], [0], "the starts of names do not fit their words"),
        ([0], [0], [0], "the starts of names do not fit their words"),
        ([0], [1, 1], [0], "the starts of names do not fit their words"),
        ([0], [0, 2], [0], "the starts of names do not fit their words"),
        ([0], [0, 2, 1], [0], "the starts of names do not fit their words"),
        ([0], [0, -1, 1], [0], "the starts of names do not fit their words"),
        ([0], [0, 1], [-1], "a word of a name is out of range"),
        ([0], [0, 1], [1], "a word of a name is out of range"),
        ([0], [0, 1], [2**31 - 1], "a word of a name is out of range"),
        ([-2], [0, 1], [0], "a feature's word is out of range"),
        ([1], [0, 1], [0], "a feature's word is out of range"),
        ([0, 2], [0, 2], [0, 1], "a feature's word is out of range"),
    ],
)
def test_names_whose_words_lead_outside_are_refused(word_of_feature, starts, words, message):
    native_names([0], [0, 1], [0])
    with pytest.raises(ValueError, match=message):
        native_names(word_of_feature, np.array(starts, dtype=np.int64), words)
