"""Excel files, by openpyxl (extra ``excel``)."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from polyseme.machine.extras import how_to_install
from polyseme.text.corpora.table import TableSource

__all__ = ["ExcelFile"]


class ExcelFile(TableSource):
    """Rows of the first sheet, below a row with the names of the columns.

    Further sheets with the same first row are read too: a long table needs several.
    """

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        super().__init__(path, encoding)
        with self._opened() as sheets:
            first = [next(self._lines_of(sheet), ()) for sheet in sheets]
            alike = [i for i, cells in enumerate(first) if cells == first[0] and any(cells)]
            self._read = alike or [0]
            others = f" (the first of {len(sheets)})" if len(sheets) > 1 else ""
            self.kind = f"Excel, sheet {sheets[0].title!r}{others}"
            if len(self._read) > 1:
                self.kind = f"Excel, {len(self._read)} sheets with the same columns"

    def columns(self) -> list[str]:
        """Return the cells of the first row."""
        return [name for name in self._header() if name]

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
        """Yield the cells of each row below the first, but for rows without any."""
        header = self._header()
        places = [header.index(name) for name in columns]
        number = 0
        for line, cells in self._lines():
            if all(cell is None for cell in cells):
                continue
            own = [cells[place] if place < len(cells) else None for place in places]
            yield f"row {number} ({line})", [_plain(cell) for cell in own]
            number += 1

    def _header(self) -> list[str]:
        with self._opened() as sheets:
            first = next(self._lines_of(sheets[0]), ())
        names = ["" if cell is None else str(_plain(cell)) for cell in first]
        if not any(names):
            raise ValueError(f"{self.path}: the first row of {self.kind} must name the columns.")
        repeated = {name for name in names if names.count(name) > 1 and name}
        if repeated:
            raise ValueError(
                f"{self.path} has two columns named {min(repeated)!r}; rename one of them."
            )
        return names

    def _lines(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Yield the cells below the header of each sheet, and where they are."""
        with self._opened() as sheets:
            for i in self._read:
                where = f", sheet {sheets[i].title!r}" if i else ""
                lines = enumerate(self._lines_of(sheets[i]), start=1)
                yield from ((f"line {line}{where}", cells) for line, cells in lines if line > 1)

    def _lines_of(self, sheet: Any) -> Iterator[tuple[Any, ...]]:
        lines = sheet.iter_rows(values_only=True)
        while True:
            try:
                cells = next(lines, None)
            except OSError:
                raise
            except Exception as error:
                raise self._unreadable() from error
            if cells is None:
                return
            yield cells

    @contextmanager
    def _opened(self) -> Iterator[list[Any]]:
        try:
            import openpyxl
        except ImportError:
            raise ValueError(
                f"{self.path} is an Excel file; to read it, {how_to_install('excel')}, or save "
                "its table as CSV."
            ) from None
        with open(self.path, "rb") as file:  # of a path, openpyxl wants a known ending
            try:
                book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            except OSError:
                raise
            except Exception as error:  # there is no end to what a damaged file raises
                raise self._unreadable() from error
            try:
                shown = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
                yield shown or book.worksheets
            finally:
                book.close()

    def _unreadable(self) -> ValueError:
        return ValueError(
            f"{self.path} is not a readable Excel file (.xlsx); save its table as CSV, with a "
            "header."
        )


def _plain(cell: Any) -> Any:
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)  # Excel knows no whole numbers
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    return cell
