"""A user's mistake ends in one sentence and exit code 2; a bug still shows its traceback."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any, TextIO

import click

from polyseme.machine.printable import printable

__all__ = ["GroupWithPlainErrors", "note"]

INTERRUPTED = 130  # what a shell reports for Ctrl-C
_PRINTING = (__name__, "polyseme.cli.predictions")


class PlainError(click.ClickException):
    """One sentence on stderr, without usage and without traceback."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        note(self.format_message())


class GroupWithPlainErrors(click.Group):
    """A command group that turns what users get wrong into sentences."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            return _with_plain_errors(lambda: self._invoke_and_flush(ctx))

    def _invoke_and_flush(self, ctx: click.Context) -> Any:
        result = super().invoke(ctx)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a reader that went away is no error
        return result


def note(sentence: str) -> None:
    """Say something to the person at the terminal, beside the results."""
    click.echo(f"polyseme: {printable(sentence)}", err=True)


def _with_plain_errors(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except KeyboardInterrupt as interrupt:
        note(str(interrupt) or "interrupted.")
        raise click.exceptions.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        raise  # the reader went away (`polyseme predict ... | head`); click ends quietly
    except OSError as error:
        raise PlainError(_sentence_of(error)) from error
    except ValueError as error:
        raise PlainError(str(error)) from error
    except MemoryError as error:
        raise PlainError(f"not enough memory. {error}".rstrip()) from error


def _sentence_of(error: OSError) -> str:
    if error.strerror is None:  # raised by us, with a sentence of its own
        return str(error)
    if error.filename is None and _is_from_printing(error):
        return f"cannot write to standard output: {error.strerror}."
    where = f"{error.filename}: " if error.filename is not None else ""
    return f"{where}{error.strerror}."


def _is_from_printing(error: OSError) -> bool:
    """Whether it was raised where we or one of the packages that print for us wrote."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    module = "" if place is None else place.tb_frame.f_globals.get("__name__", "")
    return module in _PRINTING or module.partition(".")[0] in ("click", "rich")


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    note(str(message))
