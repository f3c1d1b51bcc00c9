"""Archives from strangers: unpacked into one folder, within limits, or not at all."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

__all__ = ["Limits", "unpack"]

BLOCK = 1 << 20
LONGEST_TAR_HEADER = 1 << 20
DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile)


@dataclass(frozen=True)
class Limits:
    """What an archive may unpack to at most.

    Attributes
    ----------
    n_bytes : int
        All files together.
    n_members : int
        Files and folders.
    ratio : int
        All files together, in times of the archive; small archives may unpack to `small`.
    small : int
    """

    n_bytes: int = 64 << 30
    n_members: int = 10_000
    ratio: int = 100
    small: int = 1 << 24


def unpack(
    archive: Path,
    folder: Path,
    *,
    limits: Limits | None = None,
    on_bytes: Callable[[int], None] | None = None,
) -> None:
    """Unpack a ``.zip``, ``.tar``, ``.tar.gz`` or ``.gz`` file; its kind is seen from its bytes.

    Refused with a sentence are members that would lie outside `folder`, links, devices, members
    of one name (or of names that differ in capitals only), encrypted ones, and archives that
    exceed the limits.

    Parameters
    ----------
    archive : Path
    folder : Path
        An empty folder. After a refusal it holds what was unpacked before.
    limits : Limits, optional
    on_bytes : callable, optional
        Told how many bytes are unpacked so far.
    """
    writer = _Writer(archive, folder, limits or Limits(), on_bytes or (lambda n_bytes: None))
    with archive.open("rb") as file:
        beginning = file.read(512)
        file.seek(0)
        try:
            if beginning.startswith((b"PK\x03\x04", b"PK\x05\x06")):
                _unpack_zip(file, writer)
            elif beginning.startswith(b"\x1f\x8b"):
                with gzip.GzipFile(fileobj=file) as unzipped:
                    _unpack_tar_or_file(unzipped, writer)
            elif _begins_tar(beginning):
                _unpack_tar(file, writer)
            else:
                raise ValueError(f"{archive} is neither a zip, a tar nor a gzip file.")
        except DAMAGED as error:
            raise ValueError(
                f"{archive} is damaged or incomplete ({error}); fetch it again."
            ) from error
        except NotImplementedError as error:  # a compression that zipfile does not know
            raise ValueError(f"{archive} cannot be unpacked: {error}.") from error


class _Writer:
    """Writes members into a folder and keeps count of what they take."""

    def __init__(
        self, archive: Path, folder: Path, limits: Limits, on_bytes: Callable[[int], None]
    ) -> None:
        self.archive, self.folder, self.limits = archive, folder, limits
        self.on_bytes = on_bytes
        self.n_allowed = min(
            limits.n_bytes, max(limits.small, limits.ratio * archive.stat().st_size)
        )
        self.n_bytes = self.n_members = 0
        self.files: set[str] = set()
        self.folders: set[str] = set()

    def refuse(self, reason: str) -> ValueError:
        return ValueError(f"{self.archive} is not unpacked: {reason}.")

    def add_folder(self, name: str) -> None:
        if name.rstrip("/") == ".":  # the folder itself, as "tar -c ." writes it
            return
        path = self._checked(name)
        self._claim(path, is_folder=True)
        (self.folder / path).mkdir(parents=True, exist_ok=True)

    def add_file(self, name: str, content: Any, declared: int | None = None) -> None:
        """Write a file; what it claims to take is checked first, then what it does take."""
        path = self._checked(name)
        self._claim(path, is_folder=False)
        self._require_room(declared or 0)
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            while block := content.read(BLOCK):
                self._require_room(len(block))
                self.n_bytes += len(block)
                file.write(block)
                self.on_bytes(self.n_bytes)

    def skip(self, content: Any) -> None:
        """Read the rest of a stream, which counts as if it were written."""
        while block := content.read(BLOCK):
            self._require_room(len(block))
            self.n_bytes += len(block)

    def _require_room(self, n_more: int) -> None:
        if self.n_bytes + n_more > self.n_allowed:
            raise self.refuse(f"it would take more than {self.n_allowed:,} bytes")

    def _checked(self, name: str) -> PurePosixPath:
        self.n_members += 1
        if self.n_members > self.limits.n_members:
            raise self.refuse(f"it has more than {self.limits.n_members:,} members")
        path = PurePosixPath(name)
        # Backslashes and colons mean folders and drives on other systems.
        odd = any(character in name for character in "\\:") or not name.isprintable()
        if path.is_absolute() or ".." in path.parts or odd or not path.parts:
            raise self.refuse(
                f"its member {name!r} would lie outside the folder, here or elsewhere"
            )
        return path

    def _claim(self, path: PurePosixPath, *, is_folder: bool) -> None:
        """Refuse a name that another member has, on this or on another file system."""
        parents = [_folded(parent) for parent in path.parents if parent.parts]
        folded = _folded(path)
        taken = folded in self.files or (folded in self.folders and not is_folder)
        if taken or not self.files.isdisjoint(parents):
            raise self.refuse(f"two of its members have the name {str(path)!r}")
        self.folders.update(parents)
        (self.folders if is_folder else self.files).add(folded)


def _folded(path: PurePosixPath) -> str:
    return unicodedata.normalize("NFC", str(path)).casefold()


def _unpack_zip(file: IO[bytes], writer: _Writer) -> None:
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise writer.refuse(f"its member {member.filename!r} is a link or a device")
            if member.flag_bits & 1:
                raise writer.refuse(f"its member {member.filename!r} is encrypted")
            if member.is_dir():
                writer.add_folder(member.filename)
                continue
            with archive.open(member) as content:
                writer.add_file(member.filename, content, member.file_size)


def _unpack_tar_or_file(unzipped: gzip.GzipFile, writer: _Writer) -> None:
    beginning = unzipped.read(512)
    unzipped.seek(0)
    if _begins_tar(beginning):
        _unpack_tar(unzipped, writer)
        writer.skip(unzipped)  # the checksum comes last
    else:
        writer.add_file(writer.archive.name.removesuffix(".gz"), unzipped)


def _unpack_tar(file: Any, writer: _Writer) -> None:
    guarded = _HeaderGuard(file, writer)
    # As a stream: nothing is looked up twice, and headers come from the guard alone.
    with tarfile.open(fileobj=guarded, mode="r|") as archive:
        while True:
            guarded.n_left = LONGEST_TAR_HEADER
            member = archive.next()
            guarded.n_left = None
            if member is None:
                break
            if member.isdir():
                writer.add_folder(member.name)
            elif member.isreg() and not member.issparse():
                content = archive.extractfile(member)
                assert content is not None  # it is regular
                writer.add_file(member.name, content, member.size)
            else:
                raise writer.refuse(f"its member {member.name!r} is a link or a device")


class _HeaderGuard(io.RawIOBase):
    """Stops a tar header that would fill the memory; `tarfile` reads headers in one piece."""

    def __init__(self, file: Any, writer: _Writer) -> None:
        self.file, self.writer = file, writer
        self.n_left: int | None = LONGEST_TAR_HEADER

    def read(self, size: int = -1) -> bytes:
        block: bytes = self.file.read(size)
        if self.n_left is not None:
            self.n_left -= len(block)
            if self.n_left < 0:
                raise self.writer.refuse("a header in it is longer than any honest one")
        return block


def _begins_tar(beginning: bytes) -> bool:
    return beginning[257:262] == b"ustar"
