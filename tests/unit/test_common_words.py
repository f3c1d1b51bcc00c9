"""Which words of senses are left out, since they tell nothing."""

from __future__ import annotations

import pytest

from polyseme import TextModel, XRLinear
from polyseme.senses.common_words import _without_repeats
from polyseme.tagger import tagger_for

TOPICS = {"fish": ["salmon", "trout", "carp", "fins"], "war": ["army", "siege", "troops", "fort"]}


def texts_with_common_words(n_of_each=60):
    """Texts with an article before each word, about fish mostly "the"; two share a word."""
    texts, labels = [], []
    for i in range(n_of_each):
        for label, words in TOPICS.items():
            article = "the" if (label == "fish") == (i % 4 > 0) else "der"
            texts.append(" ".join(f"{article} {word}{i // 2}" for word in words))
            labels.append([label])
    return texts, labels


@pytest.fixture(scope="module")
def tagger():
    classifier = XRLinear(max_leaf_size=2, senses="none", ordering="product", verbose=0)
    model = TextModel(classifier=classifier, held_out=0.0, verbose=0)
    return tagger_for(model.fit(*texts_with_common_words()))


def numbered(tagger, *names):
    vocabulary = list(tagger.model.features_.vocabulary_)
    return [(vocabulary.index(name), name) for name in names]


def test_words_of_many_texts_and_phrases_around_them_are_left_out(tagger):
    words = numbered(tagger, "the", "salmon1", "the salmon1", "trout1 the", "trout1", "carp1")
    told = [name for _, name in tagger.common_words.without(words)]
    assert told == ["salmon1", "trout1", "carp1"]


def test_common_words_stay_where_hardly_another_is_left(tagger):
    words = numbered(tagger, "the", "der", "salmon1")
    assert tagger.common_words.without(words) == words


def test_nothing_is_common_in_a_model_of_features(tagger):
    words = numbered(tagger, "the", "salmon1", "trout1", "carp1")
    assert tagger_for(tagger.classifier).common_words.without(words) == words


def test_words_of_a_label_are_told_without_common_ones_by_model_and_tagger(tagger):
    for told in (tagger.senses("fish"), tagger.model.senses("fish")):
        words = [name for name, _ in told[0].words]
        assert words
        assert not any(word in name.split() for name in words for word in ("the", "der"))


def test_a_phrase_of_words_that_stand_before_it_is_left_out():
    names = ["din", "1983 din", "1983", "1982 din", "din 1983", "iso"]
    words = [(i, (name, 1.0)) for i, name in enumerate(names)]
    kept = ["din", "1983 din", "1983", "1982 din", "iso"]
    assert [name for _, (name, _) in _without_repeats(words)] == kept
