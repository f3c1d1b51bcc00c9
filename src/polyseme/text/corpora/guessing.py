"""Which format a file has, by its name or, where that says nothing, by its first lines."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from polyseme.text.corpora.fasttext import PREFIX
from polyseme.text.corpora.lines import lines_of
from polyseme.text.corpora.table import LONGEST_NAME, TEXT_NAMES

__all__ = ["ENDINGS", "ending_of", "format_by_name", "guess_format"]

ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "excel",
    ".xlsm": "excel",
}
_BEGINNINGS = {b"PAR1": "parquet", b"PK\x03\x04": "excel"}
_JSON_LIST = re.compile(r'\[\s*(\[\s*"|\{\s*("|$))')
_SPACYS = re.compile(r'\[\s*".*"cats"\s*:')
_SIGNS = {"\t": "tsv", ",": "csv", ";": "csv", "|": "csv"}


def format_by_name(path: Path) -> str | None:
    """Return the format that the ending promises."""
    return ENDINGS.get(ending_of(path))


def ending_of(path: Path) -> str:
    """Return the ending of a file without that of gzip."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def guess_format(
    path: Path, encoding: str | None = None, like: Mapping[str, Any] | None = None
) -> str | None:
    """Return the format that the beginning of a file shows; None for plain text.

    Parameters
    ----------
    like : dict, optional
        The ``reading`` of another corpus, whose columns a header may name.
    """
    with open(path, "rb") as file:
        beginning = file.read(4)
    if beginning in _BEGINNINGS:
        return _BEGINNINGS[beginning]
    lines = (line.strip() for line in islice(lines_of(path, encoding), 20))
    first, second = [*filter(None, lines), "", ""][:2]
    if first.startswith(PREFIX):
        return "fasttext"
    if _is_json(first) or _JSON_LIST.match(first + second):
        return "jsonl"
    return _table_of(first, dict(like or {})) if second else None


def _is_json(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict) or _SPACYS.match(line) is not None
    except (ValueError, RecursionError):
        return False


def _table_of(header: str, like: dict[str, Any]) -> str | None:
    """Return the format of a table if the line names columns, one of which holds texts."""
    usual = {str(name).lower() for name in like.get("text_columns") or ()}
    for sign, name in _SIGNS.items():
        try:
            cells = [cell.strip().lower() for cell in next(csv.reader([header], delimiter=sign))]
        except (csv.Error, StopIteration):
            continue
        are_names = all(0 < len(cell) <= LONGEST_NAME for cell in cells)
        if len(cells) > 1 and are_names and set(cells) & (usual | TEXT_NAMES):
            return name
    return None
