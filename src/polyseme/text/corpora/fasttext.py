"""Lines as fastText takes them: words with a prefix are labels, the others are the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polyseme.text.corpora.lines import lines_of
from polyseme.text.corpora.records import Described, Record
from polyseme.text.corpora.table import Wanted

__all__ = ["PREFIX", "FastTextLines"]

PREFIX = "__label__"


class FastTextLines(Described):
    """One document per line, its labels among its words, such as ``__label__cat A black cat``."""

    def __init__(self, path: Path, wanted: Wanted, vocabulary: Mapping[str, str] | None) -> None:
        self._path, self._encoding = path, wanted.encoding
        self.source = path.name
        self.label_names = vocabulary
        self.reading: dict[str, Any] = {}
        self.description = f"lines of fastText; labels are the words with {PREFIX}"

    def __iter__(self) -> Iterator[Record]:
        is_empty = True
        for line in lines_of(self._path, self._encoding):
            words = line.split()
            if not words:
                continue
            is_empty = False
            labels = (word[len(PREFIX) :] for word in words if word.startswith(PREFIX))
            text = " ".join(word for word in words if not word.startswith(PREFIX))
            yield Record(text, tuple(dict.fromkeys(filter(None, labels))))
        if is_empty:
            raise ValueError(f"{self._path} is empty; give one document per line.")
