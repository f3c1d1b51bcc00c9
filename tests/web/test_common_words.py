"""Which words the server leaves out, since they tell nothing."""

from __future__ import annotations

import pytest

from polyseme import TextModel, XRLinear
from polyseme.server.catalogue import Catalogue, _without_repeats
from polyseme.server.common_words import CommonWords
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
    told = [name for _, name in CommonWords(tagger).without(words)]
    assert told == ["salmon1", "trout1", "carp1"]


def test_common_words_stay_where_hardly_another_is_left(tagger):
    words = numbered(tagger, "the", "der", "salmon1")
    assert CommonWords(tagger).without(words) == words


def test_nothing_is_common_in_a_model_of_features(tagger):
    words = numbered(tagger, "the", "salmon1", "trout1", "carp1")
    assert CommonWords(tagger_for(tagger.classifier)).without(words) == words


def test_words_of_a_label_are_told_without_common_ones(tagger):
    label = Catalogue(tagger).label(tagger.label_number("fish"))
    told = [word["name"] for word in label["words"]]
    assert told
    assert not any(word in name.split() for name in told for word in ("the", "der"))


def test_a_phrase_of_words_that_stand_before_it_is_left_out():
    names = ["din", "1983 din", "1983", "1982 din", "din 1983", "iso"]
    words = [(i, (name, 1.0)) for i, name in enumerate(names)]
    kept = ["din", "1983 din", "1983", "1982 din", "iso"]
    assert [name for _, (name, _) in _without_repeats(words)] == kept
