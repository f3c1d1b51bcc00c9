"""Where the labels of models lie in the plane, found ahead of the first question.

A large model takes many seconds of one core. They are spent in a process of its own, which holds
up no request by Python's lock, runs at low priority, gives its memory back, and can be ended at
any time.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from polyseme.senses.plane import Plane
from polyseme.server.kept_planes import KeptPlanes, from_bytes
from polyseme.server.lay_out import laid_out
from polyseme.server.packed import Packed
from polyseme.server.served_model import ServedModel

__all__ = ["Planes"]

log = logging.getLogger("polyseme.server")

FEW_LABELS = 1000  # they are laid out before another process would have begun


class Planes:
    """What the server answers about the plane of each model, found once.

    Parameters
    ----------
    kept : KeptPlanes
    run : callable
        Runs a function in a thread.
    """

    def __init__(self, kept: KeptPlanes, run: Callable[..., Awaitable[Any]]) -> None:
        self._kept, self._run = kept, run
        # A model that was replaced leaves as soon as nothing more is found for it.
        self._tasks: WeakKeyDictionary[ServedModel, asyncio.Task[Packed]] = WeakKeyDictionary()

    async def of(self, served: ServedModel) -> Packed:
        """Return the plane of a model as JSON; whoever asks while it is found waits for it."""
        task = self._tasks.get(served)
        if task is None or (task.done() and task.exception() is not None):
            task = self._tasks[served] = asyncio.create_task(self._found(served))
        return await asyncio.shield(task)  # a client that leaves must not end it for the others

    async def close(self) -> None:
        """End what is under way."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _found(self, served: ServedModel) -> Packed:
        plane = await self._plane(served)
        found: Packed = await self._run(served.plane_as_json, plane)
        return found

    async def _plane(self, served: ServedModel) -> Plane | None:
        classifier, fingerprint = served.classifier, served.fingerprint
        if fingerprint is not None and classifier.n_labels_ > FEW_LABELS:
            with suppress(ValueError):
                kept = await self._run(self._kept.find, fingerprint)
                if kept is not None:
                    return from_bytes(kept, classifier)
            try:
                content = await _laid_out_apart(served.path, fingerprint)
                plane = from_bytes(content, classifier)
            except (OSError, ValueError) as error:
                log.warning("the map of %s is laid out in the server: %s", served.name, error)
            else:
                await self._run(self._kept.keep, fingerprint, content)
                return plane
        found: Plane | None = await self._run(laid_out, classifier)
        return found


async def _laid_out_apart(folder: Path, fingerprint: str) -> bytes:
    """Return what the program `lay_out` writes; OSError if it fails."""
    command = [sys.executable, "-m", "polyseme.server.lay_out", str(folder), fingerprint]
    child = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the server, which ends its child itself
    )
    try:
        found, said = await child.communicate()
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    if child.returncode != 0:
        lines = said.decode(errors="replace").strip().splitlines()
        raise OSError(lines[-1] if lines else f"it ended with code {child.returncode}")
    return found
