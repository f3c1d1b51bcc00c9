"""Notebooks of the docs run, and show what they say they show."""

from __future__ import annotations

import pytest

from tests.shown import assert_alike
from tools.notebooks import NOTEBOOKS, read, run, shown_before


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_shows_what_it_showed_when_it_was_kept(path):
    n_cells = 0
    for cell, shown in run(read(path)):
        kept = shown_before(cell)
        assert_alike(shown.printed, kept.printed)
        assert_alike(shown.value, kept.value)
        assert bool(shown.html) == bool(kept.html)
        n_cells += 1
    assert n_cells > 3


class Coloured:
    def __repr__(self):
        return "red"

    def _repr_html_(self):
        return "<b>red</b>\n"


def test_a_cell_shows_what_it_prints_and_the_value_of_its_last_line():
    cells = [
        {"cell_type": "markdown", "source": ["# not run"]},
        {"cell_type": "code", "source": ["a = 2\n", "print(a)\n", "a + 1"]},
        {"cell_type": "code", "source": ["a = a * a"]},
        {"cell_type": "code", "source": ["print(a)"]},
    ]
    first, second, third = (shown for _, shown in run({"cells": cells}))
    assert first == ("2\n", "3", "")
    assert second == ("", "", "")
    assert third == ("4\n", "", "")


def test_a_value_is_kept_as_html_too_where_it_has_that():
    source = ["from tests.unit.test_notebooks import Coloured\n", "print(1)\n", "Coloured()"]
    ((_, shown),) = run({"cells": [{"cell_type": "code", "source": source}]})
    assert shown == ("1\n", "red", "<b>red</b>\n")
    printed, value = shown.outputs(7)
    assert printed["text"] == ["1\n"]
    assert value["data"] == {"text/html": ["<b>red</b>\n"], "text/plain": ["red"]}
    assert shown_before({"outputs": [printed, value]}) == shown


def test_a_cell_that_fails_is_not_passed_over():
    with pytest.raises(ZeroDivisionError):
        list(run({"cells": [{"cell_type": "code", "source": ["1 / 0"]}]}))
