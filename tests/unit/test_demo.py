"""The demo: texts whose truth is known, and figures that are held against it."""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from polyseme.demo import text_model
from polyseme.demo.corpus import AMBIGUOUS_LABELS, _compose, make_corpus, topics
from polyseme.demo.experiment import (
    NARROW,
    DemoResult,
    _accuracy,
    _constant,
    _Named,
    _one_for_one,
    _right,
    run_demo,
)
from polyseme.estimators.xr_linear import XRLinear


@pytest.fixture(scope="module")
def result() -> DemoResult:
    return run_demo(seed=0, n_threads=2)


def test_the_same_seed_gives_the_same_texts():
    assert make_corpus(50, seed=3) == make_corpus(50, seed=3)
    assert make_corpus(50, seed=3).texts != make_corpus(50, seed=4).texts


def test_at_least_twelve_labels_have_two_senses_in_different_topics():
    assert len(set(AMBIGUOUS_LABELS)) >= 12
    for label in AMBIGUOUS_LABELS:
        homes = [name for name, topic in topics().items() if label in topic.ambiguous]
        assert len(homes) == 2


def test_an_ordinary_label_belongs_to_one_topic():
    ordinary = Counter(label for topic in topics().values() for label in topic.labels)
    assert len(ordinary) >= 200
    assert ordinary.most_common(1)[0][1] == 1
    assert not ordinary.keys() & set(AMBIGUOUS_LABELS)


def test_the_words_of_the_two_senses_of_a_label_differ():
    for label in AMBIGUOUS_LABELS:
        first, second = (
            set(topic.ambiguous[label]) for topic in topics().values() if label in topic.ambiguous
        )
        assert not first & second


def test_the_true_sense_is_known_for_every_ambiguous_label_of_a_text():
    corpus = make_corpus(300, seed=0)
    for labels, senses in zip(corpus.labels, corpus.senses, strict=True):
        assert set(senses) == set(labels) & set(AMBIGUOUS_LABELS)
        for label, sense in senses.items():
            assert label in topics()[sense].ambiguous


def test_a_text_has_a_word_of_each_of_its_labels():
    topic = topics()["war"] if "war" in topics() else next(iter(topics().values()))
    clues = dict(list(topic.labels.items())[:2])
    for seed in range(30):
        text = _compose(topic, clues, random.Random(seed))
        assert all(any(word in text for word in words) for words in clues.values())


def test_training_and_test_texts_do_not_overlap():
    assert not set(make_corpus(1000, seed=0).texts) & set(make_corpus(300, seed=1).texts)


@pytest.mark.slow
def test_two_clusters_a_label_find_more_than_one(result):
    plain, disentangled = result.accuracy["plain"], result.accuracy["disentangled"]
    assert disentangled["P@3"] > plain["P@3"]
    assert disentangled["P@5"] > plain["P@5"]
    assert disentangled["ambiguous@5"] > plain["ambiguous@5"]


@pytest.mark.slow
def test_the_ambiguous_labels_are_found_and_hardly_any_others(result):
    assert set(result.found) <= set(AMBIGUOUS_LABELS)
    assert len(result.found) >= 14
    assert not set(result.wrongly_shown) & set(AMBIGUOUS_LABELS)
    assert len(result.wrongly_shown) <= 3
    assert len(AMBIGUOUS_LABELS) < result.n_judged_labels <= result.n_labels


@pytest.mark.slow
def test_the_right_sense_is_named_far_more_often_than_by_a_constant_answer(result):
    assert result.right > 90
    assert result.constant < 65


@pytest.mark.slow
def test_all_ambiguous_labels_of_test_texts_count_for_the_right_sense(result):
    assert set(result.right_by_label) == set(AMBIGUOUS_LABELS)
    n_texts = Counter(
        label for senses in make_corpus(result.n_test_texts, seed=1).senses for label in senses
    )
    assert sum(n_texts.values()) == result.n_named
    weighted = sum(n * result.right_by_label[label] for label, n in n_texts.items())
    assert result.right == pytest.approx(weighted / result.n_named)


def test_a_sense_is_right_if_it_stands_for_the_true_one():
    truths = {
        "tank": [Counter(war=5, fish=1), Counter(fish=3)],
        "bank": [Counter(money=4, rivers=4)],
    }
    named = [
        _Named("tank", "war", 0),
        _Named("tank", "war", 0),
        _Named("tank", "fish", 0),
        _Named("tank", "fish", 1),
        _Named("tank", "war", 1),
        _Named("bank", "money", None),  # not shown as ambiguous
        _Named("bank", "rivers", None),
        _Named("bank", "rivers", None),
    ]
    assert _right(named[:5], truths) == 60
    assert _right(named[5:], truths) == 0
    assert _right(named, truths) == pytest.approx(300 / 8)
    assert _constant(named) == pytest.approx(100 * (3 + 2) / 8)


def test_senses_stand_for_true_ones_one_for_one():
    split_too_far = [Counter(war=5), Counter(war=3, fish=2), Counter(war=1)]
    assert _one_for_one(split_too_far) == {0: "war", 1: "fish"}
    assert _one_for_one([Counter()]) == {}


@pytest.mark.slow
def test_shown_are_three_labels_with_named_senses_that_truly_differ(result):
    assert len(result.shown) == 3
    for label, found in result.shown.items():
        assert label in AMBIGUOUS_LABELS
        assert len(found) >= 2
        assert len({sense.name for sense, _ in found}) == len(found)
        assert all(sense.name for sense, _ in found)
        assert len({truths.most_common(1)[0][0] for _, truths in found}) == 2


@pytest.mark.slow
def test_a_shown_sense_has_the_true_senses_of_all_its_training_texts(result):
    training = make_corpus(result.n_training_texts, seed=0)
    for label, found in result.shown.items():
        of_label = Counter(truth[label] for truth in training.senses if label in truth)
        assert sum((truths for _, truths in found), Counter()) == of_label


def test_only_ambiguous_labels_count_for_how_many_of_them_are_found():
    model = SimpleNamespace(predict_top_k=lambda X, k: (np.array([[0, 1, -1, -1, -1]]), None))
    Y = sp.csr_array(np.array([[1, 1, 1, 1]], dtype=np.float32))
    for ambiguous, found in (([1, 0, 0, 0], 100), ([0, 0, 1, 1], 0), ([0, 1, 0, 1], 50)):
        figures = _accuracy(model, None, Y, np.array(ambiguous, dtype=bool))
        assert figures["ambiguous@5"] == pytest.approx(found)


def test_the_model_to_look_at_and_to_serve_has_default_settings_but_for_its_copies(monkeypatch):
    asked = []

    def few_texts(n_texts, seed):
        asked.append((n_texts, seed))
        return make_corpus(60, seed)

    monkeypatch.setattr(text_model, "make_corpus", few_texts)
    model = text_model.train_text_model(seed=5, n_threads=1)
    assert asked == [(3000, 5)]
    as_given = XRLinear(copies=2, random_state=5, n_jobs=1, verbose=0)
    assert model.classifier_.get_params() == as_given.get_params()


@pytest.mark.slow
def test_only_the_comparison_of_clusters_has_settings_of_its_own(result):
    settings = result.model.classifier_.get_params()
    assert settings["beam_size"] != NARROW["beam_size"]
    assert settings["senses"] == "induce"


@pytest.mark.slow
def test_the_result_does_not_depend_on_the_number_of_threads(result):
    other = run_demo(seed=0, n_threads=1)
    assert other.accuracy == result.accuracy
    assert other.right_by_label == result.right_by_label
    assert other.shown == result.shown
