"""Packages of others, imported when one of them is needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["imported"]


def imported(module: str, package: str, hint: str = "") -> Any:
    """Return a module of another package, or say how to get it.

    Parameters
    ----------
    module : str
        Its full name.
    package : str
        What pip knows it by.
    hint : str
        What else there is to know, put behind the name.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"this model needs {package}, which cannot be imported ({error}): pip install "
            f"{package}{hint}."
        ) from error
