"""Where fetched data sets lie, and what a user means by the name of one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from polyseme.datasets.catalogue import CatalogueEntry, find, nearest

__all__ = ["cache_folder", "fetched_folder", "resolve_dataset"]


def resolve_dataset(
    name_or_path: str | os.PathLike[str], cache: str | os.PathLike[str] | None = None
) -> Path:
    """Return the folder of a data set that is given by its path or by its name.

    What exists as a path wins over a name. A name that was not fetched yet is a
    ``FileNotFoundError`` with the command that fetches it; what is neither is returned as it is.
    """
    path = Path(name_or_path)
    name = os.fspath(name_or_path)
    if path.exists() or len(path.parts) != 1:
        return path
    try:
        entry = find(name)
    except ValueError:
        if (near := nearest(name)) is not None:
            raise FileNotFoundError(
                f"{name} does not exist; did you mean the data set {near}?"
            ) from None
        return path
    folder = fetched_folder(entry, cache)
    if not folder.is_dir():
        raise FileNotFoundError(
            f"{entry.name} was not fetched yet; run: polyseme datasets fetch {entry.name}"
        )
    return folder


def cache_folder() -> Path:
    """Return where fetched data sets are kept: ``POLYSEME_CACHE``, or the user's cache folder."""
    if chosen := os.environ.get("POLYSEME_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "polyseme"


def fetched_folder(entry: CatalogueEntry, cache: str | os.PathLike[str] | None = None) -> Path:
    """Return where a data set lies once it is fetched; then, and only then, it is a folder."""
    return (cache_folder() if cache is None else Path(cache)) / "datasets" / entry.name
