"""Notebooks of the docs run, and show what they say they show."""

from __future__ import annotations

import re

import pytest

from tools.notebooks import NOTEBOOKS, read, run, shown_before


def without_numbers(text: str) -> str:
    return re.sub(r"[\d.]+ *", "", text)


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_shows_what_it_showed_when_it_was_kept(path):
    n_cells = 0
    for cell, shown in run(read(path)):
        assert without_numbers(shown) == without_numbers(shown_before(cell))
        n_cells += 1
    assert n_cells > 3


def test_a_cell_shows_what_it_prints_and_the_value_of_its_last_line():
    cells = [
        {"cell_type": "markdown", "source": ["# not run"]},
        {"cell_type": "code", "source": ["a = 2\n", "print(a)\n", "a + 1"]},
        {"cell_type": "code", "source": ["a = a * a"]},
        {"cell_type": "code", "source": ["print(a)"]},
    ]
    assert [shown for _, shown in run({"cells": cells})] == ["2\n3\n", "", "4\n"]


def test_a_cell_that_fails_is_not_passed_over():
    with pytest.raises(ZeroDivisionError):
        list(run({"cells": [{"cell_type": "code", "source": ["1 / 0"]}]}))
