"""Models on disk: a folder with ``model.json`` and safetensors files, memory-mapped on load.

``model.json`` says which files belong to the model. A save writes new files under fresh names
beside the old ones and then replaces ``model.json`` in one step, so whatever goes wrong
before that step leaves the old model whole, and a reader of the old files is not disturbed.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import tempfile
import time
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError

from polyseme.files.format_1 import from_format_1
from polyseme.files.safetensors_files import check_storable, map_arrays, write_arrays
from polyseme.files.stored_model import Contents, StoredModel
from polyseme.inputs.names import Names
from polyseme.machine.processes import is_main_process

__all__ = [
    "CARD",
    "CARD_MARK",
    "FORMAT_VERSION",
    "check_target",
    "is_model",
    "model_files",
    "open_model",
    "peek",
    "polyseme_version",
    "save_model",
]

FORMAT_VERSION = 5

CARD = "README.md"
# On a card that was made of the model, and goes with it.
CARD_MARK = "<!-- Made by polyseme from the model; remove this line to keep what you change. -->"
_FORMAT = "polyseme"
_MANIFEST = "model.json"
_PARTS = ("weights", "names")
_FILE_NAME = re.compile(r"(weights|names)-[0-9a-f]{8}\.safetensors|model-[0-9a-f]{8}\.json")
# Also what safetensors writes before it renames, and what a try to write may leave.
_LEFTOVER = re.compile(rf"{_FILE_NAME.pattern}|\.tmp\w{{6}}|\.polyseme-\w{{8}}")
_STALE_SECONDS = 24 * 60 * 60

Array = npt.NDArray[Any]


def save_model(path: str | os.PathLike[str], contents: Contents) -> None:
    """Save a model as a folder; a model that is there already is replaced in one step.

    Of several processes that run the same program (`accelerate launch`) the main one writes.

    Parameters
    ----------
    path : path
        A folder: new, empty, or a polyseme model.
    contents : Contents
        NumPy numbers in the description are stored as plain ones; arrays are integers, floats or
        booleans of any shape.

    Raises
    ------
    ValueError
        If `path` is something else, or the content cannot be stored.
    OSError
        If writing fails (disk full, no permission); the folder is then as it was before.
    """
    folder = Path(path)
    files_of = {"weights": contents.arrays, "names": _names_to_arrays(contents.names)}
    check_storable(contents.arrays)
    described = _to_json(contents.description)
    check_target(folder)
    if not is_main_process():
        return

    token = secrets.token_hex(4)
    new_files = {part: f"{part}-{token}.safetensors" for part in _PARTS}
    new_manifest = f"model-{token}.json"
    created = _missing_folders(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = {}
        for part, file_name in new_files.items():
            write_arrays(folder / file_name, files_of[part])
            files[part] = {
                "name": file_name,
                "n_bytes": (folder / file_name).stat().st_size,
                "crc32": _crc32(folder / file_name),
            }
        manifest = {
            "format": _FORMAT,
            "format_version": FORMAT_VERSION,
            "polyseme_version": polyseme_version(),
            "files": files,
            "description": described,
        }
        manifest["crc32"] = _manifest_crc32(manifest)
        _write_text(folder / new_manifest, json.dumps(manifest, indent=2) + "\n")
        old_files = _named_files(folder)
        os.replace(folder / new_manifest, folder / _MANIFEST)
    except BaseException as error:
        _remove_unnamed(folder, [*new_files.values(), new_manifest])
        _remove_empty(created)
        if isinstance(error, (OSError, SafetensorError)):
            raise _save_error(folder, error) from error
        raise
    _sync_folder(folder)
    _remove_unnamed(folder, old_files | _stale_files(folder))
    _remove_card(folder)


def open_model(path: str | os.PathLike[str]) -> StoredModel:
    """Open a model folder; arrays are memory-mapped, so that a large model opens at once.

    Raises
    ------
    FileNotFoundError
        If there is nothing at `path`.
    ValueError
        If it is not a model, is damaged, or needs a newer polyseme.
    """
    folder = Path(path)
    if not folder.exists():
        raise FileNotFoundError(
            f"there is no model at {folder}; give the folder that a model was saved in."
        )
    if not is_model(folder):
        raise ValueError(
            f"{folder} is not a polyseme model: a folder with {_MANIFEST} is expected"
        )
    manifest = _read_manifest(folder)
    while True:
        try:
            contents = {part: _read_part(folder, manifest, part) for part in _PARTS}
            break
        except FileNotFoundError as error:
            # A save may have replaced the model since model.json was read.
            newer = _read_manifest(folder)
            if newer == manifest:
                raise ValueError(
                    f"{folder} is not complete: {Path(error.filename).name} is missing;"
                    " copy the whole folder again"
                ) from None
            manifest = newer
    stored = StoredModel(
        path=folder,
        description=manifest["description"],
        arrays=contents["weights"],
        names=_names_from_arrays(folder, contents["names"]),
    )
    return stored if manifest["format_version"] > 1 else from_format_1(stored)


def is_model(path: str | os.PathLike[str]) -> bool:
    """Say whether something looks like a saved model."""
    return (Path(path) / _MANIFEST).is_file()


def peek(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the description of the model in a folder, its arrays unread; None if there is none.

    It is for people: nothing of it was checked but its form.
    """
    folder = Path(path)
    if not (folder / _MANIFEST).is_file():
        return None
    found = _parse_manifest(folder).get("description")
    return found if isinstance(found, dict) else None


