"""A document's labels in a learned order: natively, part by part, and by plain loops."""

from copy import copy

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from polyseme import XRLinear
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.run import Run
from polyseme.ordering.facts import MOST_CANDIDATES, log_counts, log_lengths
from polyseme.ordering.label_ordering import LabelOrdering, table_shapes
from polyseme.ordering.name_words import NameWords
from polyseme.training import held_out
from polyseme.training.held_out import candidates_by_parts
from tests.examples import examples
from tests.oracles import merging
from tests.oracles import name_words as name_oracle
from tests.oracles import ordering as oracle
from tests.small_problems import random_problem

MERGES = ["mean", "sum", "max"]
FORMS = {
    "sparse": sp.csr_array,
    "dense": lambda X: X,
    "both": lambda X: (sp.csr_array(X[:, :12]), np.ascontiguousarray(X[:, 12:])),
}
# Where the facts of small problems lie
RANGES = {
    "path": (-4, 0),
    "slot": (0, 3),
    "count": (2, 5),
    "reached": (1, 3),
    "tempered": (-10, 1),
    "product": (-12, 1),
    "length": (0, 3),
    "name": (0, 4),
}


def random_ordering(rng, most_knots=5):
    """Return an ordering with some knots for each fact, not too near to one another.

    Names have none half of the time.
    """
    knots = []
    for low, high in RANGES.values():
        steps = rng.random(rng.integers(most_knots)) + 0.3
        places = np.concatenate([[0], np.cumsum(steps)])
        knots.append((low + places * (high - low) / (places[-1] + 0.3)).astype(np.float32))
    if rng.random() < 0.5:
        knots[-1] = knots[-1][:0]
    tables = [
        rng.standard_normal(shape).astype(np.float32) for shape in table_shapes(tuple(knots))
    ]
    curve = np.array([rng.random() + 0.2, *rng.standard_normal(3) * 0.3], dtype=np.float32)
    return LabelOrdering(tuple(knots), tuple(tables), curve)


def random_words(rng, n_labels, n_sparse):
    """Return names of a few words each, of which some are features, and some several."""
    pattern = rng.random((n_labels, rng.integers(1, 12))) < rng.random() * 0.5
    pattern[0, 0] = True
    pattern = pattern[:, pattern.any(axis=0)]  # each word is of some name
    word_of_feature = rng.integers(-1, pattern.shape[1], n_sparse).astype(np.int32)
    return NameWords(SparsePattern.from_scipy(sp.csr_array(pattern)), word_of_feature)


def with_ordering(model, ordering, words=None):
    """Return the same model with another order of labels."""
    model = copy(model)
    model.ordering_, model.name_words_ = ordering, words
    model._make_walk()
    return model


def part_by_part(model):
    model = copy(model)
    assert model._walk is not None
    model._walk = None
    return model


def ordered_model(rng, form="sparse", *, n_labels=40, **parameters):
    """Return a model with some order of labels, and documents of which two have no features."""
    X, Y = random_problem(rng, 60, 20, n_labels)
    X[3] = X[7] = 0
    how = {"branching": 4, "max_leaf_size": 4, "beam_size": 6, "copies": 2, "n_jobs": 2}
    how |= {"assignment": "closed_form", "senses": "none", "ordering": "product", "verbose": 0}
    model = XRLinear(**how | parameters).fit(FORMS[form](X), Y)
    words = random_words(rng, n_labels, model.layout_[0]) if rng.random() < 0.7 else None
    return with_ordering(model, random_ordering(rng), words), FORMS[form](X[:25])


def as_dicts(rows):
    return [
        dict(zip(*(part.tolist() for part in rows.row(i)), strict=True))
        for i in range(rows.n_rows)
    ]


