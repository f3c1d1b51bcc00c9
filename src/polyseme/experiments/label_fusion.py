"""Fuse labels on purpose, so that it is known what a label is made of.

The paper's synthetic entanglement: every `n_fused` labels (its k) become one, and a document has
the fused label if it has any of its parts. There are three ways to choose what is fused:

- *easy*: similar labels, which a plain model hardly minds;
- *medium*: labels at random within groups of ``32 * n_fused`` similar ones;
- *hard*: labels at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels
from polyseme.partition.label_tree import MAX_FEATURES

__all__ = [
    "MODES",
    "balanced_groups",
    "fuse_columns",
    "fuse_half",
    "fused_names",
    "group_labels",
]

MODES = ("easy", "medium", "hard")
SETS_PER_MEDIUM_GROUP = 32
MAX_ITER = 10
MAX_DENSE = 256  # up to so many labels, all similarities are computed once

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
SimilarityToCentroid = Callable[[npt.NDArray[np.bool_]], Floats]


def group_labels(X: Any, Y: Any, n_fused: int, mode: str, *, seed: int = 0) -> Ints:
    """Choose which labels are fused.

    Parameters
    ----------
    X : sparse matrix, shape (n_documents, n_features)
        Training documents; only 'easy' and 'medium' look at them.
    Y : sparse 0/1 matrix, shape (n_documents, n_labels)
    n_fused : int
        How many labels become one (the paper's k).
    mode : str
        'easy', 'medium' or 'hard'.

    Returns
    -------
    ndarray of int64, shape (n_labels,)
        The fused label of each label. There are ``ceil(n_labels / n_fused)`` of them with
        `n_fused` parts each, but for one, if the labels cannot be divided.
    """
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}.")
    if n_fused < 1:
        raise ValueError(f"n_fused must be at least 1, not {n_fused}.")
    rng = np.random.default_rng([seed, MODES.index(mode), n_fused])
    n_labels = int(Y.shape[1])
    if mode == "hard":
        return _numbers_of([rng.permutation(n_labels)], n_fused, n_labels)
    features = _label_features(X, Y)
    if mode == "easy":
        return _numbers_of(balanced_groups(features, n_fused, rng), n_fused, n_labels)
    similar = balanced_groups(features, SETS_PER_MEDIUM_GROUP * n_fused, rng)
    return _numbers_of((rng.permutation(group) for group in similar), n_fused, n_labels)


def fuse_half(
    X: Any,
    Y: Any,
    n_parts: int,
    mode: str,
    *,
    least: int,
    most: int | None = None,
    seed: int = 0,
) -> tuple[Ints, int]:
    """Fuse half of the labels that are frequent enough; the others stay what they are.

    Parameters
    ----------
    X : sparse matrix, shape (n_documents, n_features)
    Y : sparse 0/1 matrix, shape (n_documents, n_labels)
    n_parts : int
        How many labels become one.
    mode : str
        As for `group_labels`. The same seed draws the same half for each.
    least, most : int
        Training documents of a label that may be fused; no limit if `most` is None.

    Returns
    -------
    fused_label : ndarray of int64, shape (n_labels,)
        The new number of each label: fused ones come first, then those that stay, in their order.
    n_fused : int
        How many fused labels there are; each has exactly `n_parts` parts.
    """
    n_labels = int(Y.shape[1])
    counts = np.asarray((Y != 0).sum(axis=0)).ravel()
    may_be = np.flatnonzero((counts >= least) & (True if most is None else counts <= most))
    rng = np.random.default_rng([seed, least, most or 0])
    n_fused = len(may_be) // 2 // n_parts
    drawn = np.sort(rng.permutation(may_be)[: n_fused * n_parts])
    fused_label = np.full(n_labels, -1, dtype=np.int64)
    if n_fused > 0:
        fused_label[drawn] = group_labels(X, Y[:, drawn], n_parts, mode, seed=seed)
    stay = fused_label < 0
    fused_label[stay] = n_fused + np.arange(np.count_nonzero(stay))
    return fused_label, n_fused


def fuse_columns(Y: Any, fused_label: npt.ArrayLike) -> sp.csr_array:
    """Return the labels of each document after fusion.

    Parameters
    ----------
    Y : sparse 0/1 matrix, shape (n_documents, n_labels)
    fused_label : array of int, shape (n_labels,)
        As from `group_labels`.

    Returns
    -------
    csr_array of float32 ones, shape (n_documents, n_fused_labels)
        Ordinary 0/1: a document with two parts of a fused label has that label once.
    """
    numbers = np.asarray(fused_label, dtype=np.int64)
    parts, _ = check_labels(Y, int(Y.shape[0]))
    if parts.n_columns != len(numbers):
        raise ValueError(f"Y has {parts.n_columns} labels, but {len(numbers)} were fused.")
    shape = (parts.n_rows, int(numbers.max(initial=-1)) + 1)
    ones = np.ones(parts.n_stored, dtype=np.float32)
    # A copy of the starts: they may be those of the caller's Y, and change with duplicates.
    fused = sp.csr_array((ones, numbers[parts.columns], parts.starts.copy()), shape=shape)
    fused.sum_duplicates()
    fused.data[:] = 1
    return fused


def fused_names(names: list[str] | None, fused_label: npt.ArrayLike) -> list[list[str]]:
    """Return the names of each fused label's parts, in the order of the columns."""
    numbers = np.asarray(fused_label, dtype=np.int64)
    found: list[list[str]] = [[] for _ in range(int(numbers.max(initial=-1)) + 1)]
    for label, number in enumerate(numbers.tolist()):
        found[number].append(f"label {label}" if names is None else names[label])
    return found


def balanced_groups(features: sp.csr_array, size: int, rng: np.random.Generator) -> list[Ints]:
    """Split labels into groups of similar ones, all of the same size.

    Spherical 2-means again and again, as for the tree of a model. The paper says balanced
    K-means without saying which; this one is hierarchical, and a cut is not into halves but at
    the multiple of `size` next to it, so that groups have exactly `size` labels for any number of
    labels. (The leaves of `LabelTree` are always a power of two, and so have between half of
    `size` and `size`.)

    Parameters
    ----------
    features : csr_array of float32, shape (n_labels, n_features)
        Rows of unit length, or empty.
    size : int

    Returns
    -------
    list of ndarray of int64
        The labels of each group, ascending; the last group has the rest.
    """
    return list(_split(np.arange(features.shape[0]), features, None, size, rng))


def _split(
    labels: Ints,
    features: sp.csr_array,
    similarity: Floats | None,
    size: int,
    rng: np.random.Generator,
) -> Iterator[Ints]:
    """Yield the groups of some labels, whose features or similarities are given."""
    n = len(labels)
    if n <= size:
        if n > 0:
            yield labels
        return
    if similarity is None and n <= MAX_DENSE:
        similarity = (features @ features.T).toarray()
    n_first = -(-n // size) // 2 * size
    first = _two_means(n, n_first, _to_centroid(features, similarity), rng)
    for side in (first, ~first):
        yield from _split(
            labels[side],
            features if similarity is not None else features[side],
            None if similarity is None else similarity[np.ix_(side, side)],
            size,
            rng,
        )


def _two_means(
    n: int, n_first: int, to_centroid: SimilarityToCentroid, rng: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Return which `n_first` of n labels belong together."""
    seeds = np.zeros((2, n), dtype=bool)
    seeds[(0, 1), rng.choice(n, size=2, replace=False)] = True
    first, second = seeds
    for _ in range(MAX_ITER):
        preference = to_centroid(first) - to_centroid(second)
        chosen = np.zeros(n, dtype=bool)
        chosen[np.argsort(-preference, kind="stable")[:n_first]] = True
        if np.array_equal(chosen, first):
            break
        first, second = chosen, ~chosen
    return first


def _to_centroid(features: sp.csr_array, similarity: Floats | None) -> SimilarityToCentroid:
    """Return a function: how similar is each label to the mean direction of some of them."""

    def by_features(members: npt.NDArray[np.bool_]) -> Floats:
        total = features.T @ members.astype(np.float32)
        return np.asarray(features @ (total / max(1e-12, float(np.linalg.norm(total)))))

    def by_similarity(members: npt.NDArray[np.bool_]) -> Floats:
        assert similarity is not None
        to_members = similarity @ members.astype(np.float32)
        return np.asarray(to_members / np.sqrt(max(1e-12, float(to_members[members].sum()))))

    return by_features if similarity is None else by_similarity


def _label_features(X: Any, Y: Any) -> sp.csr_array:
    """Return the features of labels: the mean direction of their documents.

    Only the largest `MAX_FEATURES` of a label count, as in the tree of a model. A label without
    documents has none.
    """
    documents = check_features(X).all_sparse()
    labels, _ = check_labels(Y, documents.n_rows)
    sums = sp.csr_array(labels.to_scipy().T @ documents.to_scipy())
    for start, end in zip(sums.indptr[:-1], sums.indptr[1:], strict=True):
        if end - start > MAX_FEATURES:
            values = sums.data[start:end]
            values[np.argsort(-np.abs(values), kind="stable")[MAX_FEATURES:]] = 0
    sums.eliminate_zeros()
    lengths = np.sqrt(np.asarray(sums.multiply(sums).sum(axis=1)).ravel())
    sums.data /= np.repeat(lengths, np.diff(sums.indptr))
    return sums.astype(np.float32)


def _numbers_of(
    groups: list[npt.NDArray[np.int64]] | Iterator[npt.NDArray[np.int64]],
    n_fused: int,
    n_labels: int,
) -> Ints:
    """Cut each group into sets of `n_fused` labels and number the sets."""
    numbers = np.empty(n_labels, dtype=np.int64)
    n_before = 0
    for group in groups:
        numbers[group] = n_before + np.arange(len(group)) // n_fused
        n_before += -(-len(group) // n_fused)
    return numbers
