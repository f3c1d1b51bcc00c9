"""torch and what comes with it (extra ``transformer``), imported when first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from polyseme.machine.extras import how_to_install

__all__ = ["needed_library"]


def needed_library(name: str = "torch") -> Any:
    """Return a package of the extra, or say how to get it.

    Raises
    ------
    ValueError
        If it is not installed, or not whole.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ValueError(
            f"neural methods need {name.partition('.')[0]}; {how_to_install('transformer')}."
        ) from error
