"""Made-up documents whose labels have one meaning or several, known beforehand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern
from tests.small_problems import pattern, sparse


@dataclass
class SenseProblem:
    """Documents of topics.

    Attributes
    ----------
    X : ndarray of float32, shape (n_documents, n_features)
    Y : ndarray of bool, shape (n_documents, n_labels)
    topic : ndarray of int, shape (n_documents,)
    n_meanings : ndarray of int, shape (n_labels,)
    """

    X: np.ndarray
    Y: np.ndarray
    topic: np.ndarray
    n_meanings: np.ndarray

    @property
    def documents(self) -> Documents:
        return Documents(sparse(self.X))

    @property
    def labels_of(self) -> SparsePattern:
        return pattern(self.Y)


def topics_with_meanings(
    meanings=(2,) * 8,
    *,
    n_topics=40,
    n_plain=4,
    per_topic=40,
    labels_each=2,
    n_languages=1,
    words_per_topic=12,
    seed=0,
) -> SenseProblem:
    """Return documents of topics, each of which has some words and labels of its own.

    The first labels have as many meanings as `meanings` says: each occurs in that many topics. The
    others have one, and are of one topic each. A document has words of its topic, some that all
    topics share, and a few of its topic's labels. With several languages, every document is in
    one of them, and its words are other ones.
    """
    rng = np.random.default_rng(seed)
    n_ambiguous = len(meanings)
    n_labels = n_ambiguous + n_topics * n_plain
    own = [
        list(range(n_ambiguous + t * n_plain, n_ambiguous + (t + 1) * n_plain))
        for t in range(n_topics)
    ]
    waiting: list[int] = []
    for label, n_of_label in enumerate(meanings):
        if len(waiting) < n_of_label:
            waiting = rng.permutation(n_topics).tolist()
        for _ in range(n_of_label):
            own[waiting.pop()].append(label)
    n_documents, n_words = n_topics * per_topic, n_topics * words_per_topic + 30
    topic = np.arange(n_documents) % n_topics
    X = np.zeros((n_documents, n_words * n_languages), dtype=np.float32)
    Y = np.zeros((n_documents, n_labels), dtype=bool)
    for i, t in enumerate(topic):
        words = X[i, n_words * (rng.integers(n_languages)) :][:n_words]
        words[t * words_per_topic + rng.choice(words_per_topic, 5, replace=False)] = 1
        words[-30 + rng.choice(30, 6, replace=False)] = 0.7
        Y[i, rng.choice(own[t], min(labels_each, len(own[t])), replace=False)] = True
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    n_meanings = np.array([*meanings, *[1] * (n_topics * n_plain)])
    return SenseProblem(X, Y, topic, n_meanings)
