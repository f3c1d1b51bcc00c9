"""Tables of documents: which columns hold the text, which one the labels."""

from __future__ import annotations

import difflib
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from polyseme.text.corpora.records import Described, Record, separator_in, split_labels

__all__ = ["Table", "TableSource", "Wanted"]

N_LOOKED_AT = 1000  # rows, to guess what stands between labels
LONGEST_NAME = 60  # of a column; what is longer is text
MOST_NAMES = 20
_TEXT = ("text", "fulltext", "full_text", "document", "content")
_TEXT_PARTS = ("title", "headline", "subtitle", "abstract", "summary", "description", "body")
TEXT_NAMES = frozenset((*_TEXT, *_TEXT_PARTS))
_LABELS = (
    *("labels", "label", "tags", "tag", "keywords", "subjects", "subject", "subject_uris"),
    *("subject_labels", "categories", "category", "topics", "topic", "classes", "class"),
    *("schlagwörter", "schlagworte", "schlagwort"),
    "cats",  # of spaCy
)
_ID = (
    *("id", "_id", "doc_id", "docid", "document_id", "record_id", "identifier", "uid", "uuid"),
    *("article_id", "paper_id", "doi", "ppn"),
)
KNOWN_NAMES = TEXT_NAMES | {*_LABELS, *_ID}


@dataclass(frozen=True)
class Wanted:
    """What the user said of the columns; the rest is found."""

    text_columns: tuple[str, ...] = ()
    labels_column: str | None = None
    label_separator: str | None = None
    need_labels: bool = True
    like: dict[str, Any] = field(default_factory=dict)
    id_column: str | None = None
    encoding: str | None = None

    @property
    def names_columns(self) -> bool:
        """Whether a column was named, so that there must be some."""
        return bool(self.text_columns or self.labels_column or self.id_column)


