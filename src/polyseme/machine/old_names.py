"""Parameters that were called otherwise before: whoever uses an old name is told the new one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, TypeVar

__all__ = ["knows_old_names", "refuse_old_names"]

Function = TypeVar("Function", bound=Callable[..., Any])


def refuse_old_names(
    owner: str,
    given: Iterable[str],
    old_names: Mapping[str, str],
    known: Container[str] | None = None,
) -> None:
    """Refuse a name of before with a TypeError that tells the new one, if that is known here."""
    for name in given:
        if name in old_names and (known is None or old_names[name] in known):
            raise TypeError(f"{owner} has no parameter {name!r}; it is called {old_names[name]}.")


def knows_old_names(
    owner: str | None, old_names: Mapping[str, str]
) -> Callable[[Function], Function]:
    """Let a function tell what the parameters that it had before are called now.

    Without `owner` it is the ``__init__`` of a class, which is then named.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)  # which also keeps the signature
        def checked(*args: Any, **kwargs: Any) -> Any:
            name = type(args[0]).__name__ if owner is None else owner
            known = inspect.signature(type(args[0]) if owner is None else function).parameters
            refuse_old_names(name, kwargs, old_names, known)
            return function(*args, **kwargs)

        return checked  # type: ignore[return-value]

    return decorate
