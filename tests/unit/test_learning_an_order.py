"""An order of labels is learned from candidates of which it is known how likely each is right."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.metrics import precision_at_k
from polyseme.ordering.facts import FACTS, Candidates
from polyseme.ordering.learning import FEWEST_HITS, learn_ordering
from tests.small_problems import pattern

UNDERRATED = 3.0  # how much too low the products of rare labels are, as a logarithm
LABELS = 60  # the first half is rare


def generated(n_documents, seed=0, underrated=UNDERRATED):
    """Return candidates, which of them are true, and with what probability."""
    rng = np.random.default_rng(seed)
    labels = rng.permuted(np.tile(np.arange(LABELS), (n_documents, 1)), axis=1)[:, :20]
    log_odds = rng.normal(-3, 2, labels.shape)
    products = np.minimum(log_odds - underrated * (labels < LABELS // 2), 0)
    order = np.argsort(-products, axis=1)
    labels, log_odds, products = (
        np.take_along_axis(one, order, axis=1) for one in (labels, log_odds, products)
    )
    of_name = {
        "path": products * rng.uniform(0.2, 0.8, labels.shape),
        "count": np.where(labels < LABELS // 2, np.log(6), np.log(500)),
        "reached": np.ones(labels.shape),
        "product": products,
        "length": np.tile(np.log(rng.integers(5, 50, (n_documents, 1))), (1, 20)),
        "name": np.zeros(labels.shape),
    }
    of_name["slot"] = np.cbrt(of_name["path"] - products)
    of_name["tempered"] = products - of_name["path"] / 2
    facts = np.stack([of_name[name] for name in FACTS], axis=-1).astype(np.float32)
    likely = 1 / (1 + np.exp(-log_odds))
    is_true = rng.random(labels.shape) < likely
    return all_candidates(labels.astype(np.int32), facts), truth_of(labels, is_true), likely


def all_candidates(labels, facts):
    return Candidates(labels, facts, (labels >= 0).sum(axis=1))


def truth_of(labels, is_true):
    rows = np.nonzero(is_true)[0]
    Y = sp.csr_array((np.ones(len(rows)), (rows, labels[is_true])), (len(labels), LABELS))
    return SparsePattern.from_scipy(Y)


def lengths_of(candidates):
    return candidates.facts[:, 0, list(FACTS).index("length")]


@cache
def learned():
    candidates, truth, _ = generated(1500)
    return learn_ordering(candidates, truth)


def test_rare_labels_that_scores_put_too_low_are_put_where_they_belong():
    candidates, _, _ = generated(200, seed=1)
    count = list(FACTS).index("count")
    rare, frequent = candidates.facts.copy(), candidates.facts.copy()
    rare[..., count], frequent[..., count] = np.log(6), np.log(500)
    gain = learned().values(rare) - learned().values(frequent)
    assert np.median(gain) == pytest.approx(UNDERRATED, abs=0.5)


def test_the_learned_order_is_better_than_the_product_on_fresh_documents():
    candidates, truth, likely = generated(1500, seed=2)
    labels, _ = learned().ordered(candidates, lengths_of(candidates))
    best = np.take_along_axis(candidates.labels, np.argsort(-likely, axis=1), axis=1)
    for k in (1, 3, 5):
        product, order, most = (
            precision_at_k(one[:, :k], truth.to_scipy(), k)
            for one in (candidates.labels, labels, best)
        )
        assert order > product + 5
        assert order > most - 2


def test_where_the_product_is_right_it_stays():
    candidates, truth, _ = generated(1500, underrated=0)
    ordering = learn_ordering(candidates, truth)
    fresh, truth, _ = generated(1500, seed=2, underrated=0)
    labels, _ = ordering.ordered(fresh, lengths_of(fresh))
    for k in (1, 3):
        product = precision_at_k(fresh.labels[:, :k], truth.to_scipy(), k)
        assert precision_at_k(labels[:, :k], truth.to_scipy(), k) > product - 1.5


def test_probabilities_are_as_likely_as_they_say():
    candidates, truth, _ = generated(3000, seed=3)
    labels, found = learned().ordered(candidates, lengths_of(candidates))
    is_true = np.take_along_axis(truth.to_scipy().toarray(), labels, axis=1) > 0
    places = np.minimum((found * 10).astype(int), 9).ravel()
    n = np.bincount(places, minlength=10)
    said, was = (np.bincount(places, one.ravel(), 10) / n for one in (found, is_true))
    assert n.min() > 100
    assert np.abs(said - was) @ n / n.sum() < 0.02
    assert np.abs(said - was).max() < 0.1


def test_it_remembers_how_many_documents_it_was_learned_from():
    assert learned().n_documents == 1500


def test_the_same_candidates_give_the_same_bytes():
    candidates, truth, _ = generated(1500)
    again = learn_ordering(candidates, truth).to_arrays()
    for name, array in learned().to_arrays().items():
        np.testing.assert_array_equal(again[name], array, strict=True)


def with_hits(n_right, n_wrong=1000):
    """Return candidates with so many true ones, and the truth."""
    candidates, _, _ = generated(100)
    n = (n_right + n_wrong) // 20 + 1
    labels = np.tile(candidates.labels, (n // 100 + 1, 1))[:n]
    facts = np.tile(candidates.facts, (n // 100 + 1, 1, 1))[:n]
    flat = labels.reshape(-1)
    flat[n_right + n_wrong :] = -1
    is_true = (np.arange(len(flat)) < n_right).reshape(labels.shape)
    return all_candidates(labels, facts), truth_of(labels, is_true)


def test_with_too_few_right_or_wrong_candidates_nothing_is_learned():
    assert learn_ordering(*with_hits(FEWEST_HITS - 1)) is None
    assert learn_ordering(*with_hits(1000, FEWEST_HITS - 1)) is None
    facts = np.zeros((9, 20, len(FACTS)), np.float32)
    nothing = all_candidates(np.full((9, 20), -1, np.int32), facts)
    assert learn_ordering(nothing, pattern(np.zeros((9, LABELS)))) is None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_facts_that_are_no_numbers_teach_nothing(bad):
    candidates, truth, _ = generated(300)
    candidates.facts[7, 3, 2] = bad
    assert learn_ordering(candidates, truth) is None


def test_what_stands_where_there_is_no_label_does_not_matter():
    candidates, truth, _ = generated(300)
    candidates.labels[:, 15:] = -1
    candidates.n_candidates[:] = 15
    expected = learn_ordering(candidates, truth)
    candidates.facts[:, 15:] = np.nan
    found = learn_ordering(candidates, truth)
    for name, array in expected.to_arrays().items():
        np.testing.assert_array_equal(found.to_arrays()[name], array)


def test_candidates_that_scores_tell_apart_without_fail_give_a_sound_order():
    candidates, _, _ = generated(300)
    product = list(FACTS).index("product")
    candidates.facts[..., product] = np.where(np.arange(20) < 3, 0, -60)
    is_true = np.tile(np.arange(20) < 3, (300, 1))
    ordering = learn_ordering(candidates, truth_of(candidates.labels, is_true))
    labels, found = ordering.ordered(candidates, lengths_of(candidates))
    assert (np.sort(labels[:, :3]) == np.sort(candidates.labels[:, :3])).all()
    assert (found[:, :3] > 0.95).all()
    assert (found[:, 3:] < 0.05).all()
    assert all(np.abs(array).max() < 1e6 for array in ordering.to_arrays().values())


def test_facts_that_are_all_alike_teach_nothing():
    candidates, truth, _ = generated(300)
    candidates.facts[:] = 0
    assert learn_ordering(candidates, truth) is None
