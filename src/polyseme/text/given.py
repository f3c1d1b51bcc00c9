"""What callers give as texts and labels, looked at before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["checked_labels", "require_list", "require_text"]


def require_list(given: object, name: str) -> None:
    """Refuse what is not one entry per document.

    Parameters
    ----------
    given : object
    name : {'texts', 'labels'}
    """
    hint = ""
    if isinstance(given, str):
        hint = "; put the one text into a list" if name == "texts" else ""
    elif hasattr(given, "columns") and getattr(given, "ndim", 2) == 2:
        # a walk through a data frame gives the names of its columns
        hint = f"; give one of its columns, such as df[{name.removesuffix('s')!r}]"
    elif _can_be_walked(given) and not isinstance(given, Mapping | bytes):
        return
    shown = "None" if given is None else type(given).__name__
    raise ValueError(f"{name} must be a list, one entry per document, not {shown}{hint}.")


def require_text(text: object, what: str = "a text") -> None:
    """Refuse what is not a text."""
    if not isinstance(text, str):
        raise ValueError(f"{what} must be a str, not {type(text).__name__} ({text!r:.40}).")


def checked_labels(row: Any, i: int) -> tuple[str, ...]:
    """Return the labels of a text; refuse what is not a list of names."""
    is_list = _can_be_walked(row) and not isinstance(row, str)
    found = tuple(row) if is_list else ()
    if not is_list or not all(isinstance(label, str) for label in found):
        raise ValueError(f"the labels of text {i} must be a list of str, not {row!r:.80}.")
    return found


def _can_be_walked(given: Any) -> bool:
    try:
        iter(given)
    except TypeError:
        return False
    return True
