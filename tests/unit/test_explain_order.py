"""What the learned order made of a label, in numbers that can be checked and words for people."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest
import scipy.sparse as sp

import polyseme
from polyseme import XRLinear
from polyseme.explain import OrderExplanation, explain
from polyseme.ordering.facts import CANDIDATE_SHARE, FACTS, MOST_CANDIDATES, log_counts
from polyseme.ordering.label_ordering import TABLES, LabelOrdering
from polyseme.tagger import tagger_for
from tests import toy_backbone
from tests.end_to_end.command_line import succeed
from tests.examples import so_many
from tests.oracles import explain as oracle
from tests.small_problems import random_problem
from tests.without_weights import without_weights

N_LABELS = 40
SMALL = {
    "copies": 2,
    "max_leaf_size": 4,
    "branching": 4,
    "beam_size": 8,
    "senses": "none",
    "verbose": 0,
}


def problem():
    X, Y = random_problem(np.random.default_rng(0), n_documents=120, n_labels=N_LABELS)
    Y[40:, ::2] = False  # every other label is rare
    return sp.csr_array(X), Y


X, Y = problem()


@pytest.fixture(scope="module")
def model():
    found = XRLinear(**SMALL).fit(X, Y)
    assert found.ordering_ is not None
    return found


def ordered_by(model, ordering):
    """Return the same model with another order of its labels."""
    other = copy(model)
    other.ordering_ = ordering
    other._make_walk()
    return other


def ordering_with(factor=1.0, **tables):
    """Return an order by the product, and by tables of one fact from 0 to 10."""
    knots = tuple(np.array([0, 10], dtype=np.float32) for _ in FACTS)
    made = []
    for names in TABLES:
        table = np.zeros((2,) * len(names))
        if len(names) == 1 and names[0] in tables:
            table[:] = tables[names[0]]
        made.append(table.astype(np.float32))
    return LabelOrdering(knots, tuple(made), np.array([factor, 0, 0, 0], dtype=np.float32))


def all_explained(model, row):
    """Return the explanations of all labels that are reached."""
    found = explain(model, X[[row]], range(N_LABELS), n_features=0).labels
    return {one.label: one for one in found if one.slots}


def effects_of(explanation):
    return {effect.fact: effect for effect in explanation.order.effects}


def candidates_in(found):
    return {label: one for label, one in found.items() if is_candidate(one)}


def is_candidate(explanation):
    return explanation.order.bare_place <= explanation.order.n_candidates


@pytest.mark.parametrize("merge", ["sum", "mean", "max"])
def test_the_score_and_the_place_of_a_label_are_those_that_are_predicted(model, merge):
    model = copy(model).set_params(merge=merge)
    labels, scores = model.predict_top_k(X, N_LABELS)
    bare_labels, bare_scores = ordered_by(model, None).predict_top_k(X, N_LABELS)
    for row in range(so_many(20, few=4)):
        found = all_explained(model, row)
        n = len(found)
        assert n > MOST_CANDIDATES
        by_place = sorted(found, key=lambda label: found[label].order.place)
        assert by_place == labels[row, :n].tolist()
        assert [found[label].score for label in by_place] == pytest.approx(
            scores[row, :n], rel=1e-4
        )
        by_bare_place = sorted(found, key=lambda label: found[label].order.bare_place)
        assert by_bare_place == bare_labels[row, :n].tolist()
        assert [found[label].bare_score for label in by_bare_place] == pytest.approx(
            bare_scores[row, :n], rel=1e-4
        )
        products = np.array([found[label].bare_score for label in by_bare_place])
        n_near = (products >= CANDIDATE_SHARE * products[0]).sum()
        n_candidates = {one.order.n_candidates for one in found.values()}
        assert n_candidates == {min(n_near, MOST_CANDIDATES)}
        best = explain(model, X[[row]], n_labels=6, n_features=0).labels
        assert [one.label for one in best] == labels[row, :6].tolist()


def test_effects_are_what_the_oracle_finds_when_one_thing_is_changed(model):
    ordering, counts = model.ordering_, log_counts(model.label_counts_)
    names = list(FACTS)
    n_seen = dict.fromkeys(("path", "slot", "reached", "count"), 0)
    for row in range(8):
        length = np.log1p(X[[row]].nnz)
        found = candidates_in(all_explained(model, row))
        slots = {
            label: [
                (slot.path[-1].score, max(slot.score / slot.path[-1].score, 1e-12))
                for slot in one.slots
            ]
            for label, one in found.items()
        }
        facts = np.array([oracle.order_facts(slots[i], counts[i], length) for i in found])
        middle = np.sort(facts, axis=0)[(len(facts) - 1) // 2]
        for label, one in found.items():
            own = np.array(oracle.order_facts(slots[label], counts[label], length))
            for fact, effect in effects_of(one).items():
                typical = middle[names.index(fact)]
                changed = oracle.order_facts_but(
                    fact, typical, slots[label], counts[label], length
                )
                lost = ordering.values(own) - ordering.values(np.array(changed))
                assert effect.amount == pytest.approx(ordering.curve[0] * lost, rel=1e-2, abs=5e-3)
                n_seen[fact] += 1
            for fact in n_seen.keys() - effects_of(one).keys():  # as typical as can be
                at = names.index(fact)
                assert own[at] == pytest.approx(middle[at], rel=1e-4, abs=1e-4)
    assert min(n_seen.values()) > 10


def test_effects_in_the_bare_product_are_the_ratios_of_its_parts(model):
    for one in candidates_in(all_explained(ordered_by(model, ordering_with(2.0)), 0)).values():
        for fact, effect in effects_of(one).items():
            expected = 0 if fact == "count" else 2 * np.log(effect.value / effect.typical)
            assert effect.amount == pytest.approx(expected, abs=1e-4)


def test_the_largest_effect_comes_first(model):
    for one in all_explained(model, 0).values():
        sizes = [abs(effect.amount) for effect in one.order.effects]
        assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(("slope", "gains"), [(-3.0, "rare"), (3.0, "frequent")])
def test_a_label_may_gain_because_it_is_rare_or_because_it_is_frequent(model, slope, gains):
    model = ordered_by(model, ordering_with(count=[0, 10 * slope]))
    found = candidates_in(all_explained(model, 0))
    effects = [effects_of(one)["count"] for one in found.values() if "count" in effects_of(one)]
    n_rare = sum(effect.value < effect.typical for effect in effects)
    assert 0 < n_rare < len(effects)
    for effect in effects:
        is_rare = effect.value < effect.typical
        assert effect.value == round(effect.value)
        speaks_for = is_rare == (gains == "rare")
        assert (effect.amount > 0) == speaks_for
        assert effect.sentence.startswith(f"given to {effect.value:.0f} training document")
        assert ("fewer than" if is_rare else "more than") in effect.sentence
        assert f": speaks {'for' if speaks_for else 'against'} it (" in effect.sentence


@pytest.mark.parametrize(("beam_size", "typical"), [(3, 1), (8, 2)])
def test_what_a_label_is_reached_by_is_said_in_clusters(model, beam_size, typical):
    model = copy(model).set_params(beam_size=beam_size)
    sentences = {
        effects_of(one)["reached"].sentence.split(":")[0]
        for row in range(5)
        for one in all_explained(model, row).values()
        if "reached" in effects_of(one)
    }
    own = 3 - typical
    said = f"reached in {own} of its 2 clusters, the typical candidate in {typical}"
    assert said in sentences


def test_what_hardly_counts_is_called_so(model):
    found = all_explained(ordered_by(model, ordering_with()), 0)
    counted = [effects_of(one)["count"] for one in found.values() if "count" in effects_of(one)]
    assert counted
    assert {effect.sentence.split(": ")[1] for effect in counted} == {"hardly counts (+0.00)"}


def test_what_all_candidates_share_is_left_out():
    found = all_explained(XRLinear(**{**SMALL, "max_leaf_size": 100}).fit(X, Y), 0)
    seen = {fact for one in found.values() for fact in effects_of(one)}
    assert seen == {"slot", "count"}  # one cluster is reached, by all


def test_a_label_that_is_no_candidate_comes_after_them_without_effects(model):
    for row in range(5):
        for one in all_explained(model, row).values():
            n = one.order.n_candidates
            assert (one.order.place <= n) == is_candidate(one)
            if not is_candidate(one):
                assert one.order.effects == []
                place = one.order.bare_place
                assert one.order.sentence == (
                    f"By its score alone it is in place {place}. Only the first {n} are put in "
                    "the learned order; it comes after them."
                )


def test_places_are_said_in_words(model):
    orders = [one.order for one in candidates_in(all_explained(model, 0)).values()]
    moved = [order for order in orders if order.place != order.bare_place]
    assert moved
    for order in moved:
        assert order.sentence == (
            f"The learned order moved it from place {order.bare_place} to {order.place} of 16 "
            "candidates."
        )
    stayed = [
        one.order.sentence
        for one in candidates_in(all_explained(ordered_by(model, ordering_with()), 0)).values()
    ]
    same = "It is in place 1 of 16 candidates, by its score alone as by the learned order."
    assert same in stayed
    assert not any("moved" in sentence for sentence in stayed)


def test_the_only_label_there_is_has_nothing_to_be_compared_with():
    model = XRLinear(verbose=0, senses="none").fit(np.eye(3), np.ones((3, 1)))
    (one,) = explain(ordered_by(model, ordering_with()), np.eye(3)[:1]).labels
    assert one.order == OrderExplanation(1, 1, 1, [], "It is the only candidate.")


def test_where_rare_labels_are_favoured_the_order_is_the_predicted_one_and_says_so():
    model = XRLinear(**SMALL, favour_rare=1.0).fit(X, Y)
    labels, scores = model.predict_top_k(X, 8)
    assert (np.diff(scores) > 0).any()
    for row in range(9):
        found = explain(model, X[[row]], n_labels=8).labels
        assert [one.label for one in found] == labels[row].tolist()
        assert [one.score for one in found] == pytest.approx(scores[row], rel=1e-4)
        assert [one.order.place for one in found] == list(range(1, 9))
        assert all("Rare labels are favoured" in one.order.sentence for one in found)


def test_an_empty_document_is_put_in_order_as_well(model):
    empty = sp.csr_array((1, X.shape[1]))
    labels, scores = model.predict_top_k(empty, 3)
    found = explain(model, empty, n_labels=3).labels
    assert [one.label for one in found] == labels[0].tolist()
    assert [one.score for one in found] == pytest.approx(scores[0], rel=1e-4)
    assert all(one.order is not None for one in found)


def test_a_dense_block_is_explained_with_the_order_that_is_predicted():
    sides = (X[:, :8], X[:, 8:].toarray())
    model = XRLinear(**SMALL, weight_bits=32).fit(sides, Y)
    labels, scores = model.predict_top_k(sides, 3)
    for row in range(9):
        found = explain(model, (sides[0][[row]], sides[1][[row]]), n_labels=3).labels
        assert [one.label for one in found] == labels[row].tolist()
        assert [one.score for one in found] == pytest.approx(scores[row], rel=1e-4)


@pytest.mark.slow
def test_the_order_is_explained_without_weights_and_without_a_walk(model):
    bare = without_weights(copy(model))
    for row in range(5):
        assert {label: one.order for label, one in all_explained(bare, row).items()} == {
            label: one.order for label, one in all_explained(model, row).items()
        }


def test_the_order_of_another_packages_backbone_is_explained():
    centroids = toy_backbone.module().CentroidClassifier
    model = centroids(**SMALL).fit(X, Y)
    assert model._walk is None
    assert model.ordering_ is not None
    labels, scores = model.predict_top_k(X, 4)
    for row in range(9):
        found = explain(model, X[[row]], n_labels=4).labels
        assert [one.label for one in found] == labels[row].tolist()
        assert [one.score for one in found] == pytest.approx(scores[row], rel=1e-5)
        assert [one.order.place for one in found] == [1, 2, 3, 4]
        assert any(one.order.effects for one in found)


def test_a_model_says_how_its_labels_are_put_in_order(model, tmp_path):
    model.save(tmp_path / "learned")
    ordered_by(model, None).save(tmp_path / "bare")
    learned, bare = (
        (tagger_for(polyseme.load(folder)), succeed("info", folder))
        for folder in (tmp_path / "learned", tmp_path / "bare")
    )
    assert (learned[0].has_probabilities, bare[0].has_probabilities) == (True, False)
    assert learned[0].sizes()["ordering"] == {"n_documents": 120}
    assert bare[0].sizes()["ordering"] is None
    assert "learned from 120 documents" in learned[1]
    assert "by bare scores" in bare[1]


def test_a_model_that_is_loaded_explains_as_before(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = polyseme.load(tmp_path / "model")
    assert explain(loaded, X[[0]]) == explain(model, X[[0]])
