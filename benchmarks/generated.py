"""Documents of any number with Zipf labels and rows like those of TF-IDF text.

Labels come in topics. A document takes labels of which many share a topic, and its words are
drawn from its labels' own words, from its topics' words, and from the language at large.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, save_npz, vstack

from benchmarks.datasets import FIRST_ROW

Array = np.ndarray[Any, Any]

LABELS_PER_TOPIC = 64
WORDS_PER_LABEL = 24
WORDS_PER_TOPIC = 120
CHUNK = 20_000
# Every label shall occur, but where labels outnumber documents most places stay with Zipf.
MAX_FORCED_SHARE = 0.4


@dataclass(frozen=True)
class Shape:
    """How large the data shall be."""

    n_labels: int = 50_000
    n_documents: int = 100_000
    features_per_row: int = 100
    labels_per_document: int = 5
    n_features: int = 200_000
    n_test_documents: int = 5_000


def draw_ids(rng: np.random.Generator, n: int, size: Any, exponent: float) -> Array:
    """Draw ids in [0, n) with probability near (id + 1) ** -exponent, by the inverse integral."""
    rest = 1.0 - exponent
    places = (((n + 1.0) ** rest - 1.0) * rng.random(size) + 1.0) ** (1.0 / rest) - 1.0
    ids: Array = np.minimum(places.astype(np.int32), n - 1)
    return ids


class Language:
    """Which words belong to which label and topic."""

    def __init__(self, shape: Shape, rng: np.random.Generator) -> None:
        self.shape = shape
        n_topics = -(-shape.n_labels // LABELS_PER_TOPIC)
        # Common labels spread over topics, so the id of a label says nothing of its topic.
        self.place = rng.permutation(shape.n_labels).astype(np.int32)
        # In a topic the common labels come first, and common labels have low ids.
        by_topic = np.lexsort((np.arange(shape.n_labels), self.place // LABELS_PER_TOPIC))
        self.label_at = by_topic.astype(np.int32)
        words = shape.n_features
        self.label_words = draw_ids(rng, words, (shape.n_labels, WORDS_PER_LABEL), 0.6)
        self.topic_words = draw_ids(rng, words, (n_topics, WORDS_PER_TOPIC), 0.7)
        # Rare words weigh more, as in TF-IDF.
        self.rarity = np.log1p(np.arange(1, words + 1)).astype(np.float32)

    def topic_of(self, labels: Array) -> Array:
        """Give the topic of each label."""
        return self.place[labels] // LABELS_PER_TOPIC

    def draw_labels(self, n: int, rng: np.random.Generator, once: Array) -> Array:
        """Labels of n documents, shape (n, labels_per_document); `once` occur as room allows."""
        shape = self.shape
        size = (n, shape.labels_per_document)
        labels = draw_ids(rng, shape.n_labels, size, 0.9)
        first = self.topic_of(labels[:, :1]) * LABELS_PER_TOPIC
        neighbour = first + draw_ids(rng, LABELS_PER_TOPIC, size, 0.9)
        neighbour = self.label_at[np.minimum(neighbour, shape.n_labels - 1)]
        related = rng.random(size) < 0.6
        related[:, 0] = False
        labels = np.where(related, neighbour, labels)
        n_forced = min(len(once), int(MAX_FORCED_SHARE * labels.size))
        places = rng.choice(labels.size, size=n_forced, replace=False)
        labels.flat[places] = once[: len(places)]
        return labels

    def draw_rows(self, labels: Array, rng: np.random.Generator) -> csr_matrix:
        """TF-IDF rows of unit length for documents with these labels."""
        n = len(labels)
        # Repeated words are merged, so a few more are drawn than shall remain.
        mean = self.shape.features_per_row * 1.15
        lengths = rng.integers(int(0.3 * mean), int(1.7 * mean) + 1, n)
        n_draws = int(1.7 * mean)
        n_of_labels, n_of_topics = int(0.2 * n_draws), int(0.25 * n_draws)

        def any_label(n_words: int) -> Array:
            pick = rng.integers(0, labels.shape[1], (n, n_words))
            return np.take_along_axis(labels, pick, axis=1)

        of_labels = self.label_words[
            any_label(n_of_labels), rng.integers(0, WORDS_PER_LABEL, (n, n_of_labels))
        ]
        of_topics = self.topic_words[
            self.topic_of(any_label(n_of_topics)),
            rng.integers(0, WORDS_PER_TOPIC, (n, n_of_topics)),
        ]
        n_others = n_draws - n_of_labels - n_of_topics
        others = draw_ids(rng, self.shape.n_features, (n, n_others), 0.95)
        words = np.concatenate([of_labels, of_topics, others], axis=1)
        # In mixed order, so that a short row is a part of a long one.
        words = words[:, rng.permutation(n_draws)]
        words = words[np.arange(n_draws) < lengths[:, None]]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        counts = np.ones(words.size, dtype=np.float32)
        X = csr_matrix((counts, words, indptr), shape=(n, self.shape.n_features))
        X.sum_duplicates()
        X.data = (1 + np.log(X.data)) * self.rarity[X.indices]
        norms = np.sqrt(X.multiply(X).sum(axis=1)).A1.astype(np.float32)
        X.data /= np.repeat(norms, np.diff(X.indptr))
        return X


def write_data(shape: Shape, folder: Path, seed: int = 0) -> None:
    """Write a folder with the four matrices and the first row."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    language = Language(shape, rng)
    for part, n in (("trn", shape.n_documents), ("tst", shape.n_test_documents)):
        once = (
            rng.permutation(shape.n_labels).astype(np.int32)
            if part == "trn"
            else rng.permutation(0)
        )
        Xs, Ys = [], []
        for start in range(0, n, CHUNK):
            size = min(CHUNK, n - start)
            a_share = once[start * len(once) // n : (start + size) * len(once) // n]
            labels = language.draw_labels(size, rng, a_share)
            Xs.append(language.draw_rows(labels, rng))
            Ys.append(label_matrix(labels, shape.n_labels))
        X, Y = vstack(Xs, format="csr"), vstack(Ys, format="csr")
        if part == "tst":
            save_npz(folder / f"{FIRST_ROW}.npz", X[:1], compressed=False)
        save_npz(folder / f"X.{part}.npz", X, compressed=False)
        save_npz(folder / f"Y.{part}.npz", Y, compressed=False)


def label_matrix(labels: Array, n_labels: int) -> csr_matrix:
    """0/1 matrix of labels given as one row of ids a document."""
    n, per_document = labels.shape
    indptr = np.arange(0, labels.size + 1, per_document)
    ones = np.ones(labels.size, dtype=np.float32)
    Y = csr_matrix((ones, labels.ravel(), indptr), shape=(n, n_labels))
    Y.sum_duplicates()
    Y.data[:] = 1
    return Y
