"""The slots of labels: where a label is, what speaks for it there, how evenly it is divided."""

from copy import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from polyseme import XRLinear
from polyseme.backbones.protocols import SlotWeights
from polyseme.inputs.names import Names
from polyseme.senses.label_list import LabelList
from polyseme.senses.slots import (
    division_scores,
    label_name,
    label_number,
    largest_labels,
    slots_of,
    split_order,
    split_scores,
)
from polyseme.senses.words import level_words, node_words, slot_words
from tests.small_problems import clusters_of
from tests.without_weights import without_weights

# Two topics of three labels; "apple" belongs to both. Words 0-3 are about fruit, 4-7 about
# computers, word 8 is "apple".
WORDS = ["juice", "tree", "orchard", "peel", "screen", "keyboard", "mouse", "chip", "apple"]
LABELS = ["pear", "plum", "cherry", "apple", "laptop", "server", "phone"]


def corpus():
    """Return X and Y: forty documents about fruit, then forty about computers."""
    rng = np.random.default_rng(0)
    X, Y = np.zeros((80, 9), dtype=np.float32), np.zeros((80, 7), dtype=int)
    for i in range(80):
        fruit = i < 40
        X[i, (0 if fruit else 4) + rng.permutation(4)[:3]] = 1
        Y[i, (0 if fruit else 4) + i % 3] = 1
        if i % 2:
            X[i, 8] = Y[i, 3] = 1
    return X / np.linalg.norm(X, axis=1, keepdims=True), Y


def fitted(**parameters):
    X, Y = corpus()
    model = XRLinear(
        branching=2,
        max_leaf_size=4,
        beam_size=1,
        copies=2,
        assignment="closed_form",
        verbose=0,
        **parameters,
    )
    return model.fit(X, Y, label_names=LABELS, feature_names=WORDS), X, Y


@pytest.fixture(scope="module")
def trained():
    return fitted()


def slots(model, label, n_words=10, n_neighbours=10):
    return slots_of(model, LABELS.index(label), n_words=n_words, n_neighbours=n_neighbours)


def names(slot):
    return [LABELS[label] for label in slot.neighbours]


def test_the_slots_of_an_ambiguous_label_differ_in_neighbours(trained):
    model, _, _ = trained
    found = slots(model, "apple")
    assert len(found) == 2
    fruit, computer = sorted(found, key=lambda slot: "pear" not in names(slot))
    assert {"pear", "plum", "cherry"} <= set(names(fruit))
    assert {"laptop", "server", "phone"} <= set(names(computer))
    assert "apple" not in names(fruit) + names(computer)
    assert fruit.words[0].name == computer.words[0].name == "apple"
    for slot in found:
        assert model.clusters_.labels[slot.slot] == 3
        assert model.clusters_.cluster_of_slot[slot.slot] == slot.cluster


def test_shares_say_how_many_of_the_labels_documents_a_slot_covers(trained):
    model, _, _ = trained
    assert [slot.share for slot in slots(model, "apple")] == [0.5, 0.5]
    (pear,) = slots(model, "pear")
    assert pear.share == 1


def test_the_slot_that_covers_most_of_the_label_comes_first(trained):
    model = copy(trained[0])
    first, second = model.clusters_.slots_of(3).tolist()
    for most, least in ((first, second), (second, first)):
        model.slot_documents_ = model.slot_documents_.copy()
        model.slot_documents_[[most, least]] = 30, 10
        assert [(slot.slot, slot.share) for slot in slots(model, "apple")] == [
            (most, 0.75),
            (least, 0.25),
        ]


def test_neighbours_with_most_documents_come_first(trained):
    model = copy(trained[0])
    model.label_counts_ = np.array([5, 9, 7, 40, 1, 3, 2])
    found = sorted(slots(model, "apple"), key=lambda slot: "pear" not in names(slot))
    assert [names(slot) for slot in found] == [
        ["plum", "cherry", "pear"],
        ["server", "phone", "laptop"],
    ]
    assert largest_labels(model, found[0].cluster, 2) == [3, 1]


def test_what_is_listed_is_bounded_and_the_strongest_comes_first(trained):
    model, _, _ = trained
    for slot in slots(model, "apple", n_words=2, n_neighbours=1):
        assert len(slot.words) <= 2
        assert len(slot.neighbours) == 1
        weights = [word.weight for word in slot.words]
        assert weights == sorted(weights, reverse=True)
        assert min(weights) > 0
        features, values, _ = model.ranker_.weights_of(slot.slot)
        best = features[values.argmax()]
        assert slot.words[0] == (best, WORDS[best], pytest.approx(values.max()))


