"""Tables as Excel files, by openpyxl (extra ``excel``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import IO, Any

from polyseme.machine.extras import how_to_install

__all__ = ["needed_openpyxl", "write_excel"]

ROWS_OF_A_SHEET = 1_048_576  # more than these, Excel does not open


def write_excel(columns: Sequence[str], rows: Iterable[Sequence[Any]], stream: IO[bytes]) -> None:
    """Write rows below a header that stays in sight, on as many sheets as they need.

    Texts stay texts, also those that look like a formula; characters that Excel does not know
    (such as the end of a page) are left out.
    """
    openpyxl = needed_openpyxl()
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = openpyxl.Workbook(write_only=True)

    def cell(sheet: Any, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        text = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("", value))
        text.data_type = "s"
        return text

    rest = iter(rows)
    first = next(rest, None)
    while first is not None or not book.worksheets:
        sheet = book.create_sheet()
        sheet.freeze_panes = "A2"
        sheet.append(columns)
        own = [] if first is None else chain([first], islice(rest, ROWS_OF_A_SHEET - 2))
        for row in own:
            sheet.append([cell(sheet, value) for value in row])
        first = next(rest, None)
    book.save(stream)


def needed_openpyxl() -> Any:
    """Return the package, or say how to install it."""
    try:
        import openpyxl
    except ImportError:
        raise ValueError(f"to write Excel files, {how_to_install('excel')}.") from None
    return openpyxl
