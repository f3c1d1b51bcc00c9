"""What a model folder holds, and checks of it: a damaged file is refused before it is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from polyseme.inputs.names import Names
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows

__all__ = ["Contents", "StoredModel"]

_CHUNK = 1 << 16

Array = npt.NDArray[Any]
Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Contents:
    """What a model gives to be stored.

    Attributes
    ----------
    description : dict
        JSON values. ``kind`` says what brings it back to life: see `polyseme.files.kinds`.
    arrays : dict of str to ndarray
    names : dict of str to Names
    """

    description: dict[str, Any]
    arrays: dict[str, Array]
    names: dict[str, Names]

    def with_part(self, name: str, part: Contents) -> Contents:
        """Return the same with another model inside, such as a text model's classifier."""
        parts = {**self.description.get("parts", {}), name: part.description}
        return Contents(
            {**self.description, "parts": parts},
            {**self.arrays, **{f"{name}/{key}": value for key, value in part.arrays.items()}},
            {**self.names, **{f"{name}/{key}": value for key, value in part.names.items()}},
        )


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
    within : str
        Where in the folder this part of the model lies, for messages.
    """

    path: Path
    description: dict[str, Any]
    arrays: dict[str, Array]
    names: dict[str, Names]
    within: str = ""

    def model(self, name: str) -> StoredModel:
        """Return a model that is stored inside this one; see `Contents.with_part`."""
        parts = self.description.get("parts")
        description = parts.get(name) if isinstance(parts, dict) else None
        if not isinstance(description, dict):
            raise self.damaged(f"it has no {name}")
        return self._below(f"{name}/", description)

    def part(self, name: str) -> StoredModel:
        """Return the arrays whose names begin with ``<name>.``, such as those of a matcher."""
        return self._below(f"{name}.", self.description)

    def _below(self, prefix: str, description: dict[str, Any]) -> StoredModel:
        def own(found: dict[str, Value]) -> dict[str, Value]:
            return {k[len(prefix) :]: v for k, v in found.items() if k.startswith(prefix)}

        within = self.within + prefix
        return StoredModel(self.path, description, own(self.arrays), own(self.names), within)

    # Checks: each returns what it was asked for, or refuses the model

    def damaged(self, what: str) -> ValueError:
        """Return the exception that refuses the model."""
        return ValueError(f"the model {self.path} is damaged: {what}")

    def _wrong(self, name: str, what: str) -> ValueError:
        return self.damaged(f"its array {self.within + name!r} {what}")

    def value(self, name: str, kind: type[Value]) -> Value:
        """Return a value of the description if it is of exactly that type."""
        value = self.description.get(name)
        if type(value) is not kind:
            raise self.damaged(f"{name} is {_shown(value)}")
        return value

    def whole_number(self, name: str, least: int) -> int:
        """Return a whole number of the description, from `least` to what 32 bits hold."""
        value = self.value(name, int)
        if not least <= value < 2**31:
            raise self.damaged(f"{name} is {_shown(value)}")
        return value

    def seconds(self, name: str) -> dict[str, float]:
        """Return what phases took, by their names."""
        seconds = self.value(name, dict)
        if not all(type(n) in (int, float) and 0 <= n < 2**63 for n in seconds.values()):
            raise self.damaged(f"its {name} are not numbers")
        return seconds

    def array(self, name: str, dtype: npt.DTypeLike, shape: tuple[int | None, ...]) -> Array:
        """Return an array if its type and shape are right; None stands for any size."""
        array = self._find(name)
        if array.dtype != np.dtype(dtype):
            raise self._wrong(name, f"has type {array.dtype}, not {np.dtype(dtype)}")
        fits = len(array.shape) == len(shape) and all(
            wanted is None or size == wanted
            for size, wanted in zip(array.shape, shape, strict=True)
        )
        if not fits:
            wanted_shape = " x ".join("any" if size is None else str(size) for size in shape)
            raise self._wrong(name, f"has shape {array.shape}, not ({wanted_shape})")
        return array

    def starts(
        self, name: str, *, last: int | None = None, length: int | None = None
    ) -> npt.NDArray[np.int64]:
        """Return an int64 array that goes from 0 to `last` and never decreases (an indptr)."""
        array = self.array(name, np.int64, (length,))
        if len(array) == 0 or array[0] != 0 or (last is not None and array[-1] != last):
            raise self._wrong(name, f"must go from 0 to {'its end' if last is None else last}")
        for begin in range(0, len(array), _CHUNK):
            chunk = array[begin : begin + _CHUNK + 1]
            if np.any(chunk[1:] < chunk[:-1]):
                raise self._wrong(name, "must not decrease")
        return array

    def in_range(self, name: str, low: float, high: float) -> Array:
        """Return an array if every value is at least `low` and below `high`."""
        array = self._find(name)
        for chunk in _chunks(array):
            if not (chunk.min() >= low and chunk.max() < high):
                raise self._wrong(name, f"has values outside {low} to {high}")
        return array

    def finite(self, name: str) -> Array:
        """Return an array if it has no NaN and no infinity."""
        array = self._find(name)
        for chunk in _chunks(array):
            if not np.isfinite(chunk).all():
                raise self._wrong(name, "has values that are not finite")
        return array

    def pattern(self, n_rows: int, n_columns: int) -> SparsePattern:
        """Return the 0/1 matrix of the arrays ``starts`` and ``columns``."""
        columns = self.array("columns", np.int32, (None,))
        self.in_range("columns", 0, n_columns)
        starts = self.starts("starts", last=len(columns), length=n_rows + 1)
        return SparsePattern(starts, columns, n_columns)

    def rows(self, n_rows: int, n_columns: int) -> SparseRows:
        """Return the matrix of the arrays that `SparseRows.to_arrays` gave."""
        found = self.pattern(n_rows, n_columns)
        values = self.array("values", np.float32, (found.n_stored,))
        self.finite("values")
        return SparseRows(found.starts, found.columns, values, n_columns)

    def names_of(self, kind: str, n_wanted: int) -> Names | None:
        """Return names if there are as many as wanted; None where there are none at all."""
        names = self.names.get(kind)
        if names is not None and len(names) != n_wanted:
            raise self.damaged(f"it has {len(names)} names for {n_wanted} {kind}")
        return names

    def _find(self, name: str) -> Array:
        try:
            return self.arrays[name]
        except KeyError:
            raise self._wrong(name, "is missing") from None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _chunks(array: Array) -> Iterator[Array]:
    """Walk an array in pieces, so that a check of a memory map needs little memory."""
    flat = array.reshape(-1)
    for begin in range(0, len(flat), _CHUNK):
        yield flat[begin : begin + _CHUNK]
