"""Embeddings on disk, by text and weights: what was computed once is read back."""

from __future__ import annotations

import hashlib
import secrets
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.neural.together import agreed, encoded_together
from polyseme.backbones.transformer.encoders import Encoder
from polyseme.files.safetensors_files import map_arrays, write_arrays
from polyseme.machine.processes import is_main_process
from polyseme.machine.run import Run

__all__ = ["EmbeddingStore"]

TEXTS_AT_ONCE = 2048  # a file holds as many, so that a run that is stopped loses no more
Floats = npt.NDArray[np.float32]


class EmbeddingStore:
    """The embeddings that an encoder made, in files of some thousand each.

    Parameters
    ----------
    encoder : Encoder
        Its weights must not change while the store is in use.
    folder : Path, optional
        Where files are kept and found again by any store of the same weights; by default in a
        place of its own, which is gone when the store is.

    Of several processes that train together each encodes a part of the texts, the main one writes
    files, and all read them; they must make and fill stores in the same order.
    """

    def __init__(self, encoder: Encoder, folder: Path | None = None) -> None:
        self._encoder = encoder
        if folder is None:
            name = ""
            if is_main_process():
                kept = tempfile.TemporaryDirectory(prefix="polyseme-embeddings-")
                weakref.finalize(self, kept.cleanup)
                name = kept.name
            folder = Path(agreed(name))
        self._folder = folder / encoder.key
        self._place: dict[bytes, tuple[int, int]] = {}
        self._files: list[Floats] = []
        self._opened: set[str] = set()
        self._open_new_files()

    def __len__(self) -> int:
        """Return how many texts are known."""
        return len(self._place)

    def embed(self, texts: Sequence[str], run: Run, *, keep: bool = True) -> Floats:
        """Return the embeddings of texts; computes those that are not known, and keeps them.

        Returns
        -------
        ndarray of float32, shape (n_texts, n_dimensions)
        """
        digests = [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts]
        if keep:
            unknown = {
                digest: text
                for digest, text in zip(digests, texts, strict=True)
                if digest not in self._place
            }
            if unknown and self._open_new_files():  # another store of these weights wrote some
                unknown = {one: text for one, text in unknown.items() if one not in self._place}
            # Texts of like length together: there is less padding within a block.
            missing = sorted(unknown, key=lambda digest: -len(unknown[digest]))
            n_known = len(texts) - len(missing)
            for first in range(0, len(missing), TEXTS_AT_ONCE):
                block = missing[first : first + TEXTS_AT_ONCE]
                own = [unknown[digest] for digest in block]
                told = run.counting_from(n_known + first)
                if len(block) == 1:  # the only one that threads would share, and round otherwise
                    told = replace(told, n_threads=1)
                self._add(block, encoded_together(self._encoder.embed, own, told))
            if run.progress is not None:
                run.progress(len(texts))
        return self._gathered(digests, texts, run)

    def _gathered(self, digests: Sequence[bytes], texts: Sequence[str], run: Run) -> Floats:
        found = np.zeros((len(texts), self._encoder.n_dimensions), dtype=np.float32)
        places = [self._place.get(digest, (-1, -1)) for digest in digests]
        where = np.array(places, dtype=np.int64).reshape(len(texts), 2)
        for number, vectors in enumerate(self._files):
            own = np.flatnonzero(where[:, 0] == number)
            found[own] = vectors[where[own, 1]]
        new = np.flatnonzero(where[:, 0] < 0)
        if len(new):
            found[new] = self._encoder.embed([texts[i] for i in new.tolist()], run)
        return found

    def _add(self, digests: Sequence[bytes], vectors: Floats) -> None:
        file = self._folder / f"{secrets.token_hex(8)}.safetensors"
        if is_main_process():
            keys = np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(len(digests), 16)
            self._write(file, {"texts": keys, "vectors": vectors})
        self._open(agreed(file))  # which is there once the main process says its name

    def _write(self, file: Path, arrays: dict[str, npt.NDArray[Any]]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        beside = file.with_suffix(".part")
        try:
            write_arrays(beside, arrays)
            beside.replace(file)
        finally:
            beside.unlink(missing_ok=True)

    def _open_new_files(self) -> bool:
        there = agreed(sorted(path.name for path in self._folder.glob("*.safetensors")))
        new = [name for name in there if name not in self._opened]
        for name in new:
            self._open(self._folder / name)
        return bool(new)

    def _open(self, file: Path) -> None:
        self._opened.add(file.name)
        try:
            arrays = map_arrays(file, file.stat().st_size)
            keys, vectors = arrays["texts"], arrays["vectors"]
            n, width = keys.shape
            if width != 16 or vectors.shape != (n, self._encoder.n_dimensions):
                raise ValueError("of another kind")
        except (ValueError, KeyError):  # cut short by a full disk: computed again
            file.unlink(missing_ok=True)
            return
        for row in range(n):
            self._place.setdefault(keys[row].tobytes(), (len(self._files), row))
        self._files.append(vectors)

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("a store of embeddings stays with its process")
