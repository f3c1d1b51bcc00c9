"""Excel files, by openpyxl (extra ``excel``)."""

from __future__ import annotations

import datetime
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from polyseme.machine.extras import how_to_install
from polyseme.text.corpora.table import TableSource

__all__ = ["ExcelFile"]


class ExcelFile(TableSource):
    """Rows of the first sheet, below a row with the names of the columns."""

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        super().__init__(path, encoding)
        with self._sheet() as sheet:
            n_sheets = len(sheet.parent.worksheets)
            others = f" (the first of {n_sheets})" if n_sheets > 1 else ""
            self.kind = f"Excel, sheet {sheet.title!r}{others}"

    def columns(self) -> list[str]:
        """Return the cells of the first row."""
        return [name for name in self._header() if name]

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
        """Yield the cells of each row below the first, but for rows without any."""
        header = self._header()
        places = [header.index(name) for name in columns]
        number = 0
        for line, cells in enumerate(self._lines(), start=1):
            if line == 1 or all(cell is None for cell in cells):
                continue
            own = [cells[place] if place < len(cells) else None for place in places]
            yield f"row {number} (line {line})", [_plain(cell) for cell in own]
            number += 1

    def _header(self) -> list[str]:
        with closing(self._lines()) as lines:
            first = next(lines, ())
        names = ["" if cell is None else str(_plain(cell)) for cell in first]
        if not any(names):
            raise ValueError(f"{self.path}: the first row of {self.kind} must name the columns.")
        repeated = {name for name in names if names.count(name) > 1 and name}
        if repeated:
            raise ValueError(
                f"{self.path} has two columns named {min(repeated)!r}; rename one of them."
            )
        return names

    def _lines(self) -> Generator[tuple[Any, ...], None, None]:
        with self._sheet() as sheet:
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
    def _sheet(self) -> Iterator[Any]:
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
                yield book.worksheets[0]
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
