"""Large files over HTTP: resumed where they stopped, checked, and kept when interrupted."""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from polyseme.datasets.catalogue import Archive

__all__ = ["OnProgress", "WebPageError", "download", "looks_like_a_web_page"]

BLOCK = 1 << 18
PROGRESS_WORTH_A_NEW_TRY = 1 << 20
SECONDS_OF_SILENCE = 30.0
LARGEST = 64 << 30  # bytes, where nothing says how many there will be

OnProgress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with what is done, how many bytes of it are, and how many there will be if known."""


class WebPageError(ValueError):
    """A server sent a page for people instead of the file."""


class _DroppedError(OSError):
    """The connection ended before the file did."""


def download(
    archive: Archive,
    target: Path,
    *,
    n_tries: int = 4,
    seconds_between: float = 1.0,
    on_progress: OnProgress | None = None,
) -> Path:
    """Download a file, or what is missing of it, and move it into place once it is whole.

    What has arrived lies beside `target` with ``.part`` at its end, and stays there when the
    download fails or is interrupted; the next call goes on from it if the server lets it.

    Parameters
    ----------
    archive : Archive
        The address, and the length and hash to check where they are known.
    target : Path
        Where the file shall be.
    n_tries : int
        How often in a row to try while the server or the connection fails.
    seconds_between : float
        To wait after the first failure; twice as long after each further one.
    on_progress : callable, optional

    Returns
    -------
    Path
        `target`.
    """
    part = target.with_name(target.name + ".part")
    failures = 0
    while True:
        had = _size(part)
        try:
            _fetch_rest(archive, part, on_progress or _nobody)
            break
        except (OSError, http.client.HTTPException) as error:
            came_on = _size(part) - had >= PROGRESS_WORTH_A_NEW_TRY
            failures = 1 if came_on else failures + 1
            if failures >= n_tries or not _may_pass(error):
                sentence = _sentence_about(error, archive.url)
                if sentence is None:  # trouble on this machine, which says so itself
                    raise
                raise ConnectionError(sentence) from error
            time.sleep(seconds_between * 2 ** (failures - 1))
    _check_whole(archive, part)
    os.replace(part, target)
    _version_file(part).unlink(missing_ok=True)
    return target


def looks_like_a_web_page(beginning: bytes) -> bool:
    """Tell from its first bytes whether a file is HTML."""
    return (
        beginning.lstrip(b"\xef\xbb\xbf \t\r\n")[:14]
        .lower()
        .startswith((b"<!doctype html", b"<html"))
    )


def _fetch_rest(archive: Archive, part: Path, on_progress: OnProgress) -> None:
    """Append what is missing of the file, or write all of it if the server ignores the rest."""
    have = _size(part)
    request = urllib.request.Request(archive.url, headers={"User-Agent": "polyseme"})
    if have > 0:
        request.add_header("Range", f"bytes={have}-")
        if version := _version_of(part):
            request.add_header("If-Range", version)
    try:
        response = urllib.request.urlopen(request, timeout=SECONDS_OF_SILENCE)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and have > 0:
                if _total_of_range(error.headers.get("Content-Range")) == have:
                    return  # nothing is missing
                part.unlink()
                raise _DroppedError("what was there did not fit the file of the server") from None
        raise
    with response:
        resumed = response.status == http.HTTPStatus.PARTIAL_CONTENT
        content_range = response.headers.get("Content-Range")
        if resumed and not (content_range or "").startswith(f"bytes {have}-"):
            part.unlink(missing_ok=True)
            raise _DroppedError("the server sent another range than it was asked for")
        begin = have if resumed else 0
        length = response.headers.get("Content-Length")
        total = begin + int(length) if length is not None and length.isdigit() else None
        _check_offer(archive, response.headers.get_content_type(), total, part.parent, begin)
        _version_file(part).write_text(_strong_version(response.headers), encoding="utf-8")
        with part.open("ab" if resumed else "wb") as file:
            _copy(response, file, begin, total or archive.n_bytes, on_progress)
    if total is not None and _size(part) < total:
        raise _DroppedError(f"it ended after {_size(part):,} of {total:,} bytes")


def _copy(
    response: Any, file: Any, begin: int, total: int | None, on_progress: OnProgress
) -> None:
    done = begin
    on_progress("Downloading", done, total)
    while block := response.read1(BLOCK):
        if done == 0 and looks_like_a_web_page(block):
            file.truncate(0)
            raise WebPageError("the server sent a web page instead of the archive")
        file.write(block)
        file.flush()  # kept even if this process is killed
        done += len(block)
        if done > (LARGEST if total is None else total):
            file.truncate(0)  # nothing to go on from
            raise ValueError(f"{response.url} does not end after {done - len(block):,} bytes.")
        on_progress("Downloading", done, total)


def _check_offer(
    archive: Archive, content_type: str, total: int | None, folder: Path, begin: int
) -> None:
    """Refuse what the server offers before it is downloaded, where that can be seen."""
    if content_type in ("text/html", "application/xhtml+xml"):
        raise WebPageError("the server sent a web page instead of the archive")
    if None not in (total, archive.n_bytes) and total != archive.n_bytes:
        raise ValueError(
            f"{archive.url} is {total:,} bytes long, but {archive.n_bytes:,} are expected; the "
            "file there is another one now."
        )
    free = shutil.disk_usage(folder).free
    if total is not None and total - begin > free:
        raise ValueError(
            f"{archive.url} needs {total - begin:,} more bytes, but {free:,} are free in {folder}."
        )


def _check_whole(archive: Archive, part: Path) -> None:
    """Compare with the known length and hash; what is wrong is removed, not resumed."""
    wrong = None
    if archive.n_bytes is not None and _size(part) != archive.n_bytes:
        wrong = f"{_size(part):,} bytes arrived, but {archive.n_bytes:,} are expected"
    elif archive.sha256 is not None and (found := _sha256(part)) != archive.sha256:
        wrong = f"its SHA-256 is {found}, but {archive.sha256} is expected"
    if wrong is not None:
        part.unlink()
        raise ValueError(f"{archive.url} arrived damaged or is another file: {wrong}; try again.")


def _may_pass(error: BaseException) -> bool:
    """Tell whether to try once more: the server or the line had a bad moment."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code >= 500 or error.code in (408, 425, 429)
    if isinstance(error, urllib.error.URLError):
        return not isinstance(error.reason, (socket.gaierror, str)) and _may_pass(error.reason)
    if isinstance(error, (_DroppedError, ConnectionError, TimeoutError)):
        return True
    return isinstance(error, http.client.HTTPException)


def _sentence_about(error: Exception, url: str) -> str | None:
    if isinstance(error, urllib.error.HTTPError):
        return f"{url}: the server answers {error.code} {error.reason}."
    if isinstance(error, urllib.error.URLError):
        return f"{url} cannot be reached ({error.reason})."
    if _may_pass(error):
        return f"{url}: the connection was lost again and again ({error or type(error).__name__})."
    return None


def _total_of_range(content_range: str | None) -> int | None:
    """Read the length of the file from ``bytes */1234``."""
    total = (content_range or "").rpartition("/")[2]
    return int(total) if total.isdigit() else None


def _version_file(part: Path) -> Path:
    return part.with_name(part.name + "-version")


def _version_of(part: Path) -> str:
    """Return what the server called the version of the file that the part is of."""
    with suppress(OSError, UnicodeDecodeError):
        version = _version_file(part).read_text(encoding="utf-8")
        return version if version.isprintable() else ""
    return ""


def _strong_version(headers: Any) -> str:
    """Return a name of the version that allows to go on with it; a weak tag does not."""
    tag = headers.get("ETag", "")
    return str(headers.get("Last-Modified", "") if not tag or tag.startswith("W/") else tag)


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _nobody(what: str, done: int, total: int | None) -> None:
    pass
