"""Figures in pages are those that were recorded."""

from __future__ import annotations

import re

import pytest

from benchmarks.figures import BLOCK, BLOCKS, PAGES, ROOT, filled
from benchmarks.recorded import DATA, markdown, recorded


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_the_figures_that_were_recorded(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert BLOCK.search(text)
    assert filled(text) == text, "python -m benchmarks.figures writes them anew"


def test_every_block_of_figures_is_known_and_used():
    pages = {*(ROOT / "docs").rglob("*.md"), *(ROOT / page for page in PAGES)}
    used = {
        path: set(re.findall(r"<!-- figures: ([\w-]+) -->", path.read_text(encoding="utf-8")))
        for path in pages
    }
    assert {path for path, names in used.items() if names} == {ROOT / page for page in PAGES}
    assert set().union(*used.values()) == set(BLOCKS)


def test_a_wrong_figure_is_replaced():
    wrong = "a\n<!-- figures: a-million -->\nIt took 377 s.\n<!-- end of figures -->\nz\n"
    assert "377" not in filled(wrong)
    assert filled(wrong).startswith("a\n")
    assert filled(wrong).endswith("<!-- end of figures -->\nz\n")


def test_sentences_about_speed_say_what_was_recorded():
    def of(page):
        return " ".join((ROOT / page).read_text(encoding="utf-8").split())

    ratios, milliseconds = [], []
    for data in DATA:
        rows = recorded(f"benchmarks/results/methods-{data}.json")["rows"]
        by_method = {name: row["medians"] for name, row in rows.items()}
        ratios.append(by_method["libpecos"]["train_s"] / by_method["xr-linear"]["train_s"])
        milliseconds.append(by_method["xr-linear-defaults"]["one_p50_us"] / 1000)
        side_by_side = recorded(f"benchmarks/results/{data}.json")["medians"]
        ratios.append(side_by_side["libpecos"]["train_s"] / side_by_side["polyseme"]["train_s"])
    least, most = min(ratios), max(ratios)
    assert f"about {least:.0f} to {most:.0f} times as fast as PECOS" in of("README.md")
    assert f"it is {least:.1f} to {most:.1f} times as fast" in of("docs/accuracy.md")
    shown = f"[{min(milliseconds):.2f} to {max(milliseconds):.2f} ms]"
    assert shown in of("README.md")


def test_columns_of_numbers_stand_to_the_right():
    table = markdown(["", "P@1", "note"], [["a", "**1,000.5**", "2 of 3"], ["b", "", "–"]])
    assert table.splitlines()[1] == "| --- | ---: | --- |"


def test_the_time_for_a_million_labels_stands_in_one_page_only():
    sentence = re.compile(r"one million (labels|documents).{0,80}?(\d+) s\b", re.I | re.S)
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "benchmarks/README.md"]
    found = [path.name for path in pages if sentence.search(path.read_text(encoding="utf-8"))]
    assert found == ["performance.md"]
