"""Corpora of Annif: TSV files of short texts, folders of full texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polyseme.text.corpora.lines import lines_of
from polyseme.text.corpora.records import Described, Record, split_labels, uri_and_name
from polyseme.text.corpora.table import Wanted
from polyseme.text.vocabularies.vocabulary import Vocabulary

__all__ = ["AnnifFolder", "AnnifTsv", "looks_like_annif_tsv"]

_KEYS = (".tsv", ".key")


def looks_like_annif_tsv(path: Path, wanted: Wanted) -> bool:
    """Say whether the first line is a text and URIs rather than the names of columns."""
    if wanted.names_columns:
        return False
    _, tab, uris = next(lines_of(path, wanted.encoding), "").rstrip("\r\n").partition("\t")
    words = uris.split()
    return bool(tab and words) and all(
        word.startswith(("<", "http://", "https://", "urn:")) for word in words
    )


class AnnifTsv(Described):
    """One document per line: its text, a tab, and URIs between spaces."""

    def __init__(self, path: Path, wanted: Wanted, vocabulary: Mapping[str, str] | None) -> None:
        self._path, self._encoding = path, wanted.encoding
        self._need_labels = wanted.need_labels
        self.source = path.name
        self.label_names = vocabulary
        self.reading: dict[str, Any] = {}
        self.description = "TSV as Annif has it: a text, a tab, URIs"

    def __iter__(self) -> Iterator[Record]:
        row = -1
        lines = enumerate(lines_of(self._path, self._encoding), start=1)
        for row, (number, line) in enumerate((n, line) for n, line in lines if line.strip()):
            text, _, uris = line.rstrip("\r\n").partition("\t")
            if not self._need_labels:
                yield Record(text, ())
                continue
            if "\t" in uris:
                raise ValueError(
                    f"{self._path}, row {row} (line {number}): has more than one tab; a text, a "
                    "tab and URIs between spaces are expected."
                )
            yield Record(text, split_labels(uris, " "))
        if row < 0:
            raise ValueError(f"{self._path} is empty; give a text, a tab and URIs per line.")


class AnnifFolder(Described):
    """A folder of ``.txt`` files, each with its labels in a ``.tsv`` or ``.key`` of that name.

    That name is the id of the document.

    A ``.tsv`` has lines of URI, tab, name; a ``.key`` has one name per line, which the vocabulary,
    if there is one, turns into a URI.
    """

    def __init__(self, folder: Path, wanted: Wanted, vocabulary: Mapping[str, str] | None) -> None:
        self._folder, self._encoding = folder, wanted.encoding
        self.source = folder.name
        self._need_labels = wanted.need_labels
        self._has_uris = vocabulary is not None or any(folder.glob("*.tsv"))
        self.label_names: Vocabulary | None = None
        if self._has_uris:  # one of its own, to which names in files of labels are added
            self.label_names = Vocabulary(Vocabulary.of(vocabulary or {}).concepts)
        self._uri_of: dict[str, str] = {}
        for uri, name in (vocabulary or {}).items():
            self._uri_of.setdefault(name, uri)
        self.reading: dict[str, Any] = {}
        self.description = "a folder as Annif has it: .txt files, labels in .tsv or .key files"

    @staticmethod
    def is_one(folder: Path) -> bool:
        """Say whether there is a text with a file of labels beside it."""
        return any(
            file.with_suffix(kind).is_file() for file in folder.glob("*.txt") for kind in _KEYS
        )

    def __iter__(self) -> Iterator[Record]:
        for file in sorted(self._folder.glob("*.txt")):
            keys = None
            if self._need_labels:
                keys = next((k for k in map(file.with_suffix, _KEYS) if k.is_file()), None)
            text = "".join(lines_of(file, self._encoding))
            labels = () if keys is None else tuple(dict.fromkeys(self._labels(keys)))
            yield Record(text, labels, file.stem)

    def _labels(self, keys: Path) -> Iterator[str]:
        for number, line in enumerate(lines_of(keys, self._encoding), start=1):
            if not line.strip():
                continue
            if keys.suffix == ".key":
                name = line.strip()
                yield self._uri_of.get(name, name)
                continue
            found = uri_and_name(line)
            if found is None:
                raise ValueError(f"{keys}, line {number}: a URI, a tab and a name are expected.")
            assert self.label_names is not None
            self.label_names.add_name(*found)
            yield found[0]
