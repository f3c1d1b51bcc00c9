"""Documents in batches of nearly the same length, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

__all__ = ["LengthBuckets", "by_length"]

Integers = npt.NDArray[np.int64]
BATCHES_TOGETHER = 50  # batches whose documents are sorted among themselves
STREAM = 0xBA7C


def by_length(lengths: Integers, batch_size: int) -> Iterator[Integers]:
    """Go through all documents once, longest first, so that too large a batch shows at once.

    Parameters
    ----------
    lengths : ndarray of int64, shape (n_documents,)
    batch_size : int
    """
    order = np.argsort(-lengths, kind="stable")
    for first in range(0, len(order), batch_size):
        yield order[first : first + batch_size]


@dataclass(frozen=True, eq=False)
class LengthBuckets:
    """The batches of a training, by number: the same from the same seed, whoever asks when.

    Each pass over the documents has another order. The documents of a batch have nearly the same
    length, and batches of all lengths follow one another at random.

    Attributes
    ----------
    lengths : ndarray of int64, shape (n_documents,)
    batch_size : int
    seed : int
    """

    lengths: Integers
    batch_size: int
    seed: int = 0

    @property
    def n_batches(self) -> int:
        """Number of batches of a pass; the last documents of one may be left for the next."""
        return max(1, len(self.lengths) // self.batch_size)

    def __getitem__(self, step: int) -> Integers:
        """Return the documents of a step, counted over all passes."""
        number, place = divmod(step, self.n_batches)
        return _pass(self, number)[place]


@lru_cache(maxsize=2)
def _pass(buckets: LengthBuckets, number: int) -> list[Integers]:
    """Return the batches of one pass."""
    chance = np.random.default_rng([STREAM, buckets.seed, number])
    order = chance.permutation(len(buckets.lengths))
    size = buckets.batch_size
    batches = []
    for first in range(0, len(order), BATCHES_TOGETHER * size):
        together = order[first : first + BATCHES_TOGETHER * size]
        together = together[np.argsort(buckets.lengths[together], kind="stable")]
        batches += [together[i : i + size] for i in range(0, len(together), size)]
    whole = [batch for batch in batches if len(batch) == size] or batches
    return [whole[i] for i in chance.permutation(len(whole))]
