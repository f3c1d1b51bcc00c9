"""A JSON list of documents, as pandas and json.dump write it, read one item at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from polyseme.machine.quantities import counted
from polyseme.text.corpora.lines import LONGEST_LINE, pieces_of

__all__ = ["begins_list", "items_of"]

_LIST = re.compile(r"\s*\[\s*(\[|\{|\]|$)")
_SPACE = re.compile(r"\s*")


def begins_list(beginning: str) -> bool:
    """Say whether a text begins a list of objects or lists; spaCy's lines are a list each."""
    return _LIST.match(beginning) is not None


def items_of(path: Path, encoding: str | None = None) -> Iterator[Any]:
    """Yield the items of the list; ValueError where it is not one."""
    reader = _Reader(path, encoding)
    reader.take("[")
    row = 0
    while not reader.takes("]"):
        if row > 0:
            reader.take(",", row)
        yield reader.item(row)
        row += 1
    reader.end(row)


class _Reader:
    """What was read of a file and not yet understood."""

    def __init__(self, path: Path, encoding: str | None) -> None:
        self._path, self._pieces = path, pieces_of(path, encoding)
        self._text, self._at = "", 0
        self._decode = json.JSONDecoder().raw_decode

    def takes(self, sign: str) -> bool:
        """Go on behind a sign, if it comes next."""
        self._skip_space()
        found = self._text.startswith(sign, self._at)
        self._at += found
        return found

    def take(self, sign: str, row: int = 0) -> None:
        """Go on behind a sign that must come next."""
        if self.takes(sign):
            return
        after = f"after row {row - 1}" if row else "at the beginning"
        if self._at == len(self._text):
            raise ValueError(f"{self._path}: the list is cut off {after}; get the file again.")
        raise ValueError(f"{self._path}: not JSON ({sign!r} is missing {after}).")

    def item(self, row: int) -> Any:
        """Return the next item, reading on until it is whole."""
        self._skip_space()
        while True:
            try:
                item, self._at = self._decode(self._text, self._at)
            except RecursionError:
                raise self._refused(row, "nested too deeply") from None
            except ValueError as error:
                reason = getattr(error, "msg", "a huge number")
                if len(self._text) - self._at > LONGEST_LINE or not self._read_more():
                    raise self._refused(row, reason) from None
            else:
                return item

    def end(self, n_rows: int) -> None:
        """Refuse anything behind the list."""
        self._skip_space()
        if self._at < len(self._text):
            rows = counted(n_rows, "row")
            raise ValueError(f"{self._path}: there is more behind the list of {rows}.")

    def _refused(self, row: int, reason: str) -> ValueError:
        return ValueError(f"{self._path}, row {row}: not JSON ({reason}).")

    def _skip_space(self) -> None:
        while True:
            space = _SPACE.match(self._text, self._at)
            assert space is not None
            self._at = space.end()
            if self._at < len(self._text) or not self._read_more():
                return

    def _read_more(self) -> bool:
        """Read as much again as there is, so that a long item is decoded only a few times."""
        self._text, self._at = self._text[self._at :], 0
        wanted, parts = max(1, len(self._text)), []
        for piece in self._pieces:
            parts.append(piece)
            wanted -= len(piece)
            if wanted <= 0:
                break
        self._text = "".join(chain([self._text], parts))
        return bool(parts)
