"""Suggestions on stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import click

from polyseme.inputs.excerpts import excerpt
from polyseme.machine.printable import printable
from polyseme.text.predictions import Predicted

__all__ = ["for_people", "print_out"]

EXCERPT = 60


def for_people(predicted: Predicted) -> Iterator[str]:
    """Yield a document and its labels, a line each, for a terminal."""
    shown = "" if predicted.text is None else excerpt(predicted.text, EXCERPT)
    name = predicted.row if predicted.id is None else predicted.id
    yield click.style(printable(f"{name}  {shown}"), bold=True) + "\n"
    for label in predicted.labels:
        sense = "" if label.sense is None else f" ({label.sense.name})"
        uri = "" if label.uri is None else click.style(printable(f"  {label.uri}"), dim=True)
        yield f"   {label.score:.2f}  {printable(f'{label.name}{sense}')}{uri}\n"
    if not predicted.labels:
        yield click.style("   no label is probable enough", dim=True) + "\n"


def print_out(lines: Iterable[str]) -> None:
    """Write lines that have their ends to stdout."""
    if sys.stdout is None:
        raise ValueError("stdout is closed; give a file with -o.")
    for line in lines:
        sys.stdout.write(line)
