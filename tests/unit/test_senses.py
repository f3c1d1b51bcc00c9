from copy import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from polyseme import XRLinear
from polyseme.backbones.protocols import SlotWeights
from polyseme.senses.describe import (
    label_number,
    most_split,
    senses_of,
    slot_similarity,
    slots_differ,
    split_order,
    split_scores,
)
from polyseme.senses.label_list import LabelList
from polyseme.senses.words import level_words, node_words, slot_words
from tests.small_problems import clusters_of, sparse
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


def test_the_senses_of_an_ambiguous_label_differ_in_words_neighbours_and_documents(trained):
    model, X, Y = trained
    senses = senses_of(model, "apple", X, Y, n_documents=30)
    assert len(senses) == 2
    fruit, computer = sorted(senses, key=lambda sense: "pear" not in sense.neighbours)
    assert {"pear", "plum", "cherry"} <= set(fruit.neighbours)
    assert {"laptop", "server", "phone"} <= set(computer.neighbours)
    assert "apple" not in fruit.neighbours + computer.neighbours
    assert sorted(fruit.documents) == [i for i in range(40) if i % 2]
    assert sorted(computer.documents) == [i for i in range(40, 80) if i % 2]
    assert fruit.strongest[0][0] == computer.strongest[0][0] == "apple"


def test_shares_say_how_many_of_the_labels_documents_a_sense_covers(trained):
    model, _, _ = trained
    senses = senses_of(model, "apple")
    assert [sense.share for sense in senses] == [0.5, 0.5]
    assert [sense.documents for sense in senses] == [[], []]
    (pear,) = senses_of(model, "pear")
    assert pear.share == 1


def test_the_sense_that_covers_most_of_the_label_comes_first(trained):
    model = copy(trained[0])
    first, second = model.clusters_.slots_of(3).tolist()
    for most, least in ((first, second), (second, first)):
        model.slot_documents_ = model.slot_documents_.copy()
        model.slot_documents_[[most, least]] = 30, 10
        assert [(sense.slot, sense.share) for sense in senses_of(model, "apple")] == [
            (most, 0.75),
            (least, 0.25),
        ]


def test_neighbours_with_most_documents_come_first(trained):
    model = copy(trained[0])
    model.label_counts_ = np.array([5, 9, 7, 40, 1, 3, 2])
    found = sorted(senses_of(model, "apple"), key=lambda sense: "pear" not in sense.neighbours)
    assert [sense.neighbours for sense in found] == [
        ["plum", "cherry", "pear"],
        ["server", "phone", "laptop"],
    ]


def test_what_is_listed_is_bounded_and_the_strongest_comes_first(trained):
    model, X, Y = trained
    for sense in senses_of(model, "apple", X, Y, n_features=2, n_neighbours=1, n_documents=3):
        assert len(sense.strongest) <= 2
        assert len(sense.neighbours) == 1
        assert len(sense.documents) == 3
        weights = [weight for _, weight in sense.strongest]
        assert weights == sorted(weights, reverse=True)
        assert min(weights) > 0
        features, values, _ = model.ranker_.weights_of(sense.slot)
        best = features[values.argmax()]
        assert sense.strongest[0] == (WORDS[best], pytest.approx(values.max()))


def test_the_documents_of_a_sense_are_the_surest_first(trained):
    model, X, Y = trained
    matched = copy(model).set_params(beam_size=10).match(X).to_scipy().toarray()
    n_told_apart = 0
    for label in LABELS:
        for sense in senses_of(model, label, X, Y, n_documents=40):
            scores = matched[sense.documents, sense.cluster]
            assert (np.diff(scores) <= 0).all()
            n_told_apart += len(set(scores.tolist())) > 1
    assert n_told_apart > 3


def test_documents_go_to_their_best_sense_even_if_all_scores_are_negative():
    model, X, Y = fitted(activation="none")
    scores = np.where(np.arange(80)[:, None] < 40, [-1.0, -2.0], [-2.0, -1.0])
    by_topic = SimpleNamespace(
        match=lambda documents, beam_size, run: sparse(scores[Y[:, 3] == 1])
    )
    model.matcher_ = by_topic
    senses = senses_of(model, "apple", X, Y, n_documents=40)
    for sense in senses:
        assert [i < 40 for i in sense.documents] == [sense.cluster == 0] * 20


def test_numbers_stand_for_names_that_a_model_does_not_have():
    X, Y = corpus()
    model = XRLinear(verbose=0).fit(X, Y)
    (sense, *_) = senses_of(model, 3)
    assert all(isinstance(feature, int) for feature, _ in sense.strongest)
    assert all(isinstance(label, int) for label in sense.neighbours)
    assert label_number(model, "3") == 3


def test_unknown_labels_are_refused_with_a_sentence(trained):
    model, X, Y = trained
    with pytest.raises(ValueError, match="aple"):
        senses_of(model, "aple")
    with pytest.raises(ValueError, match="numbered from 0 to 6"):
        senses_of(model, 7)
    nameless = XRLinear(verbose=0).fit(X, Y)
    with pytest.raises(ValueError, match="no label names"):
        senses_of(nameless, "apple")


