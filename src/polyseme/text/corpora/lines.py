"""Lines of a text file, plain or gzipped, decoded one at a time."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

__all__ = ["decode", "lines_of"]

GZIP_MAGIC = b"\x1f\x8b"
LONGEST_LINE = 64 << 20  # bytes; a file without line ends must not fill the memory
_OTHER_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def lines_of(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file with their ends.

    Only newlines end lines: a text may hold any of the rarer line breaks.
    """
    number = 0
    try:
        with _opened(path) as file:
            while line := file.readline(LONGEST_LINE):
                number += 1
                if number == 1:
                    _refuse_other_encodings(path, line)
                    line = line.removeprefix(_BYTE_ORDER_MARK)
                if len(line) == LONGEST_LINE:
                    raise ValueError(
                        f"{path}, line {number}: longer than {LONGEST_LINE >> 20} MiB; is this a "
                        "text file?"
                    )
                yield decode(line, path, number)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            f"{path}, after line {number}: the gzip file is damaged ({error}); get it again."
        ) from None


def decode(line: bytes, path: Path, number: int) -> str:
    """Return a line as text; refuse bytes that are not UTF-8, and NUL."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}, line {number}: not UTF-8 (byte 0x{line[error.start]:02x}); convert the "
            "file, for example with iconv."
        ) from None
    if "\0" in text:
        raise ValueError(f"{path}, line {number}: holds a NUL byte; remove it.")
    return text


def _opened(path: Path) -> IO[bytes]:
    file = open(path, "rb")  # noqa: SIM115, the caller closes it
    try:
        is_zipped = file.read(2) == GZIP_MAGIC
        file.seek(0)
    except BaseException:
        file.close()
        raise
    if not is_zipped:
        return file
    file.close()
    return cast("IO[bytes]", gzip.open(path, "rb"))


def _refuse_other_encodings(path: Path, line: bytes) -> None:
    for mark, name in _OTHER_ENCODINGS.items():
        if line.startswith(mark):
            raise ValueError(f"{path} is {name}; save it as UTF-8.")
