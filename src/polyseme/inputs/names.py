"""Names of labels and features, kept as arrays so that a million of them open at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from polyseme.inputs.name_search import N_LISTED, NameSearch, folded

__all__ = ["Names", "name_of", "number_of"]

_CHUNK = 1 << 16
_MAX_COMPARED = 20_000
_MAX_SHOWN = 80


def _shown(name: str | int) -> str:
    is_long = isinstance(name, str) and len(name) > _MAX_SHOWN
    return repr(f"{str(name)[:_MAX_SHOWN]}…" if is_long else name)


def name_of(names: Names | None, number: int) -> str | int:
    """Return the name of what has a number, or the number where there is no name."""
    # What a matcher makes of documents comes after the features that have names.
    return number if names is None or number >= len(names) else names[number]


def number_of(
    name: str | int,
    names: Names | None,
    n: int,
    *,
    noun: str = "label",
    hints: bool = True,
    search: NameSearch | None = None,
) -> int:
    """Return the number of what is given by name, or by its number.

    A name may be written as people type it; see `NameSearch.only_one`.

    Parameters
    ----------
    name : str or int
    names : Names or None
    n : int
        How many there are.
    noun : str
        What the names stand for; used in the error message.
    hints : bool
        Whether a name that is not there is looked for among those that are spelled otherwise,
        and the message for one that is not found suggests close ones. Both take long where there
        are many.
    search : NameSearch, optional
        Knows more names than those; by default their own.

    Raises
    ------
    ValueError
        If there is no such name or number, or several fit.
    """
    if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
        raise ValueError(f"a {noun} is given by name or number, not as {name!r:.80}")
    if names is not None and name in names:
        alike = names.positions(name) if hints else []
        if len(alike) > 1:
            some = ", ".join(map(str, alike[:N_LISTED])) + (
                " ..." if len(alike) > N_LISTED else ""
            )
            raise ValueError(
                f"{len(alike):,} {noun}s are called {_shown(name)}, with the numbers {some}; "
                "give one by its number"
            )
        return names.index(name)
    if isinstance(name, str) and not (name.isascii() and name.isdecimal() and len(name) < 20):
        if names is None:
            shown = name[:_MAX_SHOWN]
            raise ValueError(f"this model has no {noun} names; give a number instead of {shown!r}")
        if not hints:
            raise ValueError(f"this model has no {noun} {name[:_MAX_SHOWN]!r}")
        found = (search or names.search).only_one(name, noun=noun)
        if found is None:
            return names.index(name, noun=noun, search=search)  # says which are close
        return found
    number = int(name)
    if not 0 <= number < n:
        raise ValueError(f"no {noun} {name!r}: {noun}s are numbered from 0 to {n - 1}")
    return number


class Names(Sequence[str | int]):
    """An immutable sequence of names: all strings, or all integers.

    Strings lie end to end as UTF-8 and are decoded when asked for; name ``i`` is
    ``utf8[starts[i]:starts[i + 1]]``. Both arrays may be memory maps. Use `from_list` or
    `from_arrays` to make one. A name may occur twice; `index` finds the first.
    """

    def __init__(
        self,
        *,
        ids: npt.NDArray[np.int64] | None = None,
        starts: npt.NDArray[np.int64] | None = None,
        utf8: npt.NDArray[np.uint8] | None = None,
    ) -> None:
        self._ids = ids
        self._starts = np.zeros(1, dtype=np.int64) if starts is None else starts
        self._utf8 = np.zeros(0, dtype=np.uint8) if utf8 is None else utf8

    @classmethod
    def from_list(cls, names: Iterable[str | int]) -> Names:
        """Build from any iterable of strings or of integers (not both)."""
        items = list(names)
        if items and all(_is_integer(item) for item in items):
            try:
                return cls(ids=np.array([int(item) for item in items], dtype=np.int64))
            except OverflowError:
                raise ValueError("integer names must fit into 64 bits; use strings") from None
        encoded: list[bytes] = []
        for position, item in enumerate(items):
            if not isinstance(item, str):
                raise ValueError(
                    f"names must be all strings or all integers; name {position} is {item!r}"
                )
            try:
                encoded.append(item.encode("utf-8"))
            except UnicodeEncodeError:
                raise ValueError(f"name {position} is not valid Unicode: {item!r}") from None
        starts = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(name) for name in encoded], out=starts[1:])
        return cls(starts=starts, utf8=np.frombuffer(b"".join(encoded), dtype=np.uint8))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays behind the names: ``ids``, or ``starts`` and ``utf8``."""
        if self._ids is not None:
            return {"ids": self._ids}
        first, last = self._starts[0], self._starts[-1]
        return {"starts": self._starts - first, "utf8": self._utf8[first:last]}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Names:
        """Build from what `to_arrays` gave, without copying; refuse what does not fit."""
        kinds = {key: (array.dtype.name, array.ndim) for key, array in arrays.items()}
        if kinds == {"ids": ("int64", 1)}:
            return cls(ids=arrays["ids"])
        if kinds != {"starts": ("int64", 1), "utf8": ("uint8", 1)}:
            raise ValueError("names need one array of int64 ids, or int64 starts and uint8 utf8")
        starts, utf8 = arrays["starts"], arrays["utf8"]
        if len(starts) == 0 or starts[0] != 0 or starts[-1] != len(utf8):
            raise ValueError(f"starts of names must go from 0 to {len(utf8)}")
        if np.any(starts[1:] < starts[:-1]):
            raise ValueError("starts of names must not decrease")
        return cls(starts=starts, utf8=utf8)

    def __len__(self) -> int:
        return len(self._starts) - 1 if self._ids is None else len(self._ids)

    @overload
    def __getitem__(self, key: int) -> str | int: ...
    @overload
    def __getitem__(self, key: slice) -> Names: ...
    def __getitem__(self, key: int | slice) -> str | int | Names:
        if isinstance(key, slice):
            return self._slice(key)
        position = range(len(self))[key]  # IndexError and negative positions as a list has them
        if self._ids is not None:
            return int(self._ids[position])
        start, stop = self._starts[position], self._starts[position + 1]
        return _decode(self._utf8[start:stop].tobytes(), position)

    def _slice(self, key: slice) -> Names:
        if self._ids is not None:
            return Names(ids=self._ids[key])
        start, stop, step = key.indices(len(self))
        if step == 1:
            return Names(starts=self._starts[start : max(start, stop) + 1], utf8=self._utf8)
        return Names.from_list(self[position] for position in range(start, stop, step))

    def __iter__(self) -> Iterator[str | int]:
        for begin in range(0, len(self), _CHUNK):
            if self._ids is not None:
                yield from self._ids[begin : begin + _CHUNK].tolist()
                continue
            ends = self._starts[begin : begin + _CHUNK + 1]
            block = self._utf8[ends[0] : ends[-1]].tobytes()
            bounds = (ends - ends[0]).tolist()
            for step in range(len(bounds) - 1):
                yield _decode(block[bounds[step] : bounds[step + 1]], begin + step)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, (str, int, np.integer)) and name in self._position_of

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Names):
            return NotImplemented
        if len(self) == 0 or len(other) == 0:
            return len(self) == len(other)
        mine, theirs = self.to_arrays(), other.to_arrays()
        return mine.keys() == theirs.keys() and all(
            np.array_equal(mine[key], theirs[key]) for key in mine
        )

    # Two equal ones may differ in their storage, and nobody needs them as keys.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name!r:.40}" for name in self[:3])
        return f"Names([{shown}{', ...' if len(self) > 3 else ''}], n_names={len(self)})"

    @property
    def _position_of(self) -> dict[str | int, int]:
        return self._firsts_and_repeated[0]

    @cached_property
    def _firsts_and_repeated(self) -> tuple[dict[str | int, int], dict[str | int, list[int]]]:
        firsts: dict[str | int, int] = {}
        repeated: dict[str | int, list[int]] = {}
        for position, name in enumerate(self):
            first = firsts.setdefault(name, position)
            if first != position:
                repeated.setdefault(name, [first]).append(position)
        return firsts, repeated

    def positions(self, name: str | int) -> list[int]:
        """Return all positions of a name, of which two things may have the same."""
        firsts, repeated = self._firsts_and_repeated
        return repeated.get(name) or ([firsts[name]] if name in firsts else [])

    @cached_property
    def search(self) -> NameSearch:
        """Finds names as people type them."""
        return NameSearch(self)

    # The start and stop of Sequence.index have no use here.
    def index(  # type: ignore[override]
        self, name: str | int, *, noun: str = "label", search: NameSearch | None = None
    ) -> int:
        """Return the position of a name.

        Parameters
        ----------
        name : str or int
        noun : str
            What the names stand for; used in the error message.
        search : NameSearch, optional
            Knows more names of the same things than those that are suggested.

        Raises
        ------
        ValueError
            If there is no such name; the message suggests the closest ones.
        """
        try:
            return self._position_of[name]
        except KeyError:
            pass
        close = ", ".join(_shown(other) for other in self._closest(str(name), search))
        hint = f"; did you mean {close}?" if close else "."
        raise ValueError(f"no {noun} named {name!r}{hint}") from None

    def _closest(
        self, wanted: str, search: NameSearch | None, n_wanted: int = 3
    ) -> list[str | int]:
        """Return names that hold what is wanted, then names that are spelled alike."""
        start = folded(wanted)
        if self._ids is not None or not start:
            return []
        hits = (search or self.search).find(start)
        best = sorted((hit.fit, len(str(self[hit.owner])), hit.owner) for hit in hits)
        found = [self[owner] for *_, owner in best[:n_wanted]]
        if len(found) < n_wanted:
            # difflib is slow, so of a million names it sees those with the same first letter.
            others = ((folded(str(name)), name) for name in self._position_of)
            alike = (other for other in others if other[0][:1] == start[:1])
            compared = dict(islice(alike, _MAX_COMPARED))
            found += map(
                compared.__getitem__, difflib.get_close_matches(start, compared, n_wanted)
            )
        return list(dict.fromkeys(found))[:n_wanted]


def _is_integer(item: object) -> bool:
    return isinstance(item, (int, np.integer)) and not isinstance(item, bool)


def _decode(name: bytes, position: int) -> str:
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"name {position} is not valid UTF-8; the file is damaged") from None
