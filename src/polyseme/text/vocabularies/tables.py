"""Vocabularies as tables: TSV as Annif has it, CSV and TSV with a header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from polyseme.text.corpora.delimited import DelimitedFile
from polyseme.text.corpora.lines import lines_of
from polyseme.text.corpora.records import uri_and_name
from polyseme.text.vocabularies.vocabulary import NO_LANGUAGE, Entry

__all__ = ["read_table"]

_COLUMNS = {
    "uri": ("uri", "concept_uri", "concept", "id", "identifier"),
    "name": ("label", "preflabel", "pref_label", "preferred_label", "name", "term"),
    "alternatives": ("altlabel", "altlabels", "alt_label", "alt_labels", "synonym", "synonyms"),
    "notations": ("notation", "notations", "code", "class"),
    "broader": ("broader", "broader_uri", "parent", "parent_uri", "parent_id"),
}
_MEANINGS = {name: what for what, names in _COLUMNS.items() for name in names}
_LANGUAGE = re.compile(r"(?P<what>.+?)[_@](?P<language>[a-z]{2,3}(-[a-z0-9]+)*)")


class _Column(NamedTuple):
    """A column of a table and what is in it."""

    title: str
    what: str
    language: str


def read_table(path: Path) -> dict[str, Entry]:
    """Return the concepts of a TSV or CSV file by URI.

    CSV has a header, with columns such as uri, label or label_en, altLabel_en, notation and
    broader; several alternatives, notations or broader URIs in a cell stand between ``|`` or
    ``;``. TSV may have one, and is else URI, name and perhaps notation a line.
    """
    is_csv = ".csv" in {suffix.lower() for suffix in path.suffixes}
    found = _by_columns(path) if is_csv or _has_header(path) else _by_lines(path)
    if not found:
        raise ValueError(f"{path} is empty; give a URI and a name per line.")
    return found


def _has_header(path: Path) -> bool:
    lines = [line.rstrip("\r\n").split("\t") for line in islice(lines_of(path), 2)]
    if not lines:
        return False
    columns = list(_understood(lines[0]))
    if {"uri", "name"} <= {column.what for column in columns}:
        return True
    if len(lines) == 2 and _is_uri(lines[1][0]) and not _is_uri(lines[0][0]):
        raise ValueError(
            f"{path}: the first line seems to name columns ({', '.join(lines[0])}); call them "
            "'uri' and 'label', or remove it."
        )
    return False


def _by_lines(path: Path) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for number, line in enumerate(lines_of(path), start=1):
        if not line.strip():
            continue
        pair = uri_and_name(line)
        if pair is None:
            raise ValueError(f"{path}, line {number}: a URI, a tab and a name are expected.")
        entry = found.setdefault(pair[0], Entry())
        entry.add_name(NO_LANGUAGE, pair[1])
        entry.notations += [cell.strip() for cell in line.split("\t")[2:3] if cell.strip()]
    return found


def _by_columns(path: Path) -> dict[str, Entry]:
    table = DelimitedFile(path)
    titles = table.columns()
    columns = list(_understood(titles))
    if not any(column.what == "uri" for column in columns):  # codes are what labels are called
        columns = [c._replace(what="uri") if c.what == "notations" else c for c in columns]
    if not {"uri", "name"} <= {column.what for column in columns}:
        raise ValueError(
            f"{path} must have a header with the columns 'uri' and 'label', or 'label_en' and the "
            f"like; its columns are {', '.join(map(repr, titles[:10]))}."
        )
    found: dict[str, Entry] = {}
    for _, cells in table.rows([column.title for column in columns]):
        uri = next(
            _without_brackets(cell)
            for column, cell in zip(columns, cells, strict=True)
            if column.what == "uri"
        )
        if uri:
            _fill(found.setdefault(uri, Entry()), columns, cells)
    return found


def _fill(entry: Entry, columns: Sequence[_Column], cells: Sequence[str]) -> None:
    for (_, what, language), cell in zip(columns, cells, strict=True):
        if not cell.strip():
            continue
        if what == "name":
            entry.add_name(language, cell.strip())
        elif what == "alternatives":
            entry.alternatives.setdefault(language, []).extend(_several(cell))
        elif what == "notations":
            entry.notations += _several(cell)
        elif what == "broader":
            entry.broader += map(_without_brackets, _several(cell))


def _understood(titles: Sequence[str]) -> Iterator[_Column]:
    """Yield the columns whose titles say what is in them; of several for URIs the best."""
    found = [_meaning(title) for title in titles]
    by_name = [c.title for name in _COLUMNS["uri"] for c in found if c and _plain(c.title) == name]
    for column in found:
        if column is not None and (column.what != "uri" or column.title == by_name[0]):
            yield column


def _meaning(title: str) -> _Column | None:
    plain = _plain(title)
    if plain in _MEANINGS:
        return _Column(title, _MEANINGS[plain], NO_LANGUAGE)
    tagged = _LANGUAGE.fullmatch(plain)
    if tagged is not None and _MEANINGS.get(tagged["what"]) in ("name", "alternatives"):
        return _Column(title, _MEANINGS[tagged["what"]], tagged["language"])
    return None


def _plain(title: str) -> str:
    return re.sub(r"[^a-z0-9@-]+", "_", title.lower()).strip("_").removeprefix("skos_")


def _several(cell: str) -> list[str]:
    parts = cell.split("|" if "|" in cell else ";")
    return [part.strip() for part in parts if part.strip()]


def _without_brackets(cell: str) -> str:
    return cell.strip().removeprefix("<").removesuffix(">")


def _is_uri(cell: str) -> bool:
    return cell.strip().startswith(("<", "http://", "https://", "urn:"))
