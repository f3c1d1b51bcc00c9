"""What every verb shares: its common options, its tables and its way to write results."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from polyseme.machine.printable import printable

__all__ = [
    "common_options",
    "console",
    "json_option",
    "path_argument",
    "plain_table",
    "print_json",
]

Function = TypeVar("Function", bound=Callable[..., Any])


def common_options(*, threads: bool = True, seed: bool = False) -> Callable[[Function], Function]:
    """Add ``--threads``, ``--seed`` and ``--json``; what has nothing to do is not in the help."""

    def decorate(function: Function) -> Function:
        options = (
            click.option(
                "--threads",
                "n_threads",
                type=click.IntRange(min=1),
                metavar="N",
                help="Threads to use; all cores by default.",
                hidden=not threads,
            ),
            click.option(
                "--seed",
                type=int,
                default=0,
                metavar="N",
                help="Seed of everything random; 0 by default.",
                hidden=not seed,
            ),
            json_option,
        )
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON, for machines."
)


def path_argument(
    name: str, *, metavar: str | None = None, required: bool = True, or_stdin: bool = False
) -> Callable[[Function], Function]:
    """Add a positional path; whether it exists is checked by whoever opens it."""
    kind = (_PathOrStdin if or_stdin else _NamedPath)(path_type=Path)
    return click.argument(name, metavar=metavar, required=required, type=kind)


class _PathOrStdin(click.Path):
    """A path that is not empty, which would be the folder we are in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return (
            self.fail("the path is empty.", param, ctx)
            if value == ""
            else super().convert(value, param, ctx)
        )


class _NamedPath(_PathOrStdin):
    """A path that is not stdin either."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return (
            self.fail("stdin cannot be read here; save it as a file, and give that.", param, ctx)
            if value == "-"
            else super().convert(value, param, ctx)
        )


class PlainConsole(Console):
    """A console on which names that strangers gave can do nothing but stand there."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield what is written piece by piece."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else piece._replace(text=printable(piece.text))

    def on_broken_pipe(self) -> None:
        """Leave a reader that went away to the command, which ends quietly."""
        raise BrokenPipeError


def console() -> Console:
    """Return a console on stdout, 80 columns wide unless the terminal is known to be wider."""
    return PlainConsole(highlight=False)


def plain_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    title: str | None = None,
    numbers: Iterable[int] = (),
) -> Table:
    """Build a table; the columns in `numbers` are aligned to the right, nothing is markup."""
    table = Table(title=title, title_justify="left", title_style="bold", box=_box())
    right = set(numbers)
    for position, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if position in right else "left")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    return table


def _box() -> box.Box | None:
    return box.SIMPLE_HEAD if sys.stdout.isatty() else None


def print_json(result: object, *, one_line: bool = False) -> None:
    """Print a result for machines on stdout."""
    indent = None if one_line else 2
    click.echo(json.dumps(result, indent=indent, ensure_ascii=False, default=_from_numpy))


def _from_numpy(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"cannot write {type(value).__name__} as JSON")