class TableSource(ABC):
    """A file with named columns.

    Attributes
    ----------
    path : Path
    encoding : str or None
        Of text; UTF-8 if it is not given.
    kind : str
        What to call it.
    """

    kind: str

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.path, self.encoding = path, encoding

    @abstractmethod
    def columns(self) -> list[str]:
        """Return the names of the columns."""

    @abstractmethod
    def rows(self, columns: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
        """Yield for each row where it is ("row 3", from 0) and its cells in these columns."""


def _as_usual(path: Path, cells: list[Any], usual: str | None, found: str | None) -> str | None:
    """Return the separator of the data that came first, if nothing speaks against it."""
    if usual is None or found is None:  # lists have none, and single labels need none
        return usual or found
    if usual != found and not any(usual in cell for cell in cells if isinstance(cell, str)):
        raise ValueError(
            f"the labels of {path} seem to be split at {found!r}, but those that the model was "
            f"trained on were split at {usual!r}; say which it is with --label-separator."
        )
    return usual


class Table(Described):
    """Documents from a table; see `Corpus`."""

    def __init__(
        self, source: TableSource, wanted: Wanted, vocabulary: Mapping[str, str] | None
    ) -> None:
        self._source, self.source = source, source.path.name
        self.label_names = vocabulary
        found = source.columns()
        self._text_columns = _text_columns(source.path, found, wanted)
        self._labels_column = _labels_column(source.path, found, wanted, self._text_columns)
        self._id_column = _id_column(
            source.path, found, wanted, (*self._text_columns, self._labels_column)
        )
        separator = wanted.label_separator
        self._read_labels = self._labels_column if wanted.need_labels else None
        if self._read_labels is not None and separator is None:
            first = self._first_labels()
            separator = separator_in(source.path, first)
            if self._labels_column == wanted.like.get("labels_column"):
                usual = wanted.like.get("label_separator")
                separator = _as_usual(source.path, first, usual, separator)
        self._separator = separator
        self.reading: dict[str, Any] = {
            "text_columns": list(self._text_columns),
            "labels_column": self._labels_column,
            "label_separator": separator,
            "id_column": self._id_column,
        }
        named = "" if self._id_column is None else f", ids from {self._id_column!r}"
        self.description = (
            f"{source.kind}; text from {_listed(self._text_columns)}{self._described_labels()}"
            f"{named}"
        )

    def __iter__(self) -> Iterator[Record]:
        n_text = len(self._text_columns)
        others = [name for name in (self._read_labels, self._id_column) if name is not None]
        is_empty = True
        for place, cells in self._source.rows([*self._text_columns, *others]):
            is_empty = False
            more: dict[str | None, Any] = dict(zip(others, cells[n_text:], strict=True))
            try:
                text = "\n".join(filter(None, map(_text_of, cells[:n_text])))
                labels = split_labels(more.get(self._read_labels), self._separator)
                own_id = _text_of(more.get(self._id_column), "id") or None
                _require_unicode(text, own_id or "", *labels)
            except ValueError as error:
                raise ValueError(f"{self._source.path}, {place}: {error}.") from None
            yield Record(text, labels, own_id)
        if is_empty:
            raise ValueError(f"{self._source.path} has no rows; give at least one document.")

    def _first_labels(self) -> list[Any]:
        assert self._labels_column is not None
        with closing(self._source.rows([self._labels_column])) as rows:  # type: ignore[type-var]
            return [cells[0] for _, cells in islice(rows, N_LOOKED_AT)]

    def _described_labels(self) -> str:
        if self._labels_column is None:
            return ", no labels"
        if self._read_labels is None:
            return f", labels in {self._labels_column!r} are ignored"
        how = "" if not self._separator else f", split at {self._separator!r}"
        return f", labels from {self._labels_column!r}{how}"


def _text_columns(path: Path, found: Sequence[str], wanted: Wanted) -> tuple[str, ...]:
    if wanted.text_columns:
        return tuple(_known(path, name, found, "--text-column") for name in wanted.text_columns)
    usual = wanted.like.get("text_columns") or ()
    if usual and set(usual) <= set(found):
        return tuple(usual)
    by_name = {name.strip().lower(): name for name in reversed(found)}
    for name in _TEXT:
        if name in by_name:
            return (by_name[name],)
    parts = tuple(by_name[name] for name in _TEXT_PARTS if name in by_name)
    if parts:
        return parts
    raise ValueError(
        f"{path} has no column for the text; its columns are {_listed(found)}; choose with "
        f"--text-column, or text_columns in Python{_if_headless(found)}."
    )


def _labels_column(
    path: Path, found: Sequence[str], wanted: Wanted, text_columns: Sequence[str]
) -> str | None:
    if wanted.labels_column is not None:
        if wanted.labels_column in text_columns:
            raise ValueError(
                f"{path}: the column {wanted.labels_column!r} cannot hold both text and labels; "
                "name another with --text-column or --labels-column."
            )
        return _known(path, wanted.labels_column, found, "--labels-column")
    others = [name for name in found if name not in text_columns]
    if wanted.like.get("labels_column") in others:
        return str(wanted.like["labels_column"])
    by_name = {name.strip().lower(): name for name in reversed(others)}
    for name in _LABELS:
        if name in by_name:
            return by_name[name]
    if not wanted.need_labels:
        return None
    raise ValueError(
        f"{path} has no column for the labels; its columns are {_listed(found)}; choose with "
        f"--labels-column, or labels_column in Python{_if_headless(found)}."
    )


def _id_column(
    path: Path, found: Sequence[str], wanted: Wanted, taken: Sequence[str | None]
) -> str | None:
    if wanted.id_column is not None:
        return _known(path, wanted.id_column, found, "--id-column")
    if wanted.like.get("id_column") in found:
        return str(wanted.like["id_column"])
    by_name = {name.strip().lower(): name for name in reversed(found) if name not in taken}
    return next((by_name[name] for name in _ID if name in by_name), None)


def _known(path: Path, name: str, found: Sequence[str], option: str) -> str:
    if name in found:
        return name
    near = difflib.get_close_matches(name, found, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"its columns are {_listed(found)}."
    raise ValueError(f"{path} has no column {name!r} ({option}); {hint}")


def _if_headless(found: Sequence[str]) -> str:
    if all(len(name) <= LONGEST_NAME for name in found):
        return ""
    return "; the first line does not look like a header: if there is none, add one"


def _listed(names: Sequence[str]) -> str:
    shown = [repr(textwrap.shorten(name, LONGEST_NAME)) for name in names[:MOST_NAMES]]
    return ", ".join([*shown, *["..."] * (len(names) > MOST_NAMES)]) or "none"


def _text_of(cell: Any, what: str = "text") -> str:
    if isinstance(cell, str):
        return cell
    if cell is None or cell != cell:  # not a number, as pandas writes what is missing
        return ""
    if isinstance(cell, list | tuple) and all(isinstance(part, str) for part in cell):
        return "\n".join(cell)
    if isinstance(cell, int | float):
        return str(cell)
    raise ValueError(f"its {what} is a {type(cell).__name__}; a text is expected")


def _require_unicode(*texts: str) -> None:
    try:
        for text in texts:
            text.encode()
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which is not valid Unicode") from None
