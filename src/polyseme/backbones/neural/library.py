"""torch and what comes with it, and ONNX Runtime: packages of extras, imported when needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from polyseme.machine.extras import how_to_install

__all__ = ["needed_library"]

OF_NO_EXTRA = ("peft",)  # few want it


def needed_library(name: str = "torch", extra: str = "transformer") -> Any:
    """Return a package of an extra, or say how to get it.

    Raises
    ------
    ValueError
        If it is not installed, or not whole.
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        how = (
            f"install it: pip install {package}"
            if package in OF_NO_EXTRA
            else how_to_install(extra)
        )
        raise ValueError(f"neural methods need {package}; {how}.") from error
