"""How the senses of a label look on a terminal, shared by ``senses`` and ``demo``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

__all__ = ["sense_panels"]


def sense_panels(name: str, senses: Sequence[Any], n_shown: int) -> RenderableType:
    return Group()
