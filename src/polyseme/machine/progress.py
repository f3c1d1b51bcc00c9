"""What is going on and how long it took: bars on a terminal, seconds for everyone."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

__all__ = ["Progress"]


class Progress:
    """Times the phases of a long task and shows them while they run.

    Parameters
    ----------
    enabled : bool or None, default=None
        ``False`` shows nothing. Otherwise bars appear on stderr if that is a terminal.

    Attributes
    ----------
    seconds : dict of str to float
        Wall-clock seconds of each phase, in the order in which they began; a phase that runs
        several times adds up, one that failed counts as far as it came.

    Examples
    --------
    >>> with Progress() as progress, progress.phase("Counting", total=3) as step:
    ...     for done in range(3):
    ...         step(done + 1)
    >>> list(progress.seconds)
    ['Counting']
    """

    def __init__(self, enabled: bool | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self._shown = enabled is not False and sys.stderr is not None and sys.stderr.isatty()
        self._bars: RichProgress | None = None

    def __enter__(self) -> Progress:
        if self._shown:
            self._bars = _bars_on_stderr()
            self._bars.start()
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Time a phase; yields a function that is told how much of `total` is done so far."""
        self.seconds.setdefault(name, 0.0)
        bars = self._bars
        task = bars.add_task(name, total=total) if bars is not None else None

        def step(done: int) -> None:
            if bars is not None and task is not None:
                bars.update(task, completed=done)

        began = time.perf_counter()
        try:
            yield step
        finally:
            self.seconds[name] += time.perf_counter() - began
            if bars is not None and task is not None:
                bars.remove_task(task)


def _bars_on_stderr() -> RichProgress:
    # Imported here: rich costs a tenth of a second and most programs never show a bar.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
