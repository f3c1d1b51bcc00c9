"""Dropout that belongs to a piece of documents, not to the thread that computes it.

torch draws what is left out from one generator for all threads, so that it would depend on who
comes first. Networks of other people call torch's dropout deep inside: the call is caught there.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from polyseme.backbones.neural.library import needed_library

__all__ = ["dropout_from"]


def dropout_from(seed: int) -> Any:
    """Return a context, of one thread, in which what dropout leaves out follows from a seed.

    Weights of attention are all kept: torch leaves some out within a product, where nobody can
    say which, and is much slower then.
    """
    return _mode()(seed)


@cache
def _mode() -> Any:
    torch = needed_library()
    functional = needed_library("torch.nn.functional")
    overrides = needed_library("torch.overrides")

    class DropoutFrom(overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __init__(self, seed: int) -> None:
            super().__init__()
            self.generator = torch.Generator().manual_seed(seed)

        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            kwargs = kwargs or {}
            if function is functional.dropout:
                return self.thinned(*args, **kwargs)
            if function is functional.scaled_dot_product_attention:
                kwargs = {**kwargs, "dropout_p": 0.0}
            return function(*args, **kwargs)

        def thinned(
            self, values: Any, p: float = 0.5, training: bool = True, inplace: bool = False
        ) -> Any:
            if not training or p == 0:
                return values
            is_kept = torch.rand(values.shape, generator=self.generator) >= p
            return values * (is_kept.to(values.dtype) / (1 - p))

    return DropoutFrom
