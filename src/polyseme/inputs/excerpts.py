"""The beginning of a text, on one line."""

from __future__ import annotations

__all__ = ["excerpt"]


def excerpt(text: str, most: int) -> str:
    """Return at most so many characters of a text, with dots where it goes on."""
    begin = text[: 10 * most].encode("utf-8", "replace").decode()  # halves of surrogate pairs
    whole = " ".join(begin.split())
    return whole if len(whole) <= most else whole[: most - 3].rstrip() + "..."
