"""Explanations agree with predictions, and their parts add up."""

from __future__ import annotations

import time
from copy import copy
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from polyseme import XRLinear
from polyseme.senses.explain import explain
from tests.examples import examples, so_many
from tests.oracles import explain as oracle
from tests.oracles.beam_search import dense_weights
from tests.oracles.merging import merge_slots
from tests.small_data import two_senses
from tests.small_problems import documents, random_problem
from tests.without_weights import without_weights

ACTIVATIONS = ["l3-hinge", "l2-hinge", "sigmoid", "none"]


def small_model(seed=0, n_documents=80, **parameters):
    X, Y = random_problem(np.random.default_rng(seed), n_documents, n_labels=12, signed=True)
    usual = {"max_leaf_size": 2, "branching": 2, "beam_size": 3, "verbose": 0}
    chosen = {**usual, "ordering": "product", "senses": "none", **parameters}
    # Beside bytes the numbers of a dense block are rounded; beside floats they are exact.
    is_exact = chosen.get("weight_bits", 8) == 32
    features = (sp.csr_array(X[:, :8]), X[:, 8:]) if is_exact else sp.csr_array(X)
    return XRLinear(**chosen).fit(features, Y), X


def margins_of(explanation):
    for label in explanation.labels:
        for slot in label.slots:
            yield slot.margin
            yield from (step.margin for step in slot.path)


@examples(15, few=5)
@given(
    st.integers(0, 20),
    st.sampled_from(ACTIVATIONS),
    st.sampled_from(["sum", "mean", "max"]),
    st.sampled_from([8, 32]),
    st.integers(0, 4),
)
def test_an_explanation_is_that_of_the_oracle(seed, activation, merge, weight_bits, n_features):
    model, X = small_model(seed, activation=activation, merge=merge, weight_bits=weight_bits)
    document = X[seed]
    beams = oracle.beams(model.matcher_.levels, document, model.beam_size, activation)
    if beams is None:
        return
    found = explain(model, X[seed : seed + 1], range(model.n_labels_), n_features=n_features)

    assert len(found.levels) == len(beams)
    for nodes, beam in zip(found.levels, beams, strict=True):
        assert {one.node: one.score for one in nodes} == pytest.approx(beam, rel=1e-4, abs=1e-6)
        assert [one.score for one in nodes] == sorted((one.score for one in nodes), reverse=True)

    scores = oracle.slot_scores(model.ranker_.weights, document, beams[-1], activation)
    merged = merge_slots(scores, model.clusters_.labels, merge)
    explained = {one.label: one for one in found.labels}
    reached = {label: one.bare_score for label, one in explained.items() if one.slots}
    assert reached == pytest.approx(merged, rel=1e-4, abs=1e-6)
    slots = {slot.slot: slot.score for one in found.labels for slot in one.slots}
    assert slots == pytest.approx(scores, rel=1e-4, abs=1e-6)

    ranker = dense_weights(model.ranker_.weights)
    levels = [dense_weights(weights) for weights in model.matcher_.levels]
    for one in found.labels:
        own = [slot.cluster for slot in one.slots] + one.not_reached
        assert sorted(own) == [
            model.clusters_.cluster_of_slot[slot] for slot in model.clusters_.slots_of(one.label)
        ]
        for slot in one.slots:
            assert_same_margin(slot.margin, *oracle.margin(*ranker, slot.slot, document))
            assert slot.path[-1].node == slot.cluster
            for step, weights in zip(slot.path, levels, strict=True):
                assert_same_margin(step.margin, *oracle.margin(*weights, step.node, document))


def assert_same_margin(margin, total, amounts):
    assert margin.total == pytest.approx(total, rel=1e-4, abs=1e-5)
    listed = {one.feature: one.amount for one in margin.contributions}
    assert listed == pytest.approx({f: amounts[f] for f in listed}, rel=1e-4, abs=1e-6)
    sizes = [abs(one.amount) for one in margin.contributions]
    assert sizes == sorted(sizes, reverse=True)
    assert margin.rest == pytest.approx(sum(amounts.values()) - sum(listed.values()), abs=1e-5)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("n_features", [0, 2, 1000])
def test_contributions_add_up_to_the_margin(activation, n_features):
    model, X = small_model(activation=activation)
    for row in range(5):
        found = explain(model, X[row : row + 1], n_labels=4, n_features=n_features)
        for margin in margins_of(found):
            parts = sum(one.amount for one in margin.contributions)
            assert margin.bias + parts + margin.rest == pytest.approx(margin.total, abs=1e-5)
            assert len(margin.contributions) <= n_features
            for one in margin.contributions:
                assert one.amount == pytest.approx(one.value * one.weight)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_best_labels_are_explained_with_their_scores(activation):
    model, X = small_model(activation=activation, ordering="learned")
    labels, scores = model.predict_top_k(X, 3)
    for row in range(so_many(len(X), 15)):
        found = explain(model, X[row : row + 1], n_labels=3)
        assert [one.label for one in found.labels] == labels[row].tolist()
        assert [one.score for one in found.labels] == pytest.approx(scores[row], rel=1e-5)


