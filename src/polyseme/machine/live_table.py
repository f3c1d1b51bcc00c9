"""A table on a terminal that changes while something goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

__all__ = ["LiveTable"]


class LiveTable:
    """A table on stderr while it is open; nothing where that is not a terminal.

    Parameters
    ----------
    columns : sequence of str
        All but the last are numbers.
    content : callable
        Returns the rows and the line below them; is asked again and again.
    enabled : bool
        False shows nothing.

    Attributes
    ----------
    is_shown : bool
        Whether it is wanted and there is a terminal to show it on.
    """

    def __init__(
        self,
        columns: Sequence[str],
        content: Callable[[], tuple[Sequence[Sequence[str]], str]],
        enabled: bool,
    ) -> None:
        self._columns, self._content = columns, content
        self.is_shown = enabled and sys.stderr is not None and sys.stderr.isatty()
        self._live: Live | None = None

    def __enter__(self) -> LiveTable:
        if self.is_shown:
            # Imported here: rich costs a tenth of a second and most programs never show a table.
            from rich.console import Console
            from rich.live import Live

            self._live = Live(
                get_renderable=self._table,
                console=Console(stderr=True),
                refresh_per_second=2,
                transient=True,
            )
            self._live.start()
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _table(self) -> Table:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        rows, below = self._content()
        table = Table(
            box=box.SIMPLE_HEAD, caption=Text(below), caption_justify="left", caption_style=""
        )
        for column in self._columns[:-1]:
            table.add_column(Text(column), justify="right", no_wrap=True)
        table.add_column(Text(self._columns[-1]))
        for row in rows:
            table.add_row(*map(Text, row))
        return table
