"""Planes of models as files in the user's cache folder: a restart need not find them again."""

from __future__ import annotations

import hashlib
import logging
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as unpacked
from safetensors.numpy import save as packed

from polyseme.files.whole_files import written_beside
from polyseme.senses.plane import Plane

__all__ = ["KeptPlanes", "fingerprint_of", "from_bytes", "to_bytes"]

log = logging.getLogger("polyseme.server")

MOST_BYTES = 64 * 1024 * 1024  # of all that is kept
LAYOUT = 2  # one more whenever `plane_of` comes to lay out differently
STALE_SECONDS = 24 * 60 * 60  # for what a server that was killed left half written
DTYPES = {
    "labels": np.dtype(np.int64),
    "positions": np.dtype(np.float32),
    "senses": np.dtype(np.int64),
    "sense_positions": np.dtype(np.float32),
}


def fingerprint_of(folder: Path) -> str | None:
    """Return what tells a saved model from all others: its manifest has checksums of its files."""
    try:
        return hashlib.sha256((folder / "model.json").read_bytes()).hexdigest()
    except OSError:
        return None


def to_bytes(plane: Plane | None) -> bytes:
    """Return a plane as bytes; none at all for a model that has no plane."""
    return b"" if plane is None else packed({name: getattr(plane, name) for name in DTYPES})


def from_bytes(content: bytes, classifier: Any) -> Plane | None:
    """Return the plane of a model again; ValueError if it cannot be that."""
    if not content:
        return None
    try:
        arrays = unpacked(content)
    except SafetensorError as error:
        raise ValueError(str(error)) from None
    if {name: array.dtype for name, array in arrays.items()} != DTYPES:
        raise ValueError("it is no plane")
    n_senses = 0 if classifier.senses_ is None else classifier.senses_.n_senses
    for kind, places, n in (
        ("labels", "positions", classifier.n_labels_),
        ("senses", "sense_positions", n_senses),
    ):
        numbers, positions = arrays[kind], arrays[places]
        if numbers.ndim != 1 or positions.shape != (len(numbers), 2):
            raise ValueError(f"its {kind} and their positions do not go together")
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < n:
            raise ValueError(f"it has {kind} that the model has not")
        if not np.isfinite(positions).all():
            raise ValueError(f"its {kind} lie nowhere")
    return Plane(**arrays)


class KeptPlanes:
    """Planes by the fingerprints of their models; those used last stay when room is short.

    Nothing here fails: where nothing can be kept, nothing is, and what is damaged is not there.

    Parameters
    ----------
    folder : Path, optional
        None to keep nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def find(self, fingerprint: str) -> bytes | None:
        """Return what was kept for a model, if it is whole."""
        if self._folder is None:
            return None
        path = self._path(self._folder, fingerprint)
        try:
            digest, content = _divided(path.read_bytes())
        except OSError:
            return None
        if digest != _digest(content):
            return None
        with suppress(OSError):
            path.touch()
        return content

    def keep(self, fingerprint: str, content: bytes) -> None:
        """Keep something for a model."""
        if self._folder is None or len(content) > MOST_BYTES:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with written_beside(self._path(self._folder, fingerprint)) as file:
                file.write(_digest(content) + content)
            _prune(self._folder)
        except OSError as error:
            log.info("the layout of the map is not kept for the next start: %s", error)

    def _path(self, folder: Path, fingerprint: str) -> Path:
        return folder / f"{fingerprint}.{LAYOUT}"


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _divided(whole: bytes) -> tuple[bytes, bytes]:
    n = hashlib.sha256().digest_size
    return whole[:n], whole[n:]


def _prune(folder: Path) -> None:
    """Remove what was used longest ago until there is room, and what was never finished."""
    used_last_first = sorted(folder.iterdir(), key=lambda path: -path.stat().st_mtime)
    n_bytes = 0
    for path in used_last_first:
        about = path.stat()
        n_bytes += about.st_size
        is_stale = path.suffix == ".part" and time.time() - about.st_mtime > STALE_SECONDS
        if n_bytes > MOST_BYTES or is_stale:
            path.unlink(missing_ok=True)
