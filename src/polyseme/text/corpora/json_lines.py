"""JSON: one object per line, or all objects in a list."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from polyseme.text.corpora.json_list import begins_list, items_of
from polyseme.text.corpora.lines import beginning_of, lines_of
from polyseme.text.corpora.table import TableSource

__all__ = ["JsonLinesFile"]

N_LOOKED_AT = 100  # objects whose keys count as columns; not every one need have all


class JsonLinesFile(TableSource):
    """Objects with the same keys; a key that is missing or null is an empty cell."""

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        super().__init__(path, encoding)
        self._is_list = begins_list(beginning_of(path, encoding))
        self.kind = "a JSON list" if self._is_list else "JSON lines"

    def columns(self) -> list[str]:
        """Return the keys of the first objects, in the order in which they appear."""
        objects = self._objects()
        found = dict.fromkeys(key for _, item in islice(objects, N_LOOKED_AT) for key in item)
        objects.close()
        if not found:
            each = "in the list" if self._is_list else "per line"
            raise ValueError(f"{self.path} is empty; give one JSON object {each}.")
        return list(found)

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
        """Yield the values of each object."""
        for place, item in self._objects():
            yield place, [item.get(name) for name in columns]

    def _objects(self) -> Generator[tuple[str, dict[str, Any]], None, None]:
        for place, item in self._items():
            if _is_spacys(item):
                item = {"text": item[0], **item[1]}
            if not isinstance(item, dict):
                raise ValueError(
                    f"{self.path}, {place}: a JSON {type(item).__name__}; write one object per "
                    'document, such as {"text": ..., "labels": [...]}.'
                )
            yield place, item

    def _items(self) -> Iterator[tuple[str, Any]]:
        """Yield where each item is, and the item."""
        if self._is_list:
            for row, item in enumerate(items_of(self.path, self.encoding)):
                yield f"row {row}", item
            return
        lines = enumerate(lines_of(self.path, self.encoding), start=1)
        for row, (number, line) in enumerate((n, line) for n, line in lines if line.strip()):
            place = f"row {row} (line {number})"
            try:
                item = json.loads(line)
            except (ValueError, RecursionError) as error:
                is_deep = isinstance(error, RecursionError)
                reason = "nested too deeply" if is_deep else getattr(error, "msg", "a huge number")
                hint = ""
                if row == 0 and line.lstrip().startswith("{"):
                    goes_on = any(rest.strip() for _, rest in lines)
                    hint = "; it is cut off, get the file again"
                    if goes_on:
                        hint = "; it looks like one JSON document, write one object per line"
                raise ValueError(f"{self.path}, {place}: not JSON ({reason}){hint}.") from None
            yield place, item


def _is_spacys(item: Any) -> bool:
    """Whether it is a text and what spaCy learns from it: ``["A cat.", {"cats": {...}}]``."""
    return (
        isinstance(item, list)
        and len(item) == 2
        and isinstance(item[0], str)
        and isinstance(item[1], dict)
        and "cats" in item[1]
    )
