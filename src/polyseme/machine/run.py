"""How a computation is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

__all__ = ["ProgressCallback", "Run"]

ProgressCallback = Callable[[int], None]


@dataclass(frozen=True)
class Run:
    """How a computation is run; of all this only the seed has to do with what comes out.

    Attributes
    ----------
    seed : int
        Where chance begins. Random streams are named by what they belong to (a cluster and a slot
        within it, a node of the tree, a fold) and start from it.
    n_threads : int
    progress : callable, optional
        Is told now and then how much is done, in the units of the computation.
    tell : callable, optional
        Is told now and then how it goes, in a few words.
    """

    seed: int = 0
    n_threads: int = 1
    progress: ProgressCallback | None = None
    tell: Callable[[str], None] | None = None

    def reporting_to(self, progress: ProgressCallback | None) -> Run:
        """Return the same with another listener, which hears words too if it has a `tell`."""
        return replace(self, progress=progress, tell=getattr(progress, "tell", None))

    def counting_from(self, n_done: int) -> Run:
        """Return the same for a later part of a computation: what it does is added to `n_done`."""
        report = self.progress
        if report is None:
            return self
        return replace(self, progress=lambda done: report(n_done + done))
