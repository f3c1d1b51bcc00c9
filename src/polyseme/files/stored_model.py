"""What a model folder holds, and checks of it: a damaged file is refused before it is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.inputs.names import Names

__all__ = [
    "StoredModel",
    "require_array",
    "require_finite",
    "require_range",
    "require_starts",
]

_CHUNK = 1 << 16

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class StoredModel:
    """What a model folder holds.

    Attributes
    ----------
    path : Path
    description : dict
        Plain JSON values.
    arrays : dict of str to ndarray
        Read-only; large ones are maps of the files.
    names : dict of str to Names
    """

    path: Path
    description: dict[str, Any]
    arrays: dict[str, Array]
    names: dict[str, Names]


def require_array(
    stored: StoredModel, name: str, dtype: npt.DTypeLike, shape: tuple[int | None, ...]
) -> Array:
    """Return an array of the model if its type and shape are right; None stands for any size."""
    array = _find(stored, name)
    if array.dtype != np.dtype(dtype):
        raise _damaged(stored, name, f"has type {array.dtype}, not {np.dtype(dtype)}")
    fits = len(array.shape) == len(shape) and all(
        wanted is None or size == wanted for size, wanted in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted_shape = " x ".join("any" if size is None else str(size) for size in shape)
        raise _damaged(stored, name, f"has shape {array.shape}, not ({wanted_shape})")
    return array


def require_starts(
    stored: StoredModel, name: str, *, last: int, length: int | None = None
) -> npt.NDArray[np.int64]:
    """Return an int64 array that goes from 0 to `last` and never decreases (an indptr)."""
    array = require_array(stored, name, np.int64, (length,))
    if len(array) == 0 or array[0] != 0 or array[-1] != last:
        raise _damaged(stored, name, f"must go from 0 to {last}")
    for begin in range(0, len(array), _CHUNK):
        chunk = array[begin : begin + _CHUNK + 1]
        if np.any(chunk[1:] < chunk[:-1]):
            raise _damaged(stored, name, "must not decrease")
    return array


def require_range(stored: StoredModel, name: str, low: float, high: float) -> Array:
    """Return the array if every value is at least `low` and below `high`."""
    array = _find(stored, name)
    for chunk in _chunks(array):
        if not (chunk.min() >= low and chunk.max() < high):
            raise _damaged(stored, name, f"has values outside {low} to {high}")
    return array


def require_finite(stored: StoredModel, name: str) -> Array:
    """Return the array if it has no NaN and no infinity."""
    array = _find(stored, name)
    for chunk in _chunks(array):
        if not np.isfinite(chunk).all():
            raise _damaged(stored, name, "has values that are not finite")
    return array


def _find(stored: StoredModel, name: str) -> Array:
    try:
        return stored.arrays[name]
    except KeyError:
        raise _damaged(stored, name, "is missing") from None


def _chunks(array: Array) -> Iterator[Array]:
    """Walk an array in pieces, so that a check of a memory map needs little memory."""
    flat = array.reshape(-1)
    for begin in range(0, len(flat), _CHUNK):
        yield flat[begin : begin + _CHUNK]


def _damaged(stored: StoredModel, name: str, what: str) -> ValueError:
    return ValueError(f"the model {stored.path} is damaged: its array {name!r} {what}")