def by_plain_loops(model, X):
    """Return [(label, probability)] of each document; None where rounding chooses candidates."""
    lengths = log_lengths(model._check(X))
    matched, slots = as_dicts(model.match(X)), as_dicts(model.slot_scores(X))
    counts = np.log1p(model.label_counts_)
    named = names_by_plain_loops(model, model._check(X))
    found = []
    for paths, scores, length, names in zip(matched, slots, lengths, named, strict=True):
        facts = oracle.facts_of_labels(paths, scores, model.clusters_, counts, length, names)
        merged = merging.merge_slots(scores, model.clusters_.labels, model.merge)
        products = np.array(sorted(merged.values(), reverse=True))
        rest = products[MOST_CANDIDATES - 1 :]
        is_tied = (-np.diff(rest) < 1e-5 * rest[1:]).any()
        is_tied |= np.isclose(products, oracle.CANDIDATE_SHARE * products[0], rtol=1e-4).any()
        found.append(None if is_tied else oracle.in_order(facts, merged, model.ordering_, length))
    assert sum(one is not None for one in found) > len(found) / 2
    return found


def names_by_plain_loops(model, documents):
    """Return how much of each label's name stands in each document, None without names."""
    words = model.name_words_
    if words is None:
        return [None] * documents.n_rows
    names = [set(words.of_labels.row(label).tolist()) for label in range(model.n_labels_)]
    there = [
        set(words.word_of_feature[documents.sparse.row(i)[0]].tolist())
        if documents.sparse is not None
        else set()
        for i in range(documents.n_rows)
    ]
    return [
        {label: name_oracle.found_in(own, name) for label, name in enumerate(names)}
        for own in there
    ]


def assert_as_by_plain_loops(labels, scores, expected):
    """Compare the best labels of documents, whatever the order of nearly equal ones."""
    for row, row_scores, known in zip(labels, scores, expected, strict=True):
        if known is None:
            continue
        n = min(len(row), len(known))
        assert (row[n:] == -1).all()
        assert (row_scores[n:] == 0).all()
        probability = dict(known)
        assert len(set(row[:n])) == n
        assert [probability[label] for label in row[:n]] == pytest.approx(row_scores[:n], abs=2e-4)
        assert [p for _, p in known[:n]] == pytest.approx(row_scores[:n], abs=2e-4)


def candidates_of_all(model, X):
    counts = log_counts(model.label_counts_)
    parts = model.matcher_, model.ranker_, model.clusters_, model._check(X), counts
    words = model.name_words_
    return candidates_by_parts(*parts, model.beam_size, model.merge, Run(), words=words)


cases = given(
    seed=st.integers(0, 2**32 - 1),
    merge=st.sampled_from(MERGES),
    form=st.sampled_from(sorted(FORMS)),
    copies=st.integers(1, 2),
    beam_size=st.sampled_from([1, 3, 12]),
    n_labels=st.sampled_from([7, 40]),
)


@examples(12, few=4)
@cases
def test_the_best_labels_are_those_of_plain_loops_natively_and_part_by_part(
    seed, merge, form, copies, beam_size, n_labels
):
    how = {"merge": merge, "copies": copies, "beam_size": beam_size}
    model, X = ordered_model(np.random.default_rng(seed), form, n_labels=n_labels, **how)
    expected = by_plain_loops(model, X)
    for k in (3, MOST_CANDIDATES, 35):
        assert_as_by_plain_loops(*model.predict_top_k(X, k), expected)
        assert_as_by_plain_loops(*part_by_part(model).predict_top_k(X, k), expected)


@examples(12, few=4)
@cases
def test_all_scores_are_those_of_plain_loops_natively_and_part_by_part(
    seed, merge, form, copies, beam_size, n_labels
):
    how = {"merge": merge, "copies": copies, "beam_size": beam_size}
    model, X = ordered_model(np.random.default_rng(seed), form, n_labels=n_labels, **how)
    found = [model.decision_function(X), part_by_part(model).decision_function(X)]
    for i, known in enumerate(by_plain_loops(model, X)):
        for scores in found:
            row = dict(zip(scores[[i]].indices.tolist(), scores[[i]].data.tolist(), strict=True))
            assert known is None or row == pytest.approx(dict(known), abs=2e-4)


