"""Lines of a text file, plain or gzipped, decoded one at a time."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

__all__ = ["LONGEST_LINE", "NotUtf8Error", "beginning_of", "lines_of", "opened", "pieces_of"]

GZIP_MAGIC = b"\x1f\x8b"
PIECE = 1 << 16  # bytes that are decoded at a time
LONGEST_LINE = 64 << 20  # bytes; a file without line ends must not fill the memory
_OTHER_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_BINARY = {
    b"PK\x03\x04": "is a ZIP archive, as Excel and Word files are; name a table .xlsx, or save it "
    "as CSV",
    b"%PDF": "is a PDF; save its text in a file",
}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class NotUtf8Error(ValueError):
    """A file is in another encoding; the sentence says first where, then what to do."""


def lines_of(path: Path, encoding: str | None = None) -> Iterator[str]:
    """Yield the lines of a file with their ends.

    Only newlines end lines: a text may hold any of the rarer line breaks.

    Parameters
    ----------
    path : Path
    encoding : str, optional
        Any that Python knows; by default UTF-8.
    """
    number = 0
    try:
        with opened(path) as file:
            if encoding is not None and not _is_utf8(encoding):
                yield from _decoded(file, path, encoding)
                return
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
                yield _decode(line, path, number)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged(path, f"line {number}", error) from None
    except OSError as error:
        error.filename = error.filename or str(path)  # reading names no file, opening does
        raise


def pieces_of(path: Path, encoding: str | None = None) -> Iterator[str]:
    """Yield a text file in pieces that are not too long, for what has no lines."""
    decoder = codecs.getincrementaldecoder(_checked(encoding or "utf-8-sig"))()
    n_read = 0
    try:
        with opened(path) as file:
            while piece := file.read(PIECE):
                if n_read == 0 and encoding is None:
                    _refuse_other_encodings(path, piece)
                n_read += len(piece)
                text = decoder.decode(piece)
                if "\0" in text:
                    raise ValueError(f"{path}: holds a NUL; remove it.")
                yield text
            yield decoder.decode(b"", final=True)
    except UnicodeError as error:
        raise NotUtf8Error(
            f"{path}, before byte {n_read:,}: not {encoding or 'UTF-8'} ({error}); say what it is "
            "with --encoding, for example cp1252."
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged(path, f"byte {n_read:,}", error) from None
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def beginning_of(path: Path, encoding: str | None = None) -> str:
    """Return how a text file begins; what is wrong with it is said when it is read."""
    codec = _checked(encoding or "utf-8-sig")
    with opened(path) as file:
        try:
            return file.read(1024).decode(codec, errors="replace")
        except (gzip.BadGzipFile, EOFError, zlib.error):
            return ""


def _damaged(path: Path, after: str, error: Exception) -> ValueError:
    return ValueError(f"{path}, after {after}: the gzip file is damaged ({error}); get it again.")


def _decode(line: bytes, path: Path, number: int) -> str:
    """Return a line as text; refuse bytes that are not UTF-8, and NUL."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotUtf8Error(
            f"{path}, line {number}: not UTF-8 (byte 0x{line[error.start]:02x}); say what "
            "it is with --encoding, for example cp1252."
        ) from None
    if "\0" in text:
        raise ValueError(f"{path}, line {number}: holds a NUL byte; remove it.")
    return text


def _decoded(file: IO[bytes], path: Path, encoding: str) -> Iterator[str]:
    """Yield lines of a file that is not UTF-8, in which a newline may have several bytes."""
    number = 0
    try:
        with io.TextIOWrapper(file, encoding=encoding, newline="\n") as text:
            while line := text.readline(LONGEST_LINE):
                number += 1
                if "\0" in line:
                    raise ValueError(f"{path}, line {number}: holds a NUL; is it {encoding}?")
                yield line.removeprefix("\ufeff") if number == 1 else line
    except UnicodeError as error:
        raise ValueError(
            f"{path}, near line {number + 1}: not {encoding} ({error}); give another --encoding."
        ) from None


def _is_utf8(encoding: str) -> bool:
    return _checked(encoding) in ("utf-8", "utf-8-sig")


def _checked(encoding: str) -> str:
    """Return the name that Python has for an encoding."""
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise ValueError(
            f"the encoding {encoding!r} is not known; try utf-8, cp1252, latin-1 or utf-16."
        ) from None


def opened(path: Path) -> IO[bytes]:
    """Open a file to read its bytes, unzipped; the caller closes it."""
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
    for beginning, said in _BINARY.items():
        if line.startswith(beginning):
            raise ValueError(f"{path} {said}.")
    for mark, name in _OTHER_ENCODINGS.items():
        if line.startswith(mark):
            raise NotUtf8Error(f"{path} is {name}; save it as UTF-8, or give --encoding {name}.")
