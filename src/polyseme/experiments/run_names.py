"""Names of runs: a finished cell is known by them, wherever the code of its run lies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["name_of_run", "run_named"]

Function = TypeVar("Function", bound=Callable[..., Any])


def run_named(name: str) -> Callable[[Function], Function]:
    """Give a run the name that recorded cells know it by; it stays when the code moves."""

    def decorate(run: Function) -> Function:
        run.run_name = name  # type: ignore[attr-defined]
        return run

    return decorate


def name_of_run(run: Callable[..., Any]) -> str:
    """Return the name of a run, and refuse one that has none."""
    name = getattr(run, "run_name", None)
    if not isinstance(name, str):
        raise ValueError(f"{run!r} has no name that cells could be kept under; use @run_named.")
    return name
