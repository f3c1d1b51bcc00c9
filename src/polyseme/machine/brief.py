"""What large objects are printed as: the shapes of their arrays instead of all numbers."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from polyseme.machine.quantities import counted

__all__ = ["briefly"]


def briefly(thing: Any) -> str:
    """Return the text of a dataclass for people; put ``__repr__ = briefly`` into the class."""
    shown = ", ".join(
        f"{field.name}={_brief(getattr(thing, field.name))}"
        for field in fields(thing)
        if field.repr
    )
    return f"{type(thing).__name__}({shown})"


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    if type(value) in (list, tuple):
        text = f"[{', '.join(map(_brief, value))}]"
        return text if len(text) <= 60 else counted(len(value), "item")
    return repr(value)