@pytest.mark.parametrize("ordering", ["learned", "product"])
def test_a_label_that_was_not_reached_has_no_scores_and_no_order(ordering):
    model, X = small_model(n_documents=400, ordering=ordering)
    found = explain(model, X[:1], range(12)).labels
    assert any(one.slots for one in found)
    assert not all(one.slots for one in found)
    for one in found:
        is_ordered = bool(one.slots) and ordering == "learned"
        assert (one.order is not None) == is_ordered
        assert (one.score is None) == (one.bare_score is None) == (not one.slots)


@pytest.mark.parametrize("merge", ["sum", "mean", "max"])
def test_without_a_learned_order_the_score_is_the_bare_score(merge):
    model, X = small_model(ordering="product", merge=merge)
    labels, scores = model.predict_top_k(X, 3)
    for row in range(9):
        found = explain(model, X[row : row + 1], n_labels=3).labels
        assert [one.label for one in found] == labels[row].tolist()
        assert [one.score for one in found] == pytest.approx(scores[row], rel=1e-5)
        assert [one.score for one in found] == [one.bare_score for one in found]
        assert {one.order for one in found} == {None}


def test_the_slot_of_the_right_sense_gives_most_of_the_score():
    data = two_senses(n_documents=1200)
    model = XRLinear(copies=2, max_leaf_size=10, beam_size=2, verbose=0).fit(data.X, data.Y)
    labels, _ = model.predict_top_k(data.X_test, 1)
    true = data.Y_test.toarray().argmax(axis=1)
    ambiguous = np.flatnonzero((labels[:, 0] == true) & (true < 32))[:40].tolist()
    assert len(ambiguous) > 5
    n_right = n_to_choose = 0
    for i in ambiguous:
        found = explain(model, data.X_test[[i]], n_labels=1).labels[0]
        topic = data.X_test[[i]].indices.min() // 6  # the words of a topic stand together
        plain = np.arange(32 + 6 * topic, 38 + 6 * topic)
        homes = model.clusters_.to_matrix().toarray()[plain].sum(axis=0)
        if len(found.slots) > 1:
            n_to_choose += 1
            of_topic = [homes[slot.cluster] for slot in found.slots]
            n_right += of_topic[0] > max(of_topic[1:])
        summed = sum(slot.score for slot in found.slots)
        assert found.bare_score == pytest.approx(summed, rel=1e-5)
    assert n_to_choose > 20
    assert n_right > 0.7 * n_to_choose


def test_the_slots_of_a_label_are_explained_best_first():
    model, X = small_model(beam_size=6)
    n_told_apart = 0
    for row in range(so_many(len(X), 15)):
        for label in explain(model, X[row : row + 1], n_labels=12).labels:
            scores = [slot.score for slot in label.slots]
            assert scores == sorted(scores, reverse=True)
            n_told_apart += len(set(scores)) > 1
    assert n_told_apart > 20


def test_names_are_shown_where_the_model_has_them():
    X = np.eye(3, dtype=np.float32)
    names = ["apple", "banana", "cherry"]
    model = XRLinear(verbose=0).fit(X, [["a"], ["b"], ["c"]], feature_names=names)
    best = explain(model, X[:1], n_labels=1).labels[0]
    assert best.name == "a"
    assert best.slots[0].margin.contributions[0].name == "apple"


def test_a_tree_without_levels_has_no_path():
    X = np.eye(3, dtype=np.float32)
    found = explain(XRLinear(verbose=0).fit(X, X), X[:1])
    assert found.levels == []
    assert found.labels[0].slots[0].path == []


def test_an_empty_document_is_explained_by_biases():
    model, X = small_model()
    for margin in margins_of(explain(model, np.zeros_like(X[:1]))):
        assert margin.contributions == []
        assert margin.total == pytest.approx(margin.bias)


def test_an_unknown_label_is_a_value_error():
    model, X = small_model()
    with pytest.raises(ValueError, match="no label 12: labels are numbered from 0 to 11"):
        explain(model, X[:1], [12])


def test_a_number_of_labels_that_is_none_is_refused():
    model, X = small_model()
    for n_labels in (-1, 0, 1.5):
        with pytest.raises(ValueError, match=f"n_labels must be .*, not {n_labels}"):
            explain(model, X[:1], n_labels=n_labels)


def test_several_documents_are_a_value_error():
    model, X = small_model()
    with pytest.raises(ValueError, match="X has 2 rows; one document is explained at a time"):
        explain(model, X[:2])


