"""Tables as Excel files, by openpyxl (extra ``excel``)."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from typing import IO, Any

from polyseme.machine.extras import how_to_install

__all__ = ["needed_openpyxl", "write_excel"]

ROWS_OF_A_SHEET = 1_048_576  # more than these, Excel does not open
LONGEST_CELL = 32_767  # in units of UTF-16
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def write_excel(columns: Sequence[str], rows: Iterable[Sequence[Any]], stream: IO[bytes]) -> None:
    """Write rows below a header that stays in sight, on as many sheets as they need.

    Texts stay texts, also those that look like a formula; characters that Excel does not know
    (such as the end of a page) are left out, and so is what is too long for a cell.
    """
    from openpyxl.cell import WriteOnlyCell

    n_shortened = 0

    def cell(sheet: Any, value: Any) -> Any:
        nonlocal n_shortened
        if not isinstance(value, str):
            return value
        whole = _NO_XML.sub("", value)
        shown = _shortened(whole)
        n_shortened += len(shown) < len(whole)
        text = WriteOnlyCell(sheet, "")
        text._value, text.data_type = shown, "s"  # its own limit counts characters
        return text

    rest = iter(rows)
    first = next(rest, None)
    with _new_book() as book:
        while first is not None or not book.worksheets:
            sheet = book.create_sheet()
            sheet.freeze_panes = "A2"
            sheet.append(columns)
            own = [] if first is None else chain([first], islice(rest, ROWS_OF_A_SHEET - 2))
            for row in own:
                sheet.append([cell(sheet, value) for value in row])
            first = next(rest, None)
        # An archive that cannot be ended would complain on stderr, so it is made in memory.
        archive = io.BytesIO()
        book.save(archive)
    stream.write(archive.getbuffer())
    if len(book.worksheets) > 1:
        warnings.warn(
            f"a sheet of Excel holds {ROWS_OF_A_SHEET:,} rows, so there are "
            f"{len(book.worksheets)} sheets.",
            stacklevel=2,
        )
    if n_shortened:
        warnings.warn(
            f"a cell of Excel holds {LONGEST_CELL:,} characters; longer texts were cut off there "
            f"({n_shortened:,}).",
            stacklevel=2,
        )


def needed_openpyxl() -> Any:
    """Return the package, or say how to install it."""
    try:
        import openpyxl
    except ImportError:
        raise ValueError(f"to write Excel files, {how_to_install('excel')}.") from None
    return openpyxl


@contextmanager
def _new_book() -> Iterator[Any]:
    book = needed_openpyxl().Workbook(write_only=True)
    try:
        yield book
    except BaseException:
        # Sheets that are left open complain on stderr when they are collected.
        for sheet in book.worksheets:
            with suppress(Exception):
                sheet.close()
        raise


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_CELL // 2:
        return text
    return text.encode("utf-16-le")[: 2 * LONGEST_CELL].decode("utf-16-le", errors="ignore")