@examples(8, few=4)
@given(seed=st.integers(0, 2**32 - 1), merge=st.sampled_from(MERGES), copies=st.integers(1, 2))
def test_favoured_labels_come_as_in_plain_loops_with_the_probabilities_of_others(
    seed, merge, copies
):
    rng = np.random.default_rng(seed)
    plain, X = ordered_model(rng, merge=merge, copies=copies)
    model = copy(plain).set_params(favour_rare=0.8)
    model.trained_parameters_ = {**plain.trained_parameters_, "favour_rare": 0.8}
    model.label_counts_ = rng.permutation(plain.label_counts_**2) // 20
    model._make_walk()
    bonus = model._counted().bonus
    assert bonus.min() >= 0
    assert bonus[model.label_counts_.argmin()] == bonus.max()
    expected = by_plain_loops(model, X)
    for one in (model, part_by_part(model)):
        labels, scores = one.predict_top_k(X, 35)
        few, few_scores = one.predict_top_k(X, 4)
        np.testing.assert_array_equal(few, labels[:, :4])
        np.testing.assert_array_equal(few_scores, scores[:, :4])
        n_of_each = candidates_of_all(model, X).n_candidates
        for row, row_scores, known, n_candidates in zip(
            labels, scores, expected, n_of_each, strict=True
        ):
            if known is None:
                continue
            probability, n = dict(known), min(len(known), 35)
            found = [probability[label] for label in row[:n]]
            assert found == pytest.approx(row_scores[:n], abs=2e-4)
            first = row[:n_candidates]
            rank_by = np.log(row_scores[:n_candidates]) + bonus[first]
            assert (np.diff(rank_by) < 1e-3).all()
    decided = model.decision_function(X).toarray()
    labels, scores = model.predict_top_k(X, 10)
    np.testing.assert_array_equal(np.take_along_axis(decided, labels, axis=1), scores)


@examples(12, few=4)
@cases
def test_candidates_and_their_facts_are_the_same_natively_and_part_by_part(
    seed, merge, form, copies, beam_size, n_labels
):
    how = {"merge": merge, "copies": copies, "beam_size": beam_size}
    model, X = ordered_model(np.random.default_rng(seed), form, n_labels=n_labels, **how)
    documents, counts = model._check(X), log_counts(model.label_counts_)
    words = model.name_words_
    whole = model._walk.candidates(documents, beam_size, merge, counts, Run(), words)
    parts = candidates_of_all(model, X)
    assert whole.labels.shape == (documents.n_rows, MOST_CANDIDATES)
    np.testing.assert_array_equal(whole.is_candidate, whole.labels >= 0)
    for i, known in enumerate(by_plain_loops(model, X)):
        if known is None:
            continue
        labels = sorted(whole.labels[i, : whole.n_candidates[i]].tolist())
        assert labels == sorted(parts.labels[i, : parts.n_candidates[i]].tolist())
        for label in labels:
            ours, theirs = (
                one.facts[i, one.labels[i].tolist().index(label)] for one in (whole, parts)
            )
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@examples(12, few=4)
@cases
def test_fewer_labels_are_the_first_of_more_and_their_scores_those_of_the_decision_function(
    seed, merge, form, copies, beam_size, n_labels
):
    how = {"merge": merge, "copies": copies, "beam_size": beam_size}
    model, X = ordered_model(np.random.default_rng(seed), form, n_labels=n_labels, **how)
    for one in (model, part_by_part(model)):
        all_labels, all_scores = one.predict_top_k(X, 60)
        assert ((all_scores > 0) & (all_scores < 1))[all_labels >= 0].all()
        assert (np.diff(all_scores, axis=1) <= 0).all()
        for k in (1, 5, MOST_CANDIDATES - 1, MOST_CANDIDATES, MOST_CANDIDATES + 1, 30):
            labels, scores = one.predict_top_k(X, k)
            np.testing.assert_array_equal(labels, all_labels[:, :k])
            np.testing.assert_array_equal(scores, all_scores[:, :k])
        decided = one.decision_function(X)
        np.testing.assert_array_equal(np.diff(decided.indptr), (all_labels >= 0).sum(axis=1))
        rows, places = np.nonzero(all_labels >= 0)
        found = decided.toarray()[rows, all_labels[rows, places]]
        np.testing.assert_array_equal(found, all_scores[rows, places])


