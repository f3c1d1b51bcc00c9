"""Files that say which labels belong together: nested JSON, or two columns."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["DELIMITERS", "read_nested", "read_pairs"]

DELIMITERS = {".tsv": "\t", ".tab": "\t", ".txt": "\t", ".csv": ","}


def read_nested(path: Path) -> Any:
    """Read nested lists and objects from a JSON file."""
    try:
        return json.loads(_text_of(path))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}, line {error.lineno}: not JSON: {error.msg}.") from None
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply.") from None


def read_pairs(path: Path) -> Iterator[tuple[str, str | None]]:
    """Read a label and a broader one per line; without the second the label is at the top."""
    lines = _text_of(path).splitlines(keepends=True)
    reader = csv.reader(lines, delimiter=DELIMITERS[path.suffix.lower()], strict=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            if len(cells) > 2 or not cells[0]:
                raise ValueError(
                    f"{path}, line {reader.line_num}: a label and a broader label are expected, "
                    f"not {len(cells)} cells{'' if cells[0] else ' of which the first is empty'}."
                )
            yield cells[0], cells[1] if len(cells) == 2 and cells[1] else None
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}.") from None


def _text_of(path: Path) -> str:
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"{path}, line {line}: not UTF-8; save it as UTF-8.") from None
