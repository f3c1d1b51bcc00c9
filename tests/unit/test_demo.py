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
    NO_SLOT,
    DemoResult,
    _accuracy,
    _agreement,
    _chance,
    _Judged,
    _senses_of_slots,
    run_demo,
)


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


def test_two_clusters_a_label_find_more_than_one(result):
    plain, disentangled = result.accuracy["plain"], result.accuracy["disentangled"]
    assert disentangled["P@3"] > plain["P@3"]
    assert disentangled["P@5"] > plain["P@5"]
    assert disentangled["ambiguous@5"] > plain["ambiguous@5"]


def test_slots_agree_with_the_true_senses_better_than_chance(result):
    assert result.agreement > result.chance + 10


def test_the_agreement_is_how_often_the_best_slot_stands_for_the_true_sense():
    learned = {
        0: Counter({"war": 5, "fish": 1}),
        1: Counter({"fish": 3}),
    }
    judged = [
        _Judged("tank", "war", 0),
        _Judged("tank", "war", 0),
        _Judged("tank", "fish", 0),
        _Judged("tank", "fish", 1),
        _Judged("tank", "war", 1),
        _Judged("tank", "fish", NO_SLOT),
        _Judged("bank", "fish", 1),
        _Judged("bank", "war", 7),  # a slot that no training text had
        _Judged("bank", "fish", 1),
    ]
    assert _agreement(judged, learned) == pytest.approx(500 / 9)
    assert _agreement(judged[:6], learned) == 50
    assert _agreement(judged[6:], learned) == pytest.approx(200 / 3)
    assert _chance(judged) == pytest.approx(100 * (3 + 2) / 9)


def test_the_agreement_is_the_mean_over_all_ambiguous_labels(result):
    assert set(result.agreement_by_label) == set(AMBIGUOUS_LABELS)
    n_texts = Counter(
        label for senses in make_corpus(result.n_test_texts, seed=1).senses for label in senses
    )
    assert sum(n_texts.values()) == result.n_judged
    weighted = sum(n * result.agreement_by_label[label] for label, n in n_texts.items())
    assert result.agreement == pytest.approx(weighted / result.n_judged)


def test_three_ambiguous_labels_are_shown_with_two_senses_each(result):
    assert len(result.shown) == 3
    for label, senses in result.shown.items():
        assert label in AMBIGUOUS_LABELS
        assert len(senses) == 2


def test_shown_are_the_labels_that_the_slots_tell_apart_best(result):
    shown = [result.agreement_by_label[label] for label in result.shown]
    best = sorted(result.agreement_by_label.values(), reverse=True)
    assert shown == best[:3] != best[-3:]


def test_a_shown_sense_has_the_true_senses_of_all_training_texts_of_its_slot(result):
    training = make_corpus(result.n_training_texts, seed=0)
    for label, senses in result.shown.items():
        n_texts = Counter(truth[label] for truth in training.senses if label in truth)
        counts = [truths for _, truths in senses]
        assert all(counts)
        assert sum(counts, Counter()) <= n_texts
        assert sum(sum(one.values()) for one in counts) > 0.8 * sum(n_texts.values())


def test_a_text_that_reaches_no_slot_says_nothing_of_any():
    judged = [_Judged("tank", "war", 0), _Judged("tank", "fish", NO_SLOT)]
    assert _senses_of_slots(judged) == {0: Counter({"war": 1})}


def test_only_ambiguous_labels_count_for_how_many_of_them_are_found():
    model = SimpleNamespace(predict_top_k=lambda X, k: (np.array([[0, 1, -1, -1, -1]]), None))
    Y = sp.csr_array(np.array([[1, 1, 1, 1]], dtype=np.float32))
    for ambiguous, found in (([1, 0, 0, 0], 100), ([0, 0, 1, 1], 0), ([0, 1, 0, 1], 50)):
        figures = _accuracy(model, None, Y, np.array(ambiguous, dtype=bool))
        assert figures["ambiguous@5"] == pytest.approx(found)


def test_the_model_to_serve_is_the_disentangled_one_of_the_same_texts(monkeypatch):
    asked = []

    def few_texts(n_texts, seed):
        asked.append((n_texts, seed))
        return make_corpus(60, seed)

    monkeypatch.setattr(text_model, "make_corpus", few_texts)
    model = text_model.train_text_model(seed=5, n_threads=1)
    assert asked == [(3000, 5)]
    parameters = model.classifier_.get_params()
    assert (parameters["copies"], parameters["assignment"]) == (2, "coverage")
    assert (parameters["beam_size"], parameters["random_state"]) == (2, 5)


def test_the_result_does_not_depend_on_the_number_of_threads(result):
    other = run_demo(seed=0, n_threads=1)
    assert other.accuracy == result.accuracy
    assert other.agreement_by_label == result.agreement_by_label
