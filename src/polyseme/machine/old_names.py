"""Parameters that were called otherwise before: whoever uses an old name is told the new one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

__all__ = ["knows_old_names", "refuse_old_names"]

Function = TypeVar("Function", bound=Callable[..., Any])


def refuse_old_names(owner: str, given: Iterable[str], old_names: Mapping[str, str]) -> None:
    """Refuse a name of before with a TypeError that tells the new one."""
    for name in given:
        if name in old_names:
            raise TypeError(f"{owner} has no parameter {name!r}; it is called {old_names[name]}.")


def knows_old_names(owner: str, old_names: Mapping[str, str]) -> Callable[[Function], Function]:
    """Let a function tell what the parameters that it had before are called now."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)  # which also keeps the signature
        def checked(*args: Any, **kwargs: Any) -> Any:
            refuse_old_names(owner, kwargs, old_names)
            return function(*args, **kwargs)

        return checked  # type: ignore[return-value]

    return decorate