def test_numbers_stand_for_names_that_a_model_does_not_have():
    X, Y = corpus()
    model = XRLinear(verbose=0).fit(X, Y)
    (slot, *_) = slots_of(model, 3, n_words=3, n_neighbours=3)
    assert all(word.name == word.feature for word in slot.words)
    assert label_number(model, "3") == label_name(model, 3) == 3


def test_unknown_labels_are_refused_with_a_sentence(trained):
    model, X, Y = trained
    with pytest.raises(ValueError, match="aple"):
        label_number(model, "aple")
    with pytest.raises(ValueError, match="numbered from 0 to 6"):
        label_number(model, 7)
    nameless = XRLinear(verbose=0).fit(X, Y)
    with pytest.raises(ValueError, match="no label names"):
        label_number(nameless, "apple")


def test_the_label_that_is_divided_most_is_the_ambiguous_one(trained):
    model, _, _ = trained
    scores = division_scores(model)
    assert split_order(model, scores).tolist() == [3]
    assert scores[3] == pytest.approx(0.25)
    assert split_order(model, scores, min_documents=41).tolist() == []


def test_split_scores_are_those_found_by_hand():
    model = SimpleNamespace(
        clusters_=clusters_of([0, 1, 2], [0, 1], [0], n_labels=4),
        slot_documents_=np.array([6, 5, 7, 6, 0, 0]),
    )
    # Label 0: visits 6, 6, 0. Label 1: 5 and 0. Label 2: one slot. Label 3: none.
    np.testing.assert_allclose(split_scores(model), [0.5, 0, 0, 0])


def test_labels_that_are_divided_alike_stand_by_frequency_and_rare_ones_are_left_out():
    model = SimpleNamespace(
        clusters_=SimpleNamespace(copies=np.array([2, 2, 2, 3, 2, 2, 1])),
        label_counts_=np.array([10, 30, 9, 20, 50, 20, 90]),
    )
    scores = np.array([0.2, 0.2, 0.5, 0.3, 0.0, 0.2, 0.0])
    assert split_order(model, scores).tolist() == [3, 1, 5, 0, 4]  # 6 is in one cluster


def with_weights(*slots):
    """Return a model of one label, with one cluster for each of its slots."""
    weights = [np.array(slot, dtype=np.float32) for slot in slots]

    def weights_of(slot):
        features = np.flatnonzero(weights[slot]).astype(np.int32)
        return SlotWeights(features, weights[slot][features], 0.0)

    ranker = SimpleNamespace(weights_of=weights_of, all_weights=lambda: None, n_weights=lambda: 0)
    return SimpleNamespace(
        clusters_=clusters_of(*[[0] for _ in slots], n_labels=1), ranker_=ranker
    )


def test_a_model_without_weights_has_slots_without_words(trained):
    model, _, _ = trained
    bare = without_weights(copy(model))
    with_words, without = (slots(one, "apple") for one in (model, bare))
    assert without == [replace(slot, words=[]) for slot in with_words]
    np.testing.assert_array_equal(division_scores(bare), division_scores(model))
    n_nodes = model.tree_.n_nodes(1)
    assert level_words(bare, 1, 5) == [[]] * n_nodes
    assert all(level_words(model, 1, 5))
    assert node_words(bare, 1, 0, 5) == []
    assert node_words(model, 1, 0, 5) == level_words(model, 1, 5)[0]


def test_words_that_speak_against_a_slot_take_no_place_from_those_that_speak_for_it():
    model = with_weights([-5, 3, -4, 2])
    model.feature_names_ = None
    assert slot_words(model, 0, 2) == [(1, 1, 3.0), (3, 3, 2.0)]
    assert slot_words(model, 0, 4) == slot_words(model, 0, 2)


def test_labels_are_found_whole_names_first_then_words_then_beginnings(trained):
    model = copy(trained[0])
    names = ["a bat", "combat", "bath", "bat", "other", "batman", "tub"]
    model.label_names_ = Names.from_list(names)
    model.label_counts_ = np.array([9, 8, 2, 1, 7, 3, 5])
    n_found, found = LabelList(model).find("bat")
    assert n_found == 5
    assert [one.name for one in found] == ["bat", "a bat", "batman", "bath", "combat"]


def test_a_listed_label_says_in_how_many_clusters_it_is(trained):
    labels = LabelList(trained[0])
    copies = trained[0].clusters_.copies.tolist()
    assert len(set(copies)) > 1
    assert [labels.summary(label).n_clusters for label in range(7)] == copies
