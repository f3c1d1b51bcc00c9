"""Small corpora whose right answer can be seen by eye."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp


@dataclass(frozen=True)
class SmallData:
    """Documents and their labels, to learn from (X, Y) and to test on.

    Attributes
    ----------
    X, X_test : csr_array of float32, shape (n_documents, n_features)
    Y, Y_test : csr_array of int8, shape (n_documents, n_labels)
    """

    X: sp.csr_array
    Y: sp.csr_array
    X_test: sp.csr_array
    Y_test: sp.csr_array


def topics(
    n_labels: int = 24, *, n_documents: int = 240, words_per_label: int = 4, seed: int = 0
) -> SmallData:
    """Every label has words of its own; a document has those of its one to three labels.

    Neighbouring labels share a word, so that similar labels exist. One word is in all documents.
    """
    rng = np.random.default_rng(seed)

    def documents(n: int) -> tuple[sp.csr_array, sp.csr_array]:
        Y = np.zeros((n, n_labels), dtype=np.int8)
        X = np.zeros((n, n_labels * words_per_label + 1), dtype=np.float32)
        X[:, -1] = 1
        for i in range(n):
            first = i % n_labels  # every label occurs
            others = rng.integers(n_labels, size=rng.integers(3))
            Y[i, [first, *others]] = 1
            for label in np.flatnonzero(Y[i]):
                own = label * words_per_label + np.arange(words_per_label + 1)
                X[i, own % (n_labels * words_per_label)] += rng.random(len(own))
        return sp.csr_array(_unit_rows(X)), sp.csr_array(Y)

    return SmallData(*documents(n_documents), *documents(n_labels * 4))


def two_senses(
    n_topics: int = 16,
    *,
    n_plain: int = 6,
    n_ambiguous: int = 2,
    n_documents: int = 2400,
    place_weight: float = 0.5,
    seed: int = 0,
) -> SmallData:
    """Some labels mean one thing in one topic and another thing in another.

    A document shows some words of its topic and one of a few *places*, whose words are the same
    in all topics; topic and place together say the label. The first ``n_topics * n_ambiguous``
    labels have two such pairs, in two topics; the ``n_topics * n_plain`` after them have one.
    Every document has exactly one label. The larger `place_weight`, the easier all that is.

    So a cluster of labels is a topic, and is found by the topic's words: a label in only one
    cluster is out of reach for the documents of its other sense.
    """
    rng = np.random.default_rng(seed)
    n_places = n_plain + 2 * n_ambiguous
    label_of = np.zeros((n_topics, n_places), dtype=np.int64)
    for topic in range(n_topics):
        first_plain = n_topics * n_ambiguous + topic * n_plain
        label_of[topic, :n_plain] = first_plain + np.arange(n_plain)
        for i in range(n_ambiguous):
            label, second_topic = topic * n_ambiguous + i, (topic + 1 + i) % n_topics
            label_of[topic, n_plain + i] = label
            label_of[second_topic, n_plain + n_ambiguous + i] = label
    words_per_topic = 6

    def documents(n: int) -> tuple[sp.csr_array, sp.csr_array]:
        topic, place = rng.integers(n_topics, size=n), rng.integers(n_places, size=n)
        X = np.zeros((n, n_topics * words_per_topic + n_places), dtype=np.float32)
        for i in range(n):
            shown = rng.choice(words_per_topic, size=3, replace=False)
            X[i, topic[i] * words_per_topic + shown] = 1
            X[i, n_topics * words_per_topic + place[i]] = place_weight
        ones, labels = np.ones(n, dtype=np.int8), label_of[topic, place]
        Y = sp.csr_array((ones, (np.arange(n), labels)), shape=(n, label_of.max() + 1))
        return sp.csr_array(_unit_rows(X)), Y

    return SmallData(*documents(n_documents), *documents(n_documents // 4))


def _unit_rows(X: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
