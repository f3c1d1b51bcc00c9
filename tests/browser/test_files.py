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


def test_a_file_dropped_on_another_view_is_tried(visit):
    page = visit("quality")
    expect(page.locator("#figures")).to_be_visible()
    drop(page, "one.txt", BATTLE, "footer")
    expect(page.locator("#text")).to_have_value(BATTLE)
    expect(suggestion(page, "tank")).to_be_visible()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"%PDF-1.7 stream", "a.txt is a PDF"),
        (b"PK\x03\x04\x14\x00", "a.txt is a document of Word or Excel, or an archive"),
        ("Gef\xe4\xdf".encode("cp1252"), "a.txt is not text in UTF-8"),
    ],
)
def test_a_file_that_holds_no_text_is_refused_by_name(visit, content, problem):
    page = visit("try")
    wrong = {"name": "a.txt", "mimeType": "text/plain", "buffer": content}
    page.locator("#files").set_input_files([wrong])
    expect(page.get_by_role("alert")).to_contain_text(problem)
    expect(page.locator("#text")).to_have_value("")


def open_table(page, *lines, name="texts.csv"):
    content = "\n".join(lines).encode()
    page.locator("#files").set_input_files(
        [{"name": name, "mimeType": "text/plain", "buffer": content}]
    )


def test_title_and_abstract_together_are_the_text(visit):
    page = visit("try")
    open_table(page, "id,title,abstract", f'1,A tank,"{BATTLE}"')
    expect(page.locator("#text")).to_have_value(f"A tank\n{BATTLE}")


def test_a_table_without_a_header_loses_no_text(visit):
    page = visit("try")
    open_table(page, f'"{BATTLE}"', f'"{TEXT}"')
    expect(page.get_by_role("heading", name="2 texts with their topics")).to_be_visible()
    expect(page.locator("#many tbody tr").first).to_contain_text(BATTLE[:40])


def test_of_a_web_page_only_the_words_are_read(visit):
    page = visit("try")
    styled = f"<style>p {{}}</style><h1 onclick='go()'>A</h1><p style='color: red'>{BATTLE}</p>"
    open_table(page, f"<html>{styled}<script>tank()</script></html>", name="one.html")
    expect(page.locator("#text")).to_have_value(f"A\n{BATTLE}")


def test_a_file_that_cannot_be_read_keeps_no_others_from_being_read(visit):
    page = visit("try")
    files = {"scan.pdf": b"%PDF-1.7", "one.txt": BATTLE.encode(), "two.txt": TEXT.encode()}
    page.locator("#files").set_input_files(
        [{"name": n, "mimeType": "text/plain", "buffer": b} for n, b in files.items()]
    )
    expect(page.get_by_role("heading", name="2 texts with their topics")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("scan.pdf is a PDF")


def test_where_the_server_refuses_a_part_what_was_found_before_is_shown(visit):
    page, n_asked = visit("try"), []

    def answer(route):
        n_asked.append(len(route.request.post_data_json["texts"]))
        if len(n_asked) == 1:
            route.continue_()
        else:
            route.fulfill(status=503, json={"detail": "Too much is under way."})

    page.route("**/v1/suggest-batch", answer)
    open_table(page, "text", *[f'"{BATTLE}"'] * 40)
    expect(page.get_by_role("heading", name="32 of 40 texts with their topics")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("Too much is under way.")
    assert n_asked == [32, 8]
    page.complaints.clear()


def test_a_text_that_is_too_long_keeps_no_others_from_their_topics(visit):
    page = visit("try")

    def answer(route):
        if any("endless" in text for text in route.request.post_data_json["texts"]):
            route.fulfill(status=413, json={"detail": "Document 2 is too long."})
        else:
            route.continue_()

    page.route("**/v1/suggest-batch", answer)
    rows = [f'{i},"{BATTLE}"' for i in range(6)]
    open_table(page, "id,text", *rows, "long,endless")
    expect(page.get_by_role("heading", name="7 texts with their topics")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_text("long is too long for this server.")
    expect(page.locator("#many tbody tr", has_text="tank")).to_have_count(6)
    page.complaints.clear()


def test_columns_that_only_later_objects_have_are_read(visit):
    page = visit("try")
    lines = [{"id": 1, "title": "Court"}, {"id": 2, "title": "War", "abstract": BATTLE}]
    open_table(page, *map(json.dumps, lines), name="texts.jsonl")
    expect(page.locator("#many tbody tr").nth(1)).to_contain_text("tank")


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
