"""What was recorded, and tables of it as Markdown has them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from textwrap import fill
from typing import Any

ROOT = Path(__file__).parents[1]
WIDTH = 116  # of a line
DATA = ("tibkat-core", "eurlex57k")


def recorded(name: str) -> Any:
    """Return a file of results."""
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


def paragraph(text: str) -> str:
    """Break lines as the pages do."""
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"[*–+-]*[\d.,]*[%x*]*", cell) is not None


def markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table, with columns of numbers to the right."""
    head, cells = list(head), [list(row) for row in rows]
    marks = [
        "---:" if all(map(_is_number, column)) else "---" for column in zip(*cells, strict=True)
    ]
    lines = [head, marks, *cells]
    return "\n".join(
        "|" + "".join(f" {cell} |" if cell else " |" for cell in line) for line in lines
    )
