"""CSV and TSV files with a header."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from polyseme.machine.quantities import counted
from polyseme.text.corpora.lines import LONGEST_LINE, lines_of
from polyseme.text.corpora.table import TableSource

__all__ = ["DelimitedFile"]

_DELIMITERS = (",", ";", "\t", "|")


class DelimitedFile(TableSource):
    """Rows of cells between commas, semicolons or tabs; which of them is seen in the header."""

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        super().__init__(path, encoding)
        header = next(lines_of(path, encoding), "").rstrip("\r\n")
        if not header.strip():
            raise ValueError(f"{path} is empty; its first line must name the columns.")
        signs = ("\t", *_DELIMITERS) if ".tsv" in path.name.lower() else _DELIMITERS
        self._delimiter = max(signs, key=lambda sign: len(_cells(header, sign)))  # first of equals
        self.kind = "TSV" if self._delimiter == "\t" else f"CSV with {self._delimiter!r}"

    def columns(self) -> list[str]:
        """Return the cells of the header."""
        header = next(self._records())[1]
        repeated = {name for name in header if header.count(name) > 1 and name}
        if repeated:
            raise ValueError(
                f"{self.path} has two columns named {min(repeated)!r}; rename one of them."
            )
        return header

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
        """Yield the cells of each row below the header."""
        records = self._records()
        _, header = next(records)
        places = [header.index(name) for name in columns]
        rows = ((line, cells) for line, cells in records if cells)  # without blank lines
        for number, (line, cells) in enumerate(rows):
            if len(cells) != len(header):
                advice = f"quote cells that hold a {self._delimiter!r}"
                if len(cells) < len(header):
                    advice = "add those that are missing"
                raise ValueError(
                    f"{self.path}, row {number} (line {line}): has {counted(len(cells), 'cell')}, "
                    f"but the header names {counted(len(header), 'column')}; {advice}."
                )
            yield f"row {number} (line {line})", [cells[place] for place in places]

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield each record with the line that it begins on."""
        # Full texts are longer than what the csv module takes without being told.
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
        reader = csv.reader(
            lines_of(self.path, self.encoding), delimiter=self._delimiter, strict=True
        )
        line = 1
        row = -1  # that of the header
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                where = f"line {line}" if row < 0 else f"row {row} (line {line})"
                raise ValueError(f"{self.path}, {where}: {_reason(error)}") from None
            yield line, cells
            row += bool(cells) or row < 0
            line = reader.line_num + 1


def _cells(header: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([header], delimiter=delimiter))
    except (csv.Error, StopIteration):
        return []


def _reason(error: csv.Error) -> str:
    text = str(error)
    if "unexpected end of data" in text or "field larger" in text:
        return "a quote is opened that is never closed; close it, or double quotes within a cell."
    if "new-line character" in text:
        return "lines that end in a carriage return alone; save it with other line ends."
    if "expected after" in text:
        return "something follows a closing quote; double quotes within a cell."
    return f"not readable as CSV ({text})."
