"""How labels divide by the texts and the other labels of their documents, one group at a time."""

from dataclasses import dataclass

import numpy as np

from tests.oracles.label_tree import Random
from tests.oracles.sense_split import MOST_PARTS, split

ENOUGH_WITH_LABELS = 10


@dataclass
class Problem:
    """Documents and labels in one space; Y is dense, shape (n_documents, n_labels)."""

    documents: np.ndarray
    labels: np.ndarray
    Y: np.ndarray

    def text(self, document):
        return self.documents[document].astype(np.float64)

    def other_labels(self, document, group):
        """Return the direction of a document's other labels; zeros where there are none."""
        others = [label for label in np.flatnonzero(self.Y[document]) if label not in group]
        total = self.labels[others].astype(np.float64).sum(axis=0)
        length = np.linalg.norm(total)
        return total / length if length >= 1e-6 else np.zeros_like(total)


def split_group(problem, group, max_documents, seed):
    """Return documents, partitions by count, whether labels had a say, and the two halves."""
    documents = np.flatnonzero(problem.Y[:, group].any(axis=1))
    random = Random(seed, len(group) * 2**32 + (group[0] if len(group) else 0))
    documents = _sample(documents, max_documents, random)
    shape = len(documents), problem.documents.shape[1]
    texts = np.array([problem.text(i) for i in documents]).reshape(shape)
    others = np.array([problem.other_labels(i, group) for i in documents]).reshape(shape)
    has_labels = others.any(axis=1)
    by_labels = has_labels.sum() >= ENOUGH_WITH_LABELS
    if by_labels:
        documents, texts, others = documents[has_labels], texts[has_labels], others[has_labels]
    else:
        others = texts
    partitions = {}
    if len(documents) >= 2:
        similarities = (texts @ texts.T + others @ others.T) / 2
        partitions = split(similarities, min(0.25, 2 / problem.documents.shape[1]), random)
    return documents, partitions, by_labels, (texts, others)


def _sample(documents, most, random):
    documents = documents.copy()
    if len(documents) <= most:
        return documents
    for i in range(most):
        j = i + random.below(len(documents) - i)
        documents[[i, j]] = documents[[j, i]]
    return np.sort(documents[:most])


def similarity_of_two(texts, others, part_of):
    """Return the mean similarities of a partition in two, and how even it is: 7 numbers."""

    def mean(rows, a, b):
        pairs = [
            rows[i] @ rows[j]
            for i in np.flatnonzero(part_of == a)
            for j in np.flatnonzero(part_of == b)
            if i != j
        ]
        return np.mean(pairs) if pairs else 0.0

    share = (part_of == 0).mean()
    return [
        mean(texts, 0, 1),
        mean(others, 0, 1),
        mean(texts, 0, 0),
        mean(texts, 1, 1),
        mean(others, 0, 0),
        mean(others, 1, 1),
        4 * share * (1 - share),
    ]


def assign(problem, label, looked_at, parts):
    """Return the nearness of every document of a label to each part, and the parts chosen."""
    looked_at = list(looked_at)

    def middle(directions):
        total = np.sum(directions, axis=0)
        length = np.linalg.norm(total)
        return total / length if length >= 1e-6 else np.zeros_like(total)

    middles = []
    for part in range(max(parts, default=-1) + 1):
        own = [i for i, p in zip(looked_at, parts, strict=True) if p == part]
        none = [np.zeros(problem.documents.shape[1])]
        texts = [problem.text(i) for i in own]
        others = [problem.other_labels(i, [label]) for i in own]
        middles.append((middle(texts or none), middle(others or none)))
    assert len(middles) <= MOST_PARTS

    found = []
    for document in np.flatnonzero(problem.Y[:, label]):
        text, others = problem.text(document), problem.other_labels(document, [label])
        near = [
            (text @ of_text + others @ of_labels) / 2 if others.any() else text @ of_text
            for of_text, of_labels in middles
        ] or [0.0]
        known = document in looked_at
        best = parts[looked_at.index(document)] if known else int(np.argmax(near))
        found.append((best, near))
    return found
