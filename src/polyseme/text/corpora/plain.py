"""Plain text: one document per line, and its labels on the same line of another file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, repeat, zip_longest
from pathlib import Path
from typing import Any

from polyseme.machine.quantities import counted
from polyseme.text.corpora.lines import lines_of
from polyseme.text.corpora.records import Described, Record, separator_in, split_labels
from polyseme.text.corpora.table import N_LOOKED_AT, Wanted

__all__ = ["PlainLines", "plain_files_in"]

_ENDINGS = ("", ".txt", ".txt.gz", ".gz")


def plain_files_in(folder: Path) -> tuple[Path, Path] | None:
    """Return the files of texts and of labels in a folder, if both are there."""
    texts = _first_there(folder, ("text", "texts"))
    labels = _first_there(folder, ("labels",))
    return None if texts is None or labels is None else (texts, labels)


def _first_there(folder: Path, names: tuple[str, ...]) -> Path | None:
    places = (folder / f"{name}{ending}" for name in names for ending in _ENDINGS)
    return next((place for place in places if place.is_file()), None)


class PlainLines(Described):
    """Two files of as many lines; see `Corpus`."""

    def __init__(
        self,
        texts: Path,
        labels: Path,
        wanted: Wanted,
        vocabulary: Mapping[str, str] | None,
    ) -> None:
        if not labels.exists():
            raise FileNotFoundError(f"{labels} does not exist; give the file with the labels.")
        self._texts, self._labels, self._encoding = texts, labels, wanted.encoding
        self._need_labels = wanted.need_labels
        self.source = texts.name
        self.label_names = vocabulary
        self._separator = wanted.label_separator
        if self._separator is None and self._need_labels:
            first = islice(lines_of(labels, wanted.encoding), N_LOOKED_AT)
            self._separator = separator_in(labels, list(first))
        self.reading: dict[str, Any] = {"label_separator": self._separator}
        how = "" if not self._separator else f", split at {self._separator!r}"
        self.description = f"plain text, one document per line; labels from {labels.name}{how}"

    def __iter__(self) -> Iterator[Record]:
        number = 0
        texts, labels_of = (lines_of(path, self._encoding) for path in (self._texts, self._labels))
        pairs = zip_longest(texts, labels_of) if self._need_labels else zip(texts, repeat(""))
        for text, labels in pairs:
            if text is None or labels is None:
                short, long = (
                    (self._texts, self._labels) if text is None else (self._labels, self._texts)
                )
                raise ValueError(
                    f"{short} has {counted(number, 'line')} and {long} has more; line by line "
                    "they belong together."
                )
            number += 1
            yield Record(text.rstrip("\r\n"), split_labels(labels, self._separator))
        if number == 0:
            raise ValueError(f"{self._texts} is empty; give one document per line.")
