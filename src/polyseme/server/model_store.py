"""The models of a server: read at the start, and again when they are replaced on disk."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polyseme
from polyseme.server.kept_planes import fingerprint_of
from polyseme.server.served_model import ServedModel

__all__ = ["ModelStore", "models_named"]

log = logging.getLogger("polyseme.server")

RETRY_SECONDS = 30.0  # a folder may still be on its way when its model.json is there
FORESEEN = (ValueError, OSError, MemoryError)  # their sentences are for everybody
Identity = tuple[int, int, int]


@dataclass
class _Place:
    """A model folder, what was last seen there, and what is served from it."""

    path: Path
    served: ServedModel
    seen: Identity | None
    error: str | None = None
    tried_at: float = 0.0


class ModelStore:
    """Models by name; `current` never blocks and never gives a half-loaded one.

    Parameters
    ----------
    paths : dict of str to Path
        The first is what clients get who name none.
    n_threads : int, optional
        Threads for large batches.
    load : callable
        Reads a model from its folder; for benchmarks, which serve others as well.
    on_load : callable, optional
        Told the name of a model and 'loaded' or 'failed'.
    """

    def __init__(
        self,
        paths: Mapping[str, Path],
        *,
        n_threads: int | None = None,
        load: Callable[..., Any] = polyseme.load,
        on_load: Callable[[str, str], object] | None = None,
    ) -> None:
        if not paths:
            raise ValueError("at least one model is needed")
        self._n_threads, self._read = n_threads, load
        self._on_load = on_load or (lambda name, outcome: None)
        self._places = {}
        for name, path in paths.items():
            seen = _identity(path)
            self._places[name] = _Place(path, self._load(name, path), seen)

    def _load(self, name: str, path: Path) -> ServedModel:
        before = fingerprint_of(path)
        model = self._read(path, n_jobs=self._n_threads)
        # Of a folder that was just replaced nobody knows which of the two was read.
        served = ServedModel(name, path, model, before if fingerprint_of(path) == before else None)
        served.warm_up()
        self._on_load(name, "loaded")
        return served

    @property
    def names(self) -> list[str]:
        """Names of all models; the first is the default."""
        return list(self._places)

    def current(self, name: str | None = None) -> ServedModel:
        """Return a model by name; KeyError if there is none.

        A request that began with a model keeps it, whatever is loaded meanwhile.
        """
        return self._places[self.names[0] if name is None else name].served

    def health(self) -> dict[str, dict[str, Any]]:
        """Return, for each model, when it was loaded and what is wrong with its replacement."""
        return {
            name: {
                "status": "ok" if place.error is None else "replacement refused",
                "loaded_at": place.served.loaded_at,
                "error": place.error,
            }
            for name, place in self._places.items()
        }

    def refresh(self) -> list[str]:
        """Load what was replaced on disk, beside the old, and return the names of new models.

        What cannot be loaded leaves the old model in service.
        """
        return [name for name, place in self._places.items() if self._refresh(name, place)]

    def _refresh(self, name: str, place: _Place) -> bool:
        seen = _identity(place.path)
        is_new = seen != place.seen
        is_due = place.error is not None and time.monotonic() - place.tried_at > RETRY_SECONDS
        if not is_new and not is_due:
            return False
        place.seen, place.tried_at = seen, time.monotonic()
        try:
            place.served = self._load(name, place.path)
        except Exception as error:  # whatever it is, the others are still looked after
            before, place.error = place.error, _public_sentence(error, place.path)
            if is_new or place.error != before:
                unforeseen = None if isinstance(error, FORESEEN) else error
                sentence = "model %s stays as it is: its replacement is refused: %s"
                log.error(sentence, name, error, exc_info=unforeseen)
            self._on_load(name, "failed")
            return False
        place.error = None
        log.info("model %s was replaced; the new one is in service", name)
        return True


def _identity(path: Path) -> Identity | None:
    """Tell one model.json from another: a save moves a new file into its place."""
    try:
        found = os.stat(path / "model.json")
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _public_sentence(error: Exception, path: Path) -> str:
    """Say what is wrong without saying where on this machine the model lies."""
    if not isinstance(error, FORESEEN):
        return f"it cannot be read ({type(error).__name__}); the server's log says more"
    return str(error).replace(str(path), path.name) or type(error).__name__


def models_named(arguments: list[str]) -> dict[str, Path]:
    """Return paths by name, from ``NAME=PATH`` or ``PATH`` (named after its folder)."""
    paths: dict[str, Path] = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        # A path that has an equals sign itself is taken as it is.
        if not equals or "/" in name or Path(argument).exists():
            name, path = Path(argument).resolve().name, argument
        if not name or not path:
            raise ValueError(f"{argument!r} is not NAME=PATH")
        if name in paths:
            raise ValueError(f"two models are called {name!r}; give them names: NAME=PATH")
        paths[name] = Path(path)
    return paths
