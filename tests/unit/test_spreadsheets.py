"""Tables as Excel files."""

import io
import sys

import pytest

from polyseme.text import spreadsheets
from polyseme.text.predictions import check_ending
from polyseme.text.spreadsheets import write_excel

openpyxl = pytest.importorskip("openpyxl")


def sheets_of(columns, rows):
    stream = io.BytesIO()
    write_excel(columns, rows, stream)
    return openpyxl.load_workbook(stream).worksheets


def values_of(sheet):
    return [list(row) for row in sheet.iter_rows(values_only=True)]


def test_what_looks_like_a_formula_stays_a_text():
    (sheet,) = sheets_of(["name", "score"], [["=1+1", 0.5], ["Käfer", 1]])
    assert values_of(sheet) == [["name", "score"], ["=1+1", 0.5], ["Käfer", 1]]
    assert sheet["A2"].data_type == "s"


def test_characters_that_excel_does_not_know_are_left_out():
    (sheet,) = sheets_of(["name"], [["a\x0cb\x00"]])
    assert sheet["A2"].value == "ab"


def test_no_row_is_lost_where_a_sheet_is_full(monkeypatch):
    monkeypatch.setattr(spreadsheets, "ROWS_OF_A_SHEET", 4)
    for n_rows, expected in ((0, [0]), (3, [3]), (4, [3, 1]), (7, [3, 3, 1])):
        sheets = sheets_of(["n"], ([number] for number in range(n_rows)))
        assert [sheet.max_row - 1 for sheet in sheets] == expected
        below = [row for sheet in sheets for row in values_of(sheet)[1:]]
        assert below == [[number] for number in range(n_rows)]
        assert {values_of(sheet)[0][0] for sheet in sheets} == {"n"}


def test_without_openpyxl_the_extra_is_named_before_the_work_begins(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ValueError, match=r"to write Excel files, .*excel"):
        check_ending(tmp_path / "a.xlsx")
