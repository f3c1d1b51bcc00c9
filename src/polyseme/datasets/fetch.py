"""Data sets from their sources into a folder that ``load`` reads."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polyseme.datasets.arranging import Sizes, arrange, sizes_in_words, sizes_of
from polyseme.datasets.cache import cache_folder, fetched_folder
from polyseme.datasets.catalogue import CatalogueEntry, find, recognise
from polyseme.datasets.download import OnProgress, WebPageError, download, looks_like_a_web_page
from polyseme.datasets.unpacking import Limits, unpack

__all__ = ["by_hand", "fetch"]

# Versions of a data set differ a little in documents and labels, and in features as they please.
N_COMPARED = 3  # of the sizes: training documents, test documents, labels
SLACK = 0.1


def fetch(
    name: str,
    cache: str | os.PathLike[str] | None = None,
    *,
    archive: str | os.PathLike[str] | None = None,
    again: bool = False,
    n_tries: int = 4,
    seconds_between: float = 1.0,
    limits: Limits | None = None,
    on_progress: OnProgress | None = None,
) -> Path:
    """Download a data set into the cache and bring it into a form that ``load`` reads.

    Parameters
    ----------
    name : str
        As in the catalogue.
    cache : path, optional
        By default ``cache_folder()``.
    archive : path, optional
        An archive that was downloaded by hand, which is used instead and left where it is.
    again : bool
        Replace what is in the cache already.
    n_tries, seconds_between : int, float
        How often in a row to try while the connection fails, and how long to wait.
    limits : Limits, optional
        What the archive may unpack to at most.
    on_progress : callable, optional
        Told what is done, how many bytes of it are, and how many there will be if known.

    Returns
    -------
    Path
        The folder of the data set. A download that fails keeps what has arrived; the next call
        goes on from there.
    """
    entry = find(name)
    cache = cache_folder() if cache is None else Path(cache)
    target = fetched_folder(entry, cache)
    if target.is_dir() and archive is None and not again:
        return target
    _make_cache(cache, target.parent)
    if archive is not None:
        given = Path(archive)
        if not given.is_file():
            raise FileNotFoundError(f"{given} is not a file; give the archive of {entry.name}.")
        _install(entry, given, target, limits, on_progress)
        return target

    if entry.archive is None:
        raise ValueError(
            f"{entry.name} is not offered as an archive that could be fetched. "
            f"Its source is {entry.page}; make a data folder from that, and give its path, or put "
            f"it at {target}."
        )
    downloaded = cache / "archives" / f"{entry.name}.archive"
    _make_cache(cache, downloaded.parent)
    if not downloaded.exists():
        try:
            download(
                entry.archive,
                downloaded,
                n_tries=n_tries,
                seconds_between=seconds_between,
                on_progress=on_progress,
            )
        except (ConnectionError, WebPageError) as error:
            reason = str(error).rstrip(".")
            raise type(error)(f"{reason}. {by_hand(entry)}") from error
    try:
        _install(entry, downloaded, target, limits, on_progress)
    except ValueError:  # damaged, or not what it should be: of no use to the next try
        downloaded.unlink()
        raise
    downloaded.unlink()
    return target


def _make_cache(cache: Path, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"data sets cannot be kept in {cache} ({error.strerror}); let the variable "
            "POLYSEME_CACHE name a folder."
        ) from error


def by_hand(entry: CatalogueEntry) -> str:
    """Say what to do where the download cannot be done for the user."""
    address = entry.page if entry.archive is None else entry.archive.url
    return (
        f"By hand: save {address} (offered on {entry.page}) with a browser, then run: "
        f"polyseme datasets fetch {entry.name} --archive FILE"
    )


def _install(
    entry: CatalogueEntry,
    archive: Path,
    target: Path,
    limits: Limits | None,
    on_progress: OnProgress | None,
) -> None:
    """Unpack an archive beside its place, arrange its files, and move them there."""
    with archive.open("rb") as file:
        if looks_like_a_web_page(file.read(512)):
            raise WebPageError(f"{archive} is a web page, not an archive. {by_hand(entry)}")

    def on_bytes(n_bytes: int) -> None:
        if on_progress is not None:
            on_progress("Unpacking", n_bytes, None)

    with _folder_beside(target) as beside:
        unpacked, arranged = beside / "unpacked", beside / "arranged"
        unpacked.mkdir()
        arranged.mkdir()
        unpack(archive, unpacked, limits=limits, on_bytes=on_bytes)
        try:
            arrange(unpacked, arranged)
            sizes = sizes_of(arranged)
        except ValueError as error:
            raise ValueError(f"{archive}: {error}") from None
        _check_sizes(entry, sizes, archive)
        if target.exists():
            os.replace(target, beside / "replaced")
        os.replace(arranged, target)


def _check_sizes(entry: CatalogueEntry, sizes: Sizes, archive: Path) -> None:
    """Refuse another data set; warn if this one differs a little from what is published."""
    other = recognise(*sizes)
    if other is not None and other != entry:
        raise ValueError(f"{archive} holds {other.name}, not {entry.name}.")
    if entry.n_train is None or sizes == entry.sizes:
        return
    published = sizes_in_words(entry.sizes, missing="an unknown number of")
    if not all(map(_are_near, sizes[:N_COMPARED], entry.sizes[:N_COMPARED])):
        raise ValueError(
            f"{archive} is not {entry.name}, which has {published}: it has "
            f"{sizes_in_words(sizes)}; give the archive of {entry.name}, or unpack this one and "
            "give its folder as DATA."
        )
    warnings.warn(
        f"{entry.name} is published with {published}, but this archive has "
        f"{sizes_in_words(sizes)}.",
        stacklevel=2,
    )


def _are_near(found: int | None, published: int | None) -> bool:
    return found is None or published is None or abs(found - published) <= SLACK * published


@contextmanager
def _folder_beside(target: Path) -> Iterator[Path]:
    beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield beside
    finally:
        shutil.rmtree(beside, ignore_errors=True)