@examples(8, few=4)
@given(
    seed=st.integers(0, 2**32 - 1),
    merge=st.sampled_from(MERGES),
    copies=st.integers(1, 2),
    k=st.sampled_from([1, 5, 25]),
)
def test_a_plain_row_gets_what_it_gets_in_company_with_any_number_of_threads(
    seed, merge, copies, k
):
    model, X = ordered_model(np.random.default_rng(seed), merge=merge, copies=copies, n_jobs=1)
    labels, scores = model.predict_top_k(X, k)
    many = copy(model).set_params(n_jobs=3)
    for one, other in zip((labels, scores), many.predict_top_k(X, k), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(
        model.decision_function(X).toarray(), many.decision_function(X).toarray()
    )
    for i in range(X.shape[0]):
        assert model._top_k_of_one(X[[i]], k) is not None
        alone, own_scores = model.predict_top_k(X[[i]], k)
        np.testing.assert_array_equal(alone[0], labels[i])
        np.testing.assert_array_equal(own_scores[0], scores[i])


def test_zeros_that_are_stored_count_alike_alone_and_in_company():
    model, X = ordered_model(np.random.default_rng(0))
    X.data[::2] = 0
    labels, scores = model.predict_top_k(X, 5)
    for i in range(X.shape[0]):
        for alone in (model, part_by_part(model)):
            own_labels, own_scores = alone.predict_top_k(X[[i]], 5)
            np.testing.assert_array_equal(own_labels[0], labels[i])
            np.testing.assert_allclose(own_scores[0], scores[i], rtol=1e-4)


def test_labels_that_are_alike_come_in_the_order_of_their_numbers():
    rng = np.random.default_rng(1)
    X, Y = random_problem(rng, n_labels=2)
    Y = Y[:, [0, 1, 0, 0, 1, 0]]  # labels 0, 2, 3 and 5 are one, and so are 1 and 4
    how = {"copies": 1, "rounds": 0, "senses": "none", "ordering": "product", "verbose": 0}
    model = with_ordering(XRLinear(**how).fit(X, Y), random_ordering(rng))
    for one in (model, part_by_part(model)):
        for k in (1, 3, 6):
            for row in one.predict_top_k(X, k)[0]:
                best = [0, 2, 3, 5, 1, 4] if row[0] == 0 else [1, 4, 0, 2, 3, 5]
                assert row.tolist() == best[:k]


def test_documents_without_features_and_no_documents_at_all_are_borne():
    model, X = ordered_model(np.random.default_rng(2))
    nothing = sp.csr_array((4, X.shape[1]), dtype=np.float32)
    for one in (model, part_by_part(model)):
        labels, scores = one.predict_top_k(nothing, 3)
        assert (labels >= 0).all()
        assert ((scores > 0) & (scores < 1)).all()
        np.testing.assert_array_equal(labels, labels[[0] * 4])
        assert one.predict_top_k(nothing[:0], 3)[0].shape == (0, 3)
        assert one.decision_function(nothing[:0]).shape == (0, 40)


def test_numbers_so_large_that_margins_overflow_give_probabilities():
    model, X = ordered_model(np.random.default_rng(3))
    X.data[:] = np.where(np.arange(X.nnz) % 2, 3e38, -3e38)
    for one in (model, part_by_part(model)):
        _, scores = one.predict_top_k(X, 25)
        assert np.isfinite(scores).all()
        assert ((scores >= 0) & (scores <= 1)).all()
        assert (np.diff(scores, axis=1) <= 0).all()


def test_blocks_of_documents_that_reach_different_numbers_of_labels_fit_together(monkeypatch):
    model, X = ordered_model(np.random.default_rng(5), beam_size=2)
    parts = part_by_part(model)
    expected, best = parts.decision_function(X), parts.predict_top_k(X, 30)
    monkeypatch.setattr(held_out, "ROWS_AT_ONCE", 3)
    assert len(set(np.diff(expected.indptr))) > 1
    np.testing.assert_array_equal(parts.decision_function(X).toarray(), expected.toarray())
    for one, other in zip(parts.predict_top_k(X, 30), best, strict=True):
        np.testing.assert_array_equal(one, other)


def test_whom_a_model_favours_is_settled_in_training():
    model, X = ordered_model(np.random.default_rng(0))
    before = model.predict_top_k(X, 10)
    changed = model.set_params(favour_rare=1.0)
    for one in (changed, part_by_part(changed)):
        for ours, theirs in zip(one.predict_top_k(X, 10), before, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4)
