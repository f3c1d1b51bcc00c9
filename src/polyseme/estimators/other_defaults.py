"""Classes that are another one with other default settings, or with more of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["with_defaults", "with_parameters_of"]

Class = TypeVar("Class", bound=type[Any])


def with_defaults(**defaults: Any) -> Callable[[Class], Class]:
    """Give a subclass the parameters of its base with other defaults.

    The signature shows these, as `get_params`, `clone` and the command line look there.
    """

    def decorate(cls: Class) -> Class:
        inherited = cls.__init__
        signature = inspect.signature(inherited)
        if unknown := set(defaults) - set(signature.parameters):
            raise TypeError(f"{cls.__name__} has no parameter {min(unknown)!r}.")

        @functools.wraps(inherited)
        def initialised(self: Any, *args: Any, **kwargs: Any) -> None:
            named = dict(zip(list(signature.parameters)[1:], args, strict=False))
            inherited(self, **{**defaults, **named, **kwargs})

        initialised.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[
                parameter.replace(default=defaults.get(name, parameter.default))
                for name, parameter in signature.parameters.items()
            ]
        )
        cls.__init__ = initialised
        return cls

    return decorate


def with_parameters_of(base: type[Any]) -> Callable[[Class], Class]:
    """Give a subclass the parameters of its base behind its own.

    Its ``__init__`` takes its own by name, and the others as keywords that it hands on. The
    signature shows all of them.
    """

    def decorate(cls: Class) -> Class:
        own = [
            parameter
            for parameter in inspect.signature(cls.__init__).parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        names = {parameter.name for parameter in own}
        inherited = inspect.signature(base.__init__).parameters.values()
        others = [parameter for parameter in inherited if parameter.name not in names]
        cls.__init__.__signature__ = inspect.Signature([*own, *others])
        return cls

    return decorate
