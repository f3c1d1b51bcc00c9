"""Files that take their place only when they are whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

__all__ = ["written_beside"]


@contextmanager
def written_beside(path: Path) -> Iterator[IO[bytes]]:
    """Open a file beside `path` and move it into place once it is whole.

    A link keeps pointing where it does; a pipe or a device is written to directly, since
    nothing of it could be lost.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a folder; create it first.")
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with open(path, "wb") as stream:
                yield stream
        else:
            with _replacing(Path(os.path.realpath(path))) as stream:
                yield stream
    except OSError as error:
        # What is written may be read from another file, whose own name stays.
        is_ours = error.filename is None or str(error.filename).endswith(".part")
        if error.errno is not None and is_ours:
            error.filename, error.filename2 = str(path), None  # the name that the user knows
        raise


@contextmanager
def _replacing(place: Path) -> Iterator[IO[bytes]]:
    beside = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        with open(beside, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, place)
    finally:
        beside.unlink(missing_ok=True)
