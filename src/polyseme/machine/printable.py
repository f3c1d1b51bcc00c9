"""Text from elsewhere as it may be shown on a terminal or a page."""

from __future__ import annotations

__all__ = ["printable"]

# Orders to a terminal, and marks that turn the direction of all that follows.
_ORDERS = (
    *(code for code in range(0x20) if chr(code) not in "\t\n"),
    *range(0x7F, 0xA0),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
)
_SHOWN = dict.fromkeys(_ORDERS, "\N{REPLACEMENT CHARACTER}")


def printable(text: str) -> str:
    """Return a text in which nothing gives orders to what shows it; lines and tabs stay.

    Names of labels, ids and texts may come from strangers, and so may whole models.
    """
    return text if text.isascii() and text.isprintable() else text.translate(_SHOWN)
