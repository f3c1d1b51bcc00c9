"""The demo's texts: composed from word lists, so that the true sense of each is known."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

__all__ = ["AMBIGUOUS_LABELS", "Corpus", "make_corpus"]

OPENINGS = (
    "Notes on {}: we look at {} and at {}.",
    "Today it is all about {}, {} and {}.",
    "They talked for hours about {}, then about {} and {}.",
    "A short guide to {} with a word on {} and {}.",
    "Nobody expected {} to matter, but {} and {} did.",
    "The old hands remember {}, {} and {}.",
)
MIDDLES = (
    "Without {} there is no {}.",
    "First comes {}, then {}.",
    "You will need {} and a little {}.",
    "Some swear by {}, others by {}.",
    "Look for {} near {}.",
    "It began with {} and ended with {}.",
)
CLOSINGS = (
    "More about {} next week.",
    "Readers sent us their thoughts on {}.",
    "The rest is {}.",
    "Do not forget {}.",
)

NAMED = 0.4  # how often a text names its label outright
AMBIGUOUS = 0.5  # how often a text carries an ambiguous label
MAX_STRAY_NEAR = 2  # words of labels that a text does not have, of its own topic
MAX_STRAY_FAR = 3  # and of any topic: without them the task would be too easy


@dataclass(frozen=True)
class Topic:
    """Words that any text about the topic may use, and the words of each of its labels."""

    words: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]
    ambiguous: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Corpus:
    """Short texts with their labels.

    Attributes
    ----------
    texts : list of str
    labels : list of list of str
        The labels of each text.
    senses : list of dict
        For each text, the true sense (a topic) of each ambiguous label that it carries.
    """

    texts: list[str]
    labels: list[list[str]]
    senses: list[dict[str, str]]

    def __len__(self) -> int:
        return len(self.texts)


def make_corpus(n_texts: int, seed: int = 0) -> Corpus:
    """Compose `n_texts` texts; the same seed gives the same texts."""
    dice = random.Random(seed)
    corpus = Corpus([], [], [])
    all_senses = [(name, label) for name, topic in topics().items() for label in topic.ambiguous]
    for _ in range(n_texts):
        senses = {}
        name = dice.choice(list(topics()))
        if dice.random() < AMBIGUOUS:
            name, ambiguous = dice.choice(all_senses)  # so that each sense is as frequent
            senses[ambiguous] = name
        topic = topics()[name]
        clues = {label: topic.labels[label] for label in dice.sample(list(topic.labels), 2)}
        clues.update({label: topic.ambiguous[label] for label in senses})
        corpus.texts.append(_compose(topic, clues, dice))
        corpus.labels.append(list(clues))
        corpus.senses.append(senses)
    return corpus


def _compose(topic: Topic, clues: dict[str, tuple[str, ...]], dice: random.Random) -> str:
    words = dice.sample(topic.words, 3)
    for label, label_words in clues.items():
        words.append(dice.choice(label_words))
        if dice.random() < NAMED:
            words.append(label)
    words += [_stray_word(topic, dice) for _ in range(dice.randint(0, MAX_STRAY_NEAR))]
    for _ in range(dice.randint(0, MAX_STRAY_FAR)):
        words.append(_stray_word(dice.choice(list(topics().values())), dice))
    dice.shuffle(words)

    sentences = [dice.choice(OPENINGS).format(*words[:3])]
    rest = words[3:]
    while len(rest) > 1:
        sentences.append(dice.choice(MIDDLES).format(*rest[:2]))
        rest = rest[2:]
    sentences += [dice.choice(CLOSINGS).format(word) for word in rest]
    return " ".join(sentences)


def _stray_word(topic: Topic, dice: random.Random) -> str:
    """Return a word that gives away a label which the text does not have."""
    return dice.choice(dice.choice(list(topic.labels.values())))


@cache
def topics() -> dict[str, Topic]:
    """Return the topics of the word lists by name."""
    found: dict[str, Topic] = {}
    for line in _lines("topics.txt"):
        name, words = _name_and_words(line.removeprefix("== "))
        if line.startswith("== "):
            topic = found[name] = Topic(words, {}, {})
        else:
            topic.labels[name] = words
    for line in _lines("ambiguous.txt"):
        label, *senses = (part.strip() for part in line.split("|"))
        for sense in senses:
            name, words = _name_and_words(sense)
            found[name].ambiguous[label] = words
    return found


def _lines(name: str) -> list[str]:
    text = files("polyseme.demo").joinpath(name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def _name_and_words(line: str) -> tuple[str, tuple[str, ...]]:
    name, words = line.split(":")
    return name.strip(), tuple(word.strip() for word in words.split(","))


AMBIGUOUS_LABELS = tuple(line.split("|")[0].strip() for line in _lines("ambiguous.txt"))