def model_files(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the files that make up the model in a folder."""
    return [_MANIFEST, *sorted(_named_files(Path(path)))]


# Writing


def check_target(folder: Path) -> None:
    """Refuse a place where a model cannot be saved, before the work of training it."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"cannot save a model to {folder}: it is a file; give a folder.")
    _try_to_write(folder)
    if not folder.exists():
        return
    if (folder / _MANIFEST).exists():
        is_model = _parse_manifest(folder).get("format") == _FORMAT
    else:
        # Files of our own without model.json are the rest of a save that was killed.
        is_model = all(_LEFTOVER.fullmatch(entry.name) for entry in folder.iterdir())
    if not is_model:
        raise ValueError(
            f"cannot save a model to {folder}: the folder holds something else;"
            " give a new or empty folder, or a polyseme model to replace"
        )


def _try_to_write(folder: Path) -> None:
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        tempfile.TemporaryFile(prefix=".polyseme-", dir=nearest).close()
    except OSError as error:
        raise OSError(
            f"cannot save a model to {folder}: nothing can be written to {nearest} "
            f"({error.strerror}); give another folder"
        ) from error


def _to_json(description: Mapping[str, Any]) -> Any:
    def plain(value: object) -> object:
        if isinstance(value, np.generic):
            return value.item()
        raise TypeError(f"{value!r} is not a JSON value")

    try:
        return json.loads(json.dumps(dict(description), default=plain, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"cannot store the description of the model: {error}") from None


def _names_to_arrays(names: Mapping[str, Names]) -> dict[str, Array]:
    return {
        f"{key}.{kind}": array
        for key, value in names.items()
        for kind, array in value.to_arrays().items()
    }


def _write_text(path: Path, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the replaced model.json survive a power cut, where the system can."""
    with suppress(OSError):  # Windows cannot open folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _named_files(folder: Path) -> set[str]:
    """Return the files that the present model.json names; none where there is no such file."""
    if not (folder / _MANIFEST).exists():
        return set()
    files = _parse_manifest(folder).get("files")
    entries = files.values() if isinstance(files, dict) else ()
    named = {str(entry.get("name")) for entry in entries if isinstance(entry, dict)}
    return {name for name in named if _FILE_NAME.fullmatch(name)}


def _stale_files(folder: Path) -> set[str]:
    """Return what killed saves left here; younger files may belong to a save still running."""
    newest = time.time() - _STALE_SECONDS
    with suppress(OSError):
        ours = [entry for entry in folder.iterdir() if _LEFTOVER.fullmatch(entry.name)]
        return {entry.name for entry in ours if entry.stat().st_mtime < newest}
    return set()


def _remove_unnamed(folder: Path, candidates: Iterable[str]) -> None:
    """Remove those of our files that the present model.json does not name."""
    try:
        named = _named_files(folder)
    except (OSError, ValueError):  # when in doubt, a file too many is better than one too few
        return
    for name in set(candidates) - named:
        with suppress(OSError):  # Windows keeps files that are mapped
            (folder / name).unlink(missing_ok=True)


def _remove_card(folder: Path) -> None:
    """Remove the card of the model before, unless people have made it their own."""
    with suppress(OSError):
        if CARD_MARK in (folder / CARD).read_text(encoding="utf-8", errors="replace"):
            (folder / CARD).unlink()


def _missing_folders(folder: Path) -> list[Path]:
    return [place for place in (folder, *folder.parents) if not place.exists()]


def _remove_empty(folders: Iterable[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _save_error(folder: Path, error: OSError | SafetensorError) -> OSError:
    if isinstance(error, OSError):
        number = error.errno
    else:
        found = re.search(r"(?:os error|code:) (\d+)", str(error))
        number = int(found.group(1)) if found else None
    reason = os.strerror(number) if number else str(error)
    message = f"cannot save the model to {folder}: {reason}; what was there before is unchanged"
    return OSError(number, message) if number else OSError(message)


def polyseme_version() -> str:
    """Return the version that is installed."""
    try:
        return metadata.version("polyseme")
    except metadata.PackageNotFoundError:
        return "unknown"


# Reading


def _parse_manifest(folder: Path) -> dict[str, Any]:
    path = folder / _MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise ValueError(f"{path} is not a readable model description (JSON)") from None
    if not isinstance(manifest, dict):
        raise ValueError(f"{path} is not a model description")
    return manifest


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / _MANIFEST
    manifest = _parse_manifest(folder)
    if manifest.get("format") != _FORMAT:
        raise ValueError(f"{path} does not describe a polyseme model")
    version = manifest.get("format_version")
    if type(version) is not int or version < 1:
        raise ValueError(f"{path} has no valid format_version")
    if version > FORMAT_VERSION:
        raise ValueError(
            f"the model {folder} needs a newer polyseme: its format is {version},"
            f" this one ({polyseme_version()}) reads up to {FORMAT_VERSION}; upgrade polyseme"
        )
    if version > 1 and manifest.get("crc32") != _manifest_crc32(manifest):
        raise ValueError(f"{path} was changed: its checksum is wrong; copy the model again")
    if not isinstance(manifest.get("description"), dict):
        raise ValueError(f"{path} has no description of the model")
    return manifest


def _manifest_crc32(manifest: Mapping[str, Any]) -> int:
    """Return the checksum of model.json, however its lines are broken."""
    covered = {key: value for key, value in manifest.items() if key != "crc32"}
    return zlib.crc32(json.dumps(covered, sort_keys=True, separators=(",", ":")).encode())


def _read_part(folder: Path, manifest: dict[str, Any], part: str) -> dict[str, Array]:
    files = manifest.get("files")
    entry = files.get(part) if isinstance(files, dict) else None
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(name, str) or not _FILE_NAME.fullmatch(name):
        raise ValueError(f"{folder / _MANIFEST} does not name a file of {part}")
    path = folder / name
    n_bytes = path.stat().st_size
    if n_bytes != entry.get("n_bytes"):
        raise ValueError(
            f"{path} has {n_bytes} bytes where {_MANIFEST} says {entry.get('n_bytes')}:"
            " the file is truncated or was changed; copy the model again"
        )
    if _crc32(path) != entry.get("crc32"):
        raise ValueError(f"{path} is damaged: its checksum is wrong; copy the model again")
    arrays = map_arrays(path, n_bytes)
    return {
        name: array if _stays_mapped(name) else _in_memory(array) for name, array in arrays.items()
    }


def _stays_mapped(name: str) -> bool:
    """Tell weights, which are copied at first use anyway, and documents kept for updates.

    All else is copied: whoever reads a map of a file that was cut short dies of it.
    """
    return name.endswith(".bytes") or name.startswith("training.")


def _in_memory(array: Array) -> Array:
    array = array.copy()
    array.flags.writeable = False
    return array


def _crc32(path: Path) -> int:
    """Return the checksum of a file. All of it is read: the checks on load do so anyway."""
    checksum = 0
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            checksum = zlib.crc32(block, checksum)
    return checksum


def _names_from_arrays(folder: Path, arrays: Mapping[str, Array]) -> dict[str, Names]:
    groups: dict[str, dict[str, Array]] = {}
    for name, array in arrays.items():
        key, _, kind = name.rpartition(".")
        groups.setdefault(key, {})[kind] = array
    try:
        return {key: Names.from_arrays(group) for key, group in groups.items()}
    except ValueError as error:
        raise ValueError(f"the names of the model {folder} are damaged: {error}") from None
