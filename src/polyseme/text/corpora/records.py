"""One document with its labels, as every kind of file gives it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

__all__ = ["Corpus", "Record", "guess_separator", "split_labels", "uri_and_name"]

_PYTHON_TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
# What str() makes of a list of texts, and so what pandas writes into a cell.
_PYTHON_LIST = re.compile(rf"\[\s*(?:{_PYTHON_TEXT})(?:\s*,\s*(?:{_PYTHON_TEXT}))*\s*\]", re.S)
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
    reading : dict
        The columns and the separator that were found or given, as arguments of `open_corpus`.
    label_names : Vocabulary, dict of str to str, or None
        Names of labels that are URIs, as far as they are known after a walk.
    """

    description: str
    reading: dict[str, Any]

    @property
    def label_names(self) -> Mapping[str, str] | None:
        """Names of labels that are URIs."""
        ...

    def __iter__(self) -> Iterator[Record]:
        """Start at the first document."""
        ...


def split_labels(value: Any, separator: str | None) -> tuple[str, ...]:
    """Return the labels that a cell holds: a list, a list as JSON or Python writes it, or text.

    Spaces around labels and the angle brackets of URIs are removed, and so are repetitions.
    """
    labels: Iterable[str]
    if value is None:
        return ()
    if isinstance(value, list | tuple):
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
    """Guess from the first cells what stands between labels; None for one label a cell."""
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


def _as_list(text: str) -> list[Any] | None:
    if not (text.startswith("[") and text.endswith("]")):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
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
    raise ValueError(f"a label is {item!r}; labels are texts or whole numbers")


def _without_brackets(label: str) -> str:
    return label[1:-1] if label.startswith("<") and label.endswith(">") else label


def _is_uri(word: str) -> bool:
    return _without_brackets(word).startswith(("http://", "https://", "urn:"))