def test_the_most_split_label_is_the_ambiguous_one(trained):
    model, _, _ = trained
    assert most_split(model) == [("apple", pytest.approx(0.25))]
    assert most_split(model, min_documents=41) == []


def test_split_scores_are_those_found_by_hand():
    model = SimpleNamespace(
        clusters_=clusters_of([0, 1, 2], [0, 1], [0], n_labels=4),
        slot_documents_=np.array([6, 5, 7, 6, 0, 0]),
    )
    # Label 0: visits 6, 6, 0. Label 1: 5 and 0. Label 2: one slot. Label 3: none.
    np.testing.assert_allclose(split_scores(model), [0.5, 0, 0, 0])


def test_labels_that_are_divided_alike_stand_by_frequency_and_rare_ones_are_left_out():
    model = SimpleNamespace(label_counts_=np.array([10, 30, 9, 20, 50, 20]))
    scores = np.array([0.2, 0.2, 0.5, 0.3, 0.0, 0.2])
    assert split_order(model, scores).tolist() == [3, 1, 5, 0]


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


@pytest.mark.parametrize(
    ("slots", "similarity"),
    [
        ([[1, 2, 0]], 1),
        ([[3, 4, 0], [3, 4, 0]], 1),
        ([[3, 4, 0], [4, 3, 0]], 24 / 25),
        ([[3, 4, 0], [0, 0, 2]], 0),
        ([[3, 4, 0], [3, 4, 0], [4, 0, 3]], 12 / 25),
        ([[0, 0, 0], [0, 0, 0]], 1),
        ([[3, 4, 0], [0, 0, 0]], 0),
    ],
)
def test_similarity_is_the_cosine_of_the_two_slots_least_alike(slots, similarity):
    model = with_weights(*slots)
    assert slot_similarity(model, 0) == pytest.approx(similarity)
    assert slots_differ(model, 0) == (similarity < 0.9)


def test_the_slots_of_a_label_that_was_seen_once_hardly_differ():
    X, Y = corpus()
    X = np.hstack([X, np.zeros((80, 1), dtype=np.float32)])
    Y = np.hstack([Y, np.zeros((80, 1), dtype=int)])
    X[0, 9] = Y[0, 7] = 1
    model = XRLinear(branching=2, max_leaf_size=4, beam_size=2, verbose=0).fit(X, Y)
    assert model.clusters_.copies[7] == 2
    assert not slots_differ(model, 7)


def test_a_word_that_says_all_makes_slots_alike_even_if_documents_are_divided(trained):
    model, _, _ = trained  # a known limit: "apple" alone gives its label away
    assert split_scores(model)[3] == 0.5
    assert not slots_differ(model, 3)


def test_a_model_without_weights_has_senses_without_words(trained):
    model, X, Y = trained
    bare = without_weights(copy(model))
    with_words, without = (senses_of(one, "apple", X, Y) for one in (model, bare))
    assert without == [replace(sense, strongest=[]) for sense in with_words]
    assert most_split(bare) == most_split(model)
    n_nodes = model.tree_.n_nodes(1)
    assert level_words(bare, 1, 5) == [[]] * n_nodes
    assert all(level_words(model, 1, 5))
    assert node_words(bare, 1, 0, 5) == []
    assert node_words(model, 1, 0, 5) == level_words(model, 1, 5)[0]


def test_without_weights_nothing_speaks_against_calling_slots_senses(trained):
    model, _, _ = trained
    bare = copy(model)
    bare.ranker_ = SimpleNamespace(score=model.ranker_.score)
    assert [slots_differ(bare, label) for label in range(7)] == [
        n_copies > 1 for n_copies in model.clusters_.copies
    ]
    assert slots_differ(bare, 3)
    assert slot_similarity(bare, 3) == 1


def test_words_that_speak_against_a_slot_take_no_place_from_those_that_speak_for_it():
    model = with_weights([-5, 3, -4, 2])
    model.feature_names_ = None
    assert slot_words(model, 0, 2) == [(1, 1, 3.0), (3, 3, 2.0)]
    assert slot_words(model, 0, 4) == slot_words(model, 0, 2)


def test_labels_are_found_whole_names_first_then_beginnings_then_words(trained):
    model = copy(trained[0])
    model.label_names_ = ["a bat", "combat", "bath", "bat", "other", "batman", "tub"]
    model.label_counts_ = np.array([9, 8, 2, 1, 7, 3, 5])
    n_found, found = LabelList(model).find("bat")
    assert n_found == 5
    assert [one.name for one in found] == ["bat", "batman", "bath", "a bat", "combat"]


def test_a_listed_label_says_how_many_senses_it_has_itself(trained):
    labels = LabelList(trained[0])
    copies = trained[0].clusters_.copies.tolist()
    assert len(set(copies)) > 1
    assert [labels.summary(label).n_senses for label in range(7)] == copies
