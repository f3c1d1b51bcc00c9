"""Names found as people type them: in any case, without accents, by some of their words."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import accumulate
from typing import NamedTuple

__all__ = ["Fit", "Hit", "NameSearch", "folded"]

MAX_HITS = 20_000  # of a search; to rank more would take long, and nobody reads them
N_LISTED = 5

_ACCENTS = range(0x300, 0x370)  # of these letters only: in other scripts marks are letters
_NOT_COMPOSED = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
)
_OPENING = ("(", "<", "[", "⟨")
_BETWEEN_WORDS = ",;:"


def folded(text: str) -> str:
    """Return a text as it is compared: small letters without accents, single spaces."""
    if not text.isascii():
        apart = unicodedata.normalize("NFKD", text.casefold())
        bare = "".join(sign for sign in apart if ord(sign) not in _ACCENTS)
        text = unicodedata.normalize("NFKC", bare).translate(_NOT_COMPOSED)
    return " ".join(text.casefold().split())


class Fit(IntEnum):
    """How well a name fits what was typed, best first."""

    WHOLE = 0
    WITHOUT_QUALIFIER = 1  # "python" and "Python (programming language)"
    FIRST_WORDS = 2
    WORDS = 3  # all that were typed, in any order
    BEGINNING = 4
    BEGINNINGS_OF_WORDS = 5
    INSIDE = 6


class Hit(NamedTuple):
    """A name that was found.

    Attributes
    ----------
    fit : Fit
    is_other : bool
        It was found by another name than its own.
    owner : int
        Whose name it is.
    line : int
        Which of all names it is.
    """

    fit: Fit
    is_other: bool
    owner: int
    line: int


class NameSearch:
    """Finds names, and other names of the same things.

    Parameters
    ----------
    names : sequence of str or int
        Of each thing, in their order.
    other_names : iterable of (int, str)
        Whose it is, and what else that is called.
    """

    def __init__(
        self, names: Sequence[str | int], other_names: Iterable[tuple[int, str]] = ()
    ) -> None:
        self._names, self._others = names, list(other_names)
        lines = [folded(str(name)) for name in names]
        lines += [folded(name) for _, name in self._others]
        # One string, since one search in it takes less than many.
        self._text = "\n".join(["", *lines, ""])
        self._starts = [*accumulate((len(line) + 1 for line in lines), initial=1)]

    def name_at(self, line: int) -> str:
        """Return one of all names as it is written."""
        n = len(self._names)
        return str(self._names[line]) if line < n else self._others[line - n][1]

    def find(self, query: str) -> list[Hit]:
        """Return all things with a name that fits, each once by its best, in no order."""
        wanted = folded(query)
        words = [word.strip(_BETWEEN_WORDS) or word for word in wanted.split()]
        best: dict[int, Hit] = {}
        needles = (f"\n{wanted}\n", f"\n{wanted}", max(words, key=len)) if words else (" ",)
        # Names that are or begin with the query are among the hits however many there are.
        for line in self._lines_with(needles):
            name = self._text[self._starts[line] : self._starts[line + 1] - 1]
            fit = _fit(name, wanted, words)
            if fit is not None:
                is_other = line >= len(self._names)
                owner = self._others[line - len(self._names)][0] if is_other else line
                hit = Hit(fit, is_other, owner, line)
                best[owner] = min(hit, best.get(owner, hit))
        return list(best.values())

    def only_one(self, query: str, *, noun: str = "label") -> int | None:
        """Return what is meant by a name that is typed; None if nothing is called so.

        It is called so if all words of the query are words of one of its names. A better fit
        counts more; its own name counts more than others.

        Raises
        ------
        ValueError
            If several fit equally well.
        """
        hits = [hit for hit in self.find(query) if hit.fit <= Fit.WORDS]
        if not hits or not query.strip():
            return None

        def merit(hit: Hit) -> tuple[bool, int, bool]:
            is_part = hit.fit >= Fit.FIRST_WORDS
            return is_part, 0 if is_part else hit.fit, hit.is_other

        best = min(map(merit, hits))
        meant = sorted(hit.owner for hit in hits if merit(hit) == best)
        if len(meant) == 1:
            return meant[0]
        shortest = sorted(meant, key=lambda i: len(str(self._names[i])))[:N_LISTED]
        names = [str(self._names[i]) for i in shortest]
        such_as = "" if len(meant) <= N_LISTED else "such as "
        how = "in full"
        shown = [repr(name) for name in names]
        if len(set(names)) < len(names):
            how = "by its number"
            shown = [f"{name} ({i})" for name, i in zip(shown, shortest, strict=True)]
        raise ValueError(
            f"{query[:80]!r} fits {len(meant):,} {noun}s, {such_as}{', '.join(shown)}; "
            f"give one {how}"
        )

    def _lines_with(self, needles: Iterable[str]) -> Iterator[int]:
        """Yield the lines with the first needle, then those with the next, each once."""
        seen: set[int] = set()
        for needle in needles:
            at = self._text.find(needle)
            while at >= 0 and len(seen) < MAX_HITS:
                line = bisect_right(self._starts, at + (needle[0] == "\n")) - 1
                if line not in seen:
                    seen.add(line)
                    yield line
                at = self._text.find(needle, self._starts[line + 1] - 1)


def _fit(name: str, wanted: str, words: list[str]) -> Fit | None:
    """Say how a folded name fits a folded query, None if it lacks a word."""
    if name == wanted:
        return Fit.WHOLE
    is_first = bool(words) and name.startswith(wanted)
    if is_first and name[len(wanted) :].lstrip().startswith(_OPENING):
        return Fit.WITHOUT_QUALIFIER
    places = [_place(name, word) for word in words]
    if None in places:
        return None
    worst = max((place for place in places if place is not None), default=Fit.INSIDE)
    if worst is Fit.WORDS:
        return Fit.FIRST_WORDS if is_first else Fit.WORDS
    return Fit.BEGINNING if is_first else worst


def _place(name: str, word: str) -> Fit | None:
    """Say whether something is a word of a name, the beginning of one, or inside."""
    best: Fit | None = None
    at = name.find(word)
    while at >= 0:
        end = at + len(word)
        if at > 0 and name[at - 1].isalnum() and word[0].isalnum():
            best = best or Fit.INSIDE
        elif end < len(name) and name[end].isalnum() and word[-1].isalnum():
            best = Fit.BEGINNINGS_OF_WORDS
        else:
            return Fit.WORDS
        at = name.find(word, at + 1)
    return best
