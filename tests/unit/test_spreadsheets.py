"""Tables as Excel files."""

import gc
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
    (sheet,) = sheets_of(["name", "score"], [["=1+1", 0.5], ["<Käfer & \U0001f600>\n ", 1]])
    assert values_of(sheet) == [
        ["name", "score"],
        ["=1+1", 0.5],
        ["<Käfer & \U0001f600>\n ", 1],
    ]
    assert (sheet["A2"].data_type, sheet["B2"].data_type) == ("s", "n")
    assert sheet.freeze_panes == "A2"


def test_cells_without_a_value_stay_empty():
    (sheet,) = sheets_of(["row", "id", "name"], [[0, None, "a"], [1, None, None], [2, None, "b"]])
    assert values_of(sheet)[1:] == [[0, None, "a"], [1, None, None], [2, None, "b"]]


def test_characters_that_excel_does_not_know_are_left_out():
    (sheet,) = sheets_of(["name"], [["a\x0cb\x00\ufffe\uffff\ud800"]])
    assert sheet["A2"].value == "ab"


def test_no_row_is_lost_where_a_sheet_is_full(monkeypatch):
    monkeypatch.setattr(spreadsheets, "ROWS_OF_A_SHEET", 4)
    for n_rows, expected in ((0, [0]), (3, [3])):
        assert [s.max_row - 1 for s in sheets_of(["n"], ([i] for i in range(n_rows)))] == expected
    for n_rows, expected in ((4, [3, 1]), (7, [3, 3, 1])):
        with pytest.warns(UserWarning, match=f"4 rows, so there are {len(expected)} sheets"):
            sheets = sheets_of(["n"], ([number] for number in range(n_rows)))
        assert [sheet.max_row - 1 for sheet in sheets] == expected
        below = [row for sheet in sheets for row in values_of(sheet)[1:]]
        assert below == [[number] for number in range(n_rows)]
        assert {values_of(sheet)[0][0] for sheet in sheets} == {"n"}


def test_a_text_that_is_too_long_for_a_cell_is_cut_off_aloud():
    long = "\U0001f600" * 20_000
    with pytest.warns(UserWarning, match=r"holds 32,767 characters; .* \(1\)"):
        (sheet,) = sheets_of(["id"], [["a" * 32_767], [long]])
    assert [sheet["A2"].value, sheet["A3"].value] == ["a" * 32_767, long[:16_383]]


class FullDisk(io.BytesIO):
    def write(self, data):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("stream", [io.BytesIO, FullDisk])
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_table_that_is_stopped_leaves_nothing_that_complains_later(stop, stream):
    def rows():
        yield from (["a"] for _ in range(9))
        raise stop

    with pytest.raises((stop, OSError)):
        write_excel(["name"], rows(), stream())
    gc.collect()


def test_without_openpyxl_the_extra_is_named_before_the_work_begins(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ValueError, match=r"to write Excel files, .*excel"):
        check_ending(tmp_path / "a.xlsx")
