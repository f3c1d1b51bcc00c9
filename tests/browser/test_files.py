"""Files that are dropped or opened in a real browser, and the table of their topics."""

from __future__ import annotations

import csv
import json
import re

import pytest

from tests.browser.acting import suggestion
from tests.web.conftest import BATTLE, TEXT

pytest.importorskip("playwright.sync_api", reason="There is no Playwright.")

from playwright.sync_api import expect


def test_files_with_many_texts_become_a_table_that_can_be_saved(visit):
    page = visit("try")
    table = f'id,text\r\na,"{BATTLE}"\r\nb,"A quote "" and\r\na line."\r\n'
    lines = "".join(json.dumps({"key": i, "text": TEXT}) + "\n" for i in range(40))
    page.locator("#files").set_input_files(
        [
            {"name": "one.csv", "mimeType": "text/csv", "buffer": table.encode()},
            {"name": "more.jsonl", "mimeType": "text/plain", "buffer": lines.encode()},
            {"name": "last.txt", "mimeType": "text/plain", "buffer": TEXT.encode()},
        ]
    )
    expect(page.get_by_role("heading", name="43 texts with their topics")).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download table").click()
    with open(saved.value.path(), encoding="utf-8", newline="") as file:
        assert file.read(1) == "\ufeff"  # so that Excel takes it for UTF-8
        rows = list(csv.DictReader(file))
    assert [*dict.fromkeys(row["id"] for row in rows)] == [
        "a",
        "b",
        *map(str, range(40)),
        "last.txt",
    ]
    assert {"tank"} <= {row["topic"] for row in rows if row["id"] == "a"}
    assert all(row["meaning"] for row in rows if row["topic"] == "tank")
    page.get_by_role("button", name="a", exact=True).click()  # one of them is opened
    expect(page.locator("#text")).to_have_value(BATTLE)
    expect(suggestion(page, "tank")).to_be_in_viewport()
    expect(page.get_by_role("heading", name="43 texts with their topics")).to_be_attached()


def drop(page, name, text, at):
    page.evaluate(
        """([name, text, at]) => {
            const carried = new DataTransfer();
            carried.items.add(new File([text], name));
            const how = { dataTransfer: carried, bubbles: true, cancelable: true };
            for (const kind of ["dragenter", "drop"]) {
                document.querySelector(at).dispatchEvent(new DragEvent(kind, how));
            }
        }""",
        [name, text, at],
    )


@pytest.mark.parametrize("place", ["#sheet", "footer"])
def test_one_dropped_text_is_filled_in_wherever_it_is_dropped(visit, place):
    page = visit("try")
    expect(page.locator("#samples")).to_be_visible()  # from then on the page listens
    drop(page, "one.txt", BATTLE, place)
    expect(page.locator("#text")).to_have_value(BATTLE)
    expect(page.locator("#sheet")).not_to_have_class(re.compile("dropping"))
    expect(suggestion(page, "tank")).to_be_visible()


def test_a_file_dropped_on_another_view_changes_nothing(visit):
    page = visit("quality")
    expect(page.locator("#figures")).to_be_visible()
    drop(page, "one.txt", BATTLE, "footer")
    page.get_by_role("link", name="Try", exact=True).click()
    expect(page.locator("#text")).to_have_value("")


@pytest.mark.parametrize(
    "content",
    [b"%PDF-1.7 \xe2\xe3\xcf\xd3", b"PK\x03\x04\x14\x00", "Gef\xe4\xdf".encode("cp1252")],
)
def test_a_file_that_is_no_text_in_utf_8_is_refused_by_name(visit, content):
    page = visit("try")
    wrong = {"name": "scan.pdf", "mimeType": "application/pdf", "buffer": content}
    page.locator("#files").set_input_files([wrong])
    expect(page.get_by_role("alert")).to_contain_text("scan.pdf is not text in UTF-8")
    expect(page.locator("#text")).to_have_value("")


def test_an_empty_file_among_others_has_its_row_and_one_by_itself_is_refused(visit):
    page = visit("try")
    empty = {"name": "empty.txt", "mimeType": "text/plain", "buffer": b""}
    full = {"name": "full.txt", "mimeType": "text/plain", "buffer": TEXT.encode()}
    page.locator("#files").set_input_files([empty])
    expect(page.get_by_role("alert")).to_contain_text("There is no text")
    page.locator("#files").set_input_files([empty, full])
    expect(page.get_by_role("heading", name="2 texts with their topics")).to_be_visible()
    expect(page.get_by_role("row", name="empty.txt")).to_contain_text("none")


def test_a_file_that_cannot_be_read_is_named(visit):
    page = visit("try")
    broken = {"name": "broken.json", "mimeType": "text/plain", "buffer": b"[1, 2"}
    page.locator("#files").set_input_files([broken])
    expect(page.get_by_role("alert")).to_contain_text("broken.json is neither a list in JSON")
