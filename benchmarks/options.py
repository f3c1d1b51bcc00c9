"""What options of the benchmarks may be, and how a mistake is told."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import peers


def count(text: str) -> int:
    """Read a number of things: 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def amount(text: str) -> float:
    """Read a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not number > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def settings(text: str) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        found = json.loads(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(f"{text!r} is not JSON: {problem}") from None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is not a JSON object such as {{}}")
    return found


def add_peers(parser: argparse.ArgumentParser) -> None:
    """Add the option of every program that runs peers."""
    parser.add_argument(
        "--peers",
        type=Path,
        default=peers.DEFAULT_FOLDER,
        help="the peers' environment, made if it is missing; %(default)s by default",
    )


def add_places(parser: argparse.ArgumentParser) -> None:
    """Add options of where things are and go, and of how much memory a process may take."""
    add_peers(parser)
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("build/benchmark"),
        help="folder for logs and results; %(default)s by default",
    )
    parser.add_argument("--results", type=Path, help="where JSON and picture go, if not --output")
    parser.add_argument(
        "--max-gib",
        type=amount,
        default=16.0,
        help="stop a process before this; %(default)s by default",
    )


def make_folder(folder: Path, option: str) -> None:
    """Make a folder to write to, before anything is measured."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(None, "Permission denied")
    except OSError as problem:
        raise ValueError(
            f"{option} {folder} cannot be written to ({problem.strerror}); choose another folder"
        ) from problem


@contextmanager
def plain_errors(program: str) -> Iterator[None]:
    """End with a sentence and exit code 2 where files or data are not what they should be."""
    try:
        yield
    except (OSError, ValueError) as problem:
        said = str(problem)
        if isinstance(problem, OSError) and problem.strerror is not None:
            said = f"{problem.filename}: {problem.strerror}"
        print(f"{program}: {said}", file=sys.stderr)
        sys.exit(2)
