"""A user's mistake ends in one sentence and exit code 2; a bug still shows its traceback."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TextIO

import click

from polyseme.machine.printable import printable

__all__ = ["GroupWithPlainErrors", "note"]

IN_PYTHON = {"n_threads": "n_jobs", "seed": "random_state"}
INTERRUPTED = 130  # what a shell reports for Ctrl-C
# What to write in Python, which stands behind the option
_FOR_PYTHON = re.compile(
    r" \((label_separator|others)='\w*'\)|, or (text_columns|labels_column|id_column) in Python"
)
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
            return _with_plain_errors(lambda: self._invoke_and_flush(ctx), _options_given(ctx))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, and which of its options are given."""
        name, command, words = super().resolve_command(ctx, args)
        known = [] if command is None else command.params
        for option in (one for one in known if isinstance(one, click.Option)):
            spelled = [word for word in map(_without_value, words) if word in option.opts]
            if len(spelled) > 1 and not option.multiple and isinstance(option.type, click.Path):
                raise ValueError(f"{spelled[0]} is given {len(spelled)} times; give one file.")
            if spelled:
                _options_given(ctx)[str(option.name)] = spelled[0]
        return name, command, words

    def _invoke_and_flush(self, ctx: click.Context) -> Any:
        result = super().invoke(ctx)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a reader that went away is no error
        return result


def note(sentence: str) -> None:
    """Say something to the person at the terminal, beside the results."""
    click.echo(f"polyseme: {printable(_FOR_PYTHON.sub('', sentence))}", err=True)


def _options_given(ctx: click.Context) -> dict[str, str]:
    """Return the options of the command line by the names of the parameters that they fill."""
    found: dict[str, str] = ctx.meta.setdefault(__name__, {})
    return found


def _without_value(word: str) -> str:
    return word.partition("=")[0]


def _by_option(sentence: str, options: Mapping[str, str]) -> str:
    """Name the option where a sentence begins with the parameter that it fills."""
    name, blank, rest = sentence.partition(" ")
    called = {IN_PYTHON.get(filled, filled): option for filled, option in options.items()}
    if name not in called or not rest.startswith("must "):
        return sentence
    return called[name] + blank + rest.replace("must be None or ", "must be ", 1)


def _with_plain_errors(run: Callable[[], Any], options: Mapping[str, str]) -> Any:
    try:
        return run()
    except KeyboardInterrupt as interrupt:
        note(str(interrupt) or "interrupted.")
        raise click.exceptions.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # the reader has seen enough (`polyseme predict ... | head`)
        with suppress(OSError):  # what is not written yet goes nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(0) from None
    except OSError as error:
        raise PlainError(_sentence_of(error)) from error
    except ValueError as error:
        raise PlainError(_by_option(str(error), options)) from error
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
