"""Which format a file has, by its name or, where that says nothing, by its first lines."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from polyseme.text.corpora.fasttext import PREFIX
from polyseme.text.corpora.lines import lines_of
from polyseme.text.corpora.table import KNOWN_NAMES, LONGEST_NAME, TEXT_NAMES

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
N_LINES = 20  # that are looked at
WORDS = 3  # of a column's name at most
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
    if beginning in _BEGINNINGS and not _is_of_word(path):
        return _BEGINNINGS[beginning]
    lines = [line for line in islice(lines_of(path, encoding), N_LINES) if line.strip()]
    first, second = [*(line.strip() for line in lines), "", ""][:2]
    if first.startswith(PREFIX):
        return "fasttext"
    if _is_json(first) or _JSON_LIST.match(first + second):
        return "jsonl"
    return _table_of(lines, dict(like or {})) if second else None


def _is_of_word(path: Path) -> bool:
    """Return whether a file is a ZIP archive that holds no table, as Word has it."""
    try:
        with ZipFile(path) as archive:
            return "word/document.xml" in archive.namelist()
    except (BadZipFile, OSError):
        return False


def _is_json(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict) or _SPACYS.match(line) is not None
    except (ValueError, RecursionError):
        return False


def _table_of(lines: list[str], like: dict[str, Any]) -> str | None:
    """Return the format of a table if the first line names columns, one of which holds texts."""
    usual = {str(name).lower() for name in like.get("text_columns") or ()}
    for sign, name in _SIGNS.items():
        try:
            header = next(csv.reader(lines[:1], delimiter=sign, skipinitialspace=True))
        except (csv.Error, ValueError):
            continue
        cells = {cell.strip().lower() for cell in header}
        if len(header) < 2 or not all(0 < len(cell.strip()) <= LONGEST_NAME for cell in header):
            continue
        if not cells & (usual | TEXT_NAMES):
            continue
        # Two known names are no chance, nor is one that only the model's documents have.
        own = usual - TEXT_NAMES
        if len(cells & KNOWN_NAMES) > 1 or cells & own or _is_even(lines, sign):
            return name
    return None


def _is_even(lines: list[str], sign: str) -> bool:
    """Return whether lines look like a table, by the first two rows.

    Prose has blanks behind its commas, long phrases between them, and other numbers of them.
    """
    try:
        header, row = islice(csv.reader(lines, delimiter=sign), 2)
    except (csv.Error, ValueError):
        return False
    are_names = all(not cell[0].isspace() and len(cell.split()) <= WORDS for cell in header)
    is_cut_off = len(row) < len(header) and "\n" in row[-1]  # in a long text
    return are_names and (len(row) == len(header) or is_cut_off)
