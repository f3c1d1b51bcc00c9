"""Word vectors to begin with: of which words go together, or from a file of someone else's."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from polyseme.backbones.attention.words import N_SPECIAL, Vocabulary, WordRows

__all__ = ["co_occurring_vectors", "read_vectors"]

N_SAMPLED = 20_000  # texts that tell which words go together
N_ITERATIONS = 3
SPREAD = 0.5  # standard deviation of numbers in vectors, about that of published ones

Vectors = npt.NDArray[np.float32]


def co_occurring_vectors(
    words: WordRows, vocabulary: Vocabulary, n_dimensions: int, seed: int
) -> Vectors:
    """Return vectors that are near each other for words that are in the same texts.

    These are leading singular vectors of the texts' TF-IDF. A network that begins with them needs
    far fewer passes over the texts than one that begins with chance.

    Returns
    -------
    ndarray of float32, shape (vocabulary.size, n_dimensions)
    """
    rng = np.random.default_rng([seed, N_SAMPLED])
    vectors = rng.normal(size=(vocabulary.size, n_dimensions))
    chosen = np.sort(rng.permutation(len(words.lengths))[:N_SAMPLED])
    counts = words.counts(vocabulary.size)[chosen]
    n_found = min(n_dimensions, *counts.shape)
    with threadpool_limits(limits=1):  # sums must not depend on the number of threads
        _, strengths, directions = randomized_svd(
            _weighted(counts), n_found, n_iter=N_ITERATIONS, random_state=seed % 2**32
        )
    found = directions.T * np.sqrt(strengths)
    vectors[:, :n_found] = found / max(found.std(), 1e-12)
    return (SPREAD * vectors).astype(np.float32)


def _weighted(counts: sp.csr_array) -> sp.csr_array:
    """Return TF-IDF of counts, rows of unit length."""
    n_texts = np.bincount(counts.indices, minlength=counts.shape[1])
    rarity = np.log((1 + counts.shape[0]) / (1 + n_texts))
    weighted = counts.copy()
    weighted.data = (1 + np.log(counts.data)) * rarity[counts.indices]
    lengths = np.sqrt(weighted.multiply(weighted).sum(axis=1))
    scale = sp.diags_array(1 / np.maximum(lengths, 1e-12))
    return sp.csr_array(scale @ weighted)


def read_vectors(path: Path, vocabulary: Vocabulary) -> tuple[Vectors, npt.NDArray[np.bool_]]:
    """Read the vectors of those words that are known.

    The format is that of GloVe, word2vec and fastText: a word and its numbers, with spaces
    between, a line; perhaps a first line with two counts; plain, or gzipped if it ends in .gz.

    Returns
    -------
    vectors : ndarray of float32, shape (vocabulary.size, n_dimensions)
        Zeros for words that the file does not have.
    is_given : ndarray of bool, shape (vocabulary.size,)

    Raises
    ------
    ValueError
        If a line has too few or too many numbers, or one that is not finite; the message names it.
    """
    number_of = {str(word): i for i, word in enumerate(vocabulary.names, start=N_SPECIAL)}
    found: dict[int, Vectors] = {}
    n_dimensions = 0
    with _opened(path) as stream:
        for number, word, numbers in _lines(stream, path):
            if number == 1 and len(numbers) == 1:
                continue  # counts of words and dimensions
            n_dimensions = n_dimensions or len(numbers)
            if len(numbers) != n_dimensions or n_dimensions == 0:
                raise ValueError(
                    f"{path}, line {number}: a word with {len(numbers)} numbers, where those "
                    f"before have {n_dimensions}; every word needs a vector of the same length."
                )
            place = number_of.get(word)
            if place is not None and place not in found:
                found[place] = _vector(numbers, path, number)
    if not found:
        raise ValueError(
            f"{path} has a vector for none of the {len(vocabulary.names):,} words of the texts; "
            "give vectors of the language of the texts, words in lower case."
        )
    vectors = np.zeros((vocabulary.size, n_dimensions), dtype=np.float32)
    is_given = np.zeros(vocabulary.size, dtype=np.bool_)
    is_given[list(found)] = True
    vectors[list(found)] = np.stack(list(found.values()))
    return vectors, is_given


def _opened(path: Path) -> IO[bytes] | gzip.GzipFile:
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is not a file of word vectors; give one with a word and its numbers per line."
        )
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def _lines(
    stream: IO[bytes] | gzip.GzipFile, path: Path
) -> Iterator[tuple[int, str, list[bytes]]]:
    try:
        for number, line in enumerate(stream, start=1):
            word, *numbers = line.rstrip().split(b" ")
            yield number, word.decode("utf-8", errors="replace"), numbers
    except (EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is not a whole gzip file ({error}); copy it again.") from None


def _vector(numbers: list[bytes], path: Path, line: int) -> Vectors:
    try:
        vector = np.array(numbers, dtype=np.float32)
    except ValueError:
        raise ValueError(
            f"{path}, line {line}: what follows the word are not numbers; a line is a word and "
            "its vector, with spaces between."
        ) from None
    if not np.isfinite(vector).all():
        raise ValueError(
            f"{path}, line {line}: the vector has a number that is not finite; remove the line."
        )
    return vector