def test_a_model_without_weights_is_explained_without_margins():
    model, X = small_model()
    bare = without_weights(copy(model))
    for row in range(10):
        found, expected = (explain(one, X[row : row + 1], range(12)) for one in (bare, model))
        assert list(margins_of(expected))
        assert set(margins_of(found)) == {None}
        # Of the levels above the clusters only the nodes are known that lie above these.
        assert found.levels[-1] == expected.levels[-1]
        clusters = [one.node for one in found.levels[-1]]
        for level, nodes in enumerate(found.levels[:-1], start=1):
            above = {model.tree_.path_to(cluster)[level - 1] for cluster in clusters}
            assert [one.node for one in nodes] == sorted(above)
            assert {one.score for one in nodes} == {None}
        for one, other in zip(found.labels, expected.labels, strict=True):
            assert (one.label, one.score) == (other.label, other.score)
            assert (one.bare_score, one.order) == (other.bare_score, other.order)
            assert one.not_reached == other.not_reached
            assert [(slot.slot, slot.cluster, slot.score) for slot in one.slots] == [
                (slot.slot, slot.cluster, slot.score) for slot in other.slots
            ]
            for slot, same in zip(one.slots, other.slots, strict=True):
                assert [step.node for step in slot.path] == [step.node for step in same.path]
                assert [step.score for step in slot.path[:-1]] == [None] * (len(slot.path) - 1)
                assert slot.path[-1].score == same.path[-1].score


def test_a_matcher_that_descends_tells_its_nodes_even_where_the_ranker_has_no_weights():
    model, X = small_model()
    bare = copy(model)
    bare.ranker_ = SimpleNamespace(score=model.ranker_.score)
    found, expected = (explain(one, X[:1]) for one in (bare, model))
    assert found.levels == expected.levels
    for one, other in zip(found.labels, expected.labels, strict=True):
        assert [slot.margin for slot in one.slots] == [None] * len(one.slots)
        assert [slot.path for slot in one.slots] == [slot.path for slot in other.slots]


def test_the_margins_of_slots_are_of_what_the_matcher_makes_of_a_document():
    model, X = small_model()
    encoding = copy(model)
    encoding.matcher_ = SimpleNamespace(
        match=model.matcher_.match, encode=lambda given, run: documents(2 * X[:1])
    )
    found, plain = (explain(one, X[:1], range(12)) for one in (encoding, model))
    pairs = [
        (slot.margin, same.margin)
        for one, other in zip(found.labels, plain.labels, strict=True)
        for slot in one.slots
        for same in other.slots
        if slot.slot == same.slot
    ]
    assert pairs
    for twice, once in pairs:
        assert twice.total - twice.bias == pytest.approx(2 * (once.total - once.bias))


@pytest.mark.timed
def test_only_weights_of_the_document_are_looked_up():
    """A model with many features is explained as quickly as one with few."""
    rng = np.random.default_rng(0)
    starts = np.arange(0, 20 * 400 + 1, 20)
    columns = rng.integers(100_000, size=8000)
    X = sp.csr_array((np.ones(8000), columns, starts), shape=(400, 100_000))
    Y = rng.random((400, 300)) < 0.01
    model = XRLinear(max_leaf_size=10, max_iter=2, verbose=0).fit(X, Y)
    explain(model, X[[0]])
    began = time.perf_counter()
    explain(model, X[[1]])
    assert time.perf_counter() - began < 0.1


@pytest.mark.parametrize(
    ("cluster", "slot", "features", "message"),
    [
        (99, 0, [0], "no such cluster"),
        (0, 99, [0], "no such slot"),
        (0, -1, [0], "no such slot"),
        (0, 0, [15], "no such feature"),
        (0, 0, [-1], "no such feature"),
    ],
)
def test_weights_outside_a_level_are_refused(cluster, slot, features, message):
    model, _ = small_model()
    level = model.ranker_.weights.level
    with pytest.raises(ValueError, match=message):
        level.slot_weights(cluster, slot, np.array(features, dtype=np.int32))


def test_labels_are_explained_by_name_or_number():
    X, Y = random_problem(np.random.default_rng(0), n_labels=6)
    names = [f"label {i}" for i in range(6)]
    model = XRLinear(verbose=0).fit(sp.csr_array(X), Y, label_names=names)
    by_name = explain(model, sp.csr_array(X[:1]), ["label 3", 1])
    assert [one.label for one in by_name.labels] == [3, 1]
    for wrong in ("label 3", 3):
        with pytest.raises(ValueError, match="labels must be a list of labels"):
            explain(model, sp.csr_array(X[:1]), wrong)
    for wrong in ("label 9", 6, -1, 1.5, None, True):
        with pytest.raises(ValueError, match="label"):
            explain(model, sp.csr_array(X[:1]), [wrong])
