"""What is going on and how long it took: bars on a terminal, seconds for everyone."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

from polyseme.machine.processes import is_main_process

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

__all__ = ["Progress", "Step"]


class Step:
    """Is told how far a phase is, and shows it if somebody looks."""

    def __init__(self, bars: RichProgress | None, name: str, total: int | None) -> None:
        self._bars, self._name = bars, name
        self._task = None if bars is None else bars.add_task(name, total=total)

    def __call__(self, done: int) -> None:
        """Say how much of the total is done so far."""
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, completed=done)

    def tell(self, words: str) -> None:
        """Say how it goes, in a few words beside the name of the phase."""
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, description=f"{self._name}: {words}")

    def end(self) -> None:
        """Take the bar away."""
        if self._bars is not None and self._task is not None:
            self._bars.remove_task(self._task)


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
        is_wanted = enabled is not False and is_main_process()
        self._shown = is_wanted and sys.stderr is not None and sys.stderr.isatty()
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

    def say(self, text: str) -> None:
        """Say something that stays on the terminal, if bars are shown there."""
        if self._bars is not None:
            from rich.text import Text

            self._bars.console.print(Text(text))

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Time a phase; yields a function that is told how much of `total` is done so far.

        It is a `Step`, which can also be told how it goes in words.
        """
        self.seconds.setdefault(name, 0.0)
        step = Step(self._bars, name, total)
        began = time.perf_counter()
        try:
            yield step
        finally:
            self.seconds[name] += time.perf_counter() - began
            step.end()


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
