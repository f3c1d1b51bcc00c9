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
AMBIGUOUS = 0.5  # how often a text carries one of its topic's ambiguous labels
STRAY = 0.3  # how often a text closes with a word of another topic


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
    for _ in range(n_texts):
        name = dice.choice(list(topics()))
        topic = topics()[name]
        clues = {label: topic.labels[label] for label in dice.sample(list(topic.labels), 2)}
        senses = {}
        if dice.random() < AMBIGUOUS:
            label = dice.choice(list(topic.ambiguous))
            clues[label] = topic.ambiguous[label]
            senses[label] = name
        corpus.texts.append(_compose(topic, clues, dice))
        corpus.labels.append(list(clues))
        corpus.senses.append(senses)
    return corpus


def _compose(topic: Topic, clues: dict[str, tuple[str, ...]], dice: random.Random) -> str:
    words = dice.sample(topic.words, 3)
    for label, label_words in clues.items():
        words += dice.sample(label_words, 2)
        if dice.random() < NAMED:
            words.append(label)
    dice.shuffle(words)
    sentences = [dice.choice(OPENINGS).format(*words[:3])]
    for first in range(3, len(words) - 1, 2):
        sentences.append(dice.choice(MIDDLES).format(*words[first : first + 2]))
    if len(words) % 2 == 0:
        sentences.append(dice.choice(CLOSINGS).format(words[-1]))
    if dice.random() < STRAY:
        elsewhere = dice.choice(list(topics().values()))
        sentences.append(dice.choice(CLOSINGS).format(dice.choice(elsewhere.words)))
    return " ".join(sentences)


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
