"""One document with its labels, as every kind of file gives it."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from polyseme.inputs.excerpts import excerpt

__all__ = [
    "Corpus",
    "Described",
    "Record",
    "checked_records",
    "guess_separator",
    "name_with_comma",
    "separator_in",
    "split_labels",
    "uri_and_name",
]

_PYTHON_TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
# What str() makes of a list of texts, and so what pandas writes into a cell.
_PYTHON_LIST = re.compile(rf"\[\s*(?:{_PYTHON_TEXT})(?:\s*,\s*(?:{_PYTHON_TEXT}))*\s*\]", re.S)
# A scheme and a colon, and nothing that would have to be escaped
_URI_IN_BRACKETS = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:[^\s<>]*>$")
RIGHT_FROM = 0.5  # of labels that have a number
MOST_NAMES = 0.75  # "van Gogh, Vincent" looks like no name to us
_SEPARATORS = ("\t", "|", ";")  # ahead of the comma, which is also part of names


class Record(NamedTuple):
    """A text and its labels, and what its file calls it, if that has names for documents."""

    text: str
    labels: tuple[str, ...]
    id: str | None = None


class Corpus(Protocol):
    """Documents that can be walked through again and again, one at a time.

    Attributes
    ----------
    description : str
        What was found, for people.
    source : str
        The name of the file or folder.
    reading : dict
        The columns and the separator that were found or given, as arguments of `open_corpus`.
    label_names : Vocabulary, dict of str to str, or None
        Names of labels that are URIs, as far as they are known after a walk.
    """

    description: str
    source: str
    reading: dict[str, Any]

    @property
    def label_names(self) -> Mapping[str, str] | None:
        """Names of labels that are URIs."""
        ...

    def __iter__(self) -> Iterator[Record]:
        """Start at the first document."""
        ...


class Described:
    """A corpus that is printed as its file and what was found there."""

    source: str
    description: str

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.source}: {self.description}>"


def checked_records(records: Iterable[Record]) -> Iterable[Record]:
    """Refuse the name of a file, which `polyseme.text.open_corpus` has to open first."""
    if isinstance(records, str | os.PathLike):
        raise ValueError(
            "records are documents, not the name of a file; give "
            f"polyseme.text.open_corpus({os.fspath(records)!r})."
        )
    return records


def split_labels(value: Any, separator: str | None) -> tuple[str, ...]:
    """Return the labels that a cell holds.

    It is a list, a list as JSON or Python writes it, text, or spaCy's dict from each label to 0
    or 1.

    Spaces around labels and the angle brackets of URIs are removed, and so are repetitions.
    """
    labels: Iterable[str]
    if value is None:
        return ()
    if isinstance(value, dict):  # of spaCy: how far each label is right
        labels = [name for name, weight in value.items() if _is_right(name, weight)]
    elif isinstance(value, list | tuple):
        labels = map(_label_of, value)
    elif isinstance(value, str):
        listed = _as_list(value.strip())
        if listed is not None:
            return split_labels(listed, None)
        # A single space stands for spaces of any kind and number.
        labels = value.split(None if separator == " " else separator) if separator else [value]
    else:
        labels = [_label_of(value)]
    cleaned = (_without_brackets(label.strip()) for label in labels)
    return tuple(dict.fromkeys(label for label in cleaned if label))


def uri_and_name(line: str) -> tuple[str, str] | None:
    """Return the first two cells of a line of Annif's vocabularies, None if there are not two."""
    uri, _, rest = line.strip("\r\n").partition("\t")
    name = rest.split("\t", 1)[0].strip()
    uri = uri.strip().removeprefix("<").removesuffix(">")
    return (uri, name) if uri and name else None


def guess_separator(values: Iterable[Any]) -> str | None:
    """Guess from the first cells what stands between labels; None for one label per cell."""
    texts = [value.strip() for value in values if isinstance(value, str)]
    texts = [text for text in texts if text and _as_list(text) is None]
    if not texts:
        return None
    if all(_is_uri(word) for text in texts for word in text.split()):
        return " "
    n_with = {sign: sum(sign in text for text in texts) for sign in _SEPARATORS}
    best = max(_SEPARATORS, key=lambda sign: n_with[sign])
    if n_with[best] > 0:
        return best
    return "," if any("," in text for text in texts) else None


def separator_in(path: Path, cells: Sequence[Any]) -> str | None:
    """Guess what stands between labels, and doubt aloud commas that may be part of names."""
    found = guess_separator(cells)
    name = name_with_comma(cells) if found == "," else None
    if name is not None:
        warnings.warn(
            f"the labels of {path} are split at ',', but they look like names that have one, such "
            f"as {name!r}; if a cell is one label, say --label-separator '' (label_separator='').",
            stacklevel=2,
        )
    return found


def name_with_comma(values: Sequence[Any]) -> str | None:
    """Return a cell that is rather one name, as "Bach, Johann", than two labels, if most are so.

    Such a cell has a comma between capital letters, and perhaps another before years; and what
    follows the first is never the beginning of a cell, as a label would be now and then.
    """
    cells = [value.strip() for value in values if isinstance(value, str) and "," in value]
    pairs = [[part.strip() for part in cell.split(",")] for cell in cells]
    firsts = {pair[0] for pair in pairs} | {v.strip() for v in values if isinstance(v, str)}
    names = [
        cell
        for pair, cell in zip(pairs, cells, strict=True)
        if all(part[:1].isupper() for part in pair[:2])
        and all(part[-4:].strip("-?").isdecimal() for part in pair[2:])
        and pair[1] not in firsts
        and ", " in cell
    ]
    return names[0] if names and len(names) >= MOST_NAMES * len(cells) else None


def _as_list(text: str) -> list[Any] | None:
    if not (text.startswith("[") and text.endswith("]")):
        return None
    try:
        found = json.loads(text)
    except RecursionError:  # lists in lists, deeper than this version of Python reads
        return [[]]
    except ValueError:
        if not _PYTHON_LIST.fullmatch(text):
            return None
        return [re.sub(r"\\(.)", r"\1", part[1:-1]) for part in re.findall(_PYTHON_TEXT, text)]
    return found if isinstance(found, list) else None


def _label_of(item: Any) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, int) and not isinstance(item, bool):
        return str(item)
    if isinstance(item, dict):  # {"uri": ..., "label": ...}, as Annif writes it
        for key in ("uri", "id", "label", "name"):
            if isinstance(item.get(key), str):
                return str(item[key])
    is_long = isinstance(item, list | dict)
    shown = f"a {type(item).__name__}" if is_long else excerpt(repr(item), 80)
    raise ValueError(f"a label is {shown}; labels are texts or whole numbers")


def _is_right(name: str, weight: Any) -> bool:
    if not isinstance(weight, bool | int | float):
        shown = excerpt(repr(weight), 80)
        raise ValueError(f"the label {name!r} has {shown}; true, false or 0 to 1 is expected")
    return weight >= RIGHT_FROM


def _without_brackets(label: str) -> str:
    """Return a URI without the brackets around it; other labels may begin and end with them."""
    return label[1:-1] if label.endswith(">") and _URI_IN_BRACKETS.match(label) else label


def _is_uri(word: str) -> bool:
    return _without_brackets(word).startswith(("http://", "https://", "urn:"))
