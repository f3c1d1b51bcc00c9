"""What was recorded, and tables of it as Markdown has them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DATA = ("tibkat-core", "eurlex57k")


def recorded(name: str) -> Any:
    """Return a file of results."""
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


def markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table."""
    head = list(head)
    lines = [head, ["---"] * len(head), *map(list, rows)]
    return "\n".join(
        "|" + "".join(f" {cell} |" if cell else " |" for cell in line) for line in lines
    )
