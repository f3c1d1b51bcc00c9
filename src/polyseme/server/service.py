"""What the routes share: the models, the threads, and the way to both."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.responses import Response

from polyseme.server.batching import Batcher
from polyseme.server.kept_planes import KeptPlanes
from polyseme.server.metrics import ServerMetrics
from polyseme.server.model_store import ModelStore
from polyseme.server.planes import Planes
from polyseme.server.problems import Problem
from polyseme.server.served_model import Document, Question, ServedModel, as_json
from polyseme.server.settings import ServerSettings
from polyseme.suggestions import Suggestion

__all__ = ["Service", "json_response"]

log = logging.getLogger("polyseme.server")

LOOK_SECONDS = 1.0  # between looks for models that were replaced

Result = TypeVar("Result")


class Service:
    """One for each app."""

    def __init__(
        self, store: ModelStore, settings: ServerSettings, metrics: ServerMetrics
    ) -> None:
        self.store, self.settings, self.metrics = store, settings, metrics
        self._pool = ThreadPoolExecutor(max(2, settings.n_threads), "polyseme-worker")
        self._watcher = ThreadPoolExecutor(1, "polyseme-watcher")
        self._batchers: dict[str, tuple[ServedModel, Batcher[Question, list[Suggestion]]]] = {}
        self.planes = Planes(KeptPlanes(settings.planes_folder), self.run)

    async def close(self) -> None:
        """Wait for what is under way and end the threads."""
        await self.planes.close()
        self._pool.shutdown()
        self._watcher.shutdown(cancel_futures=True)

    def model(self, name: str | None) -> ServedModel:
        """Return a model by name, the first one without."""
        try:
            return self.store.current(name)
        except KeyError:
            known = ", ".join(self.store.names)
            raise Problem(404, f"There is no such model; there are: {known}.") from None

    def document(self, served: ServedModel, text: str | None, features: Any) -> Document:
        """Return what a client sent in the form that models take."""
        if text is None:
            if served.needs_texts:
                raise Problem(422, f"Model {served.name!r} reads texts; send a text.")
            try:
                return served.row_of(features)
            except ValueError as error:
                raise Problem(422, str(error)) from None
        if not served.tagger.takes_texts:
            raise Problem(422, f"Model {served.name!r} takes features, not texts.")
        if len(text) > self.settings.max_text:
            most = self.settings.max_text
            raise Problem(413, f"A text has more than {most:,} characters; send less of it.")
        return text

    def check_threshold(self, served: ServedModel, threshold: float | None) -> None:
        """Refuse a threshold that is no probability where scores are."""
        tagger = served.tagger
        bounded = tagger.takes_texts or tagger.has_probabilities
        if threshold is not None and bounded and not 0 <= threshold <= 1:
            raise Problem(422, "The threshold must be a probability from 0 to 1.")

    async def run(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Run something long in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, function, *arguments)

    async def suggest(self, served: ServedModel, question: Question) -> list[Suggestion]:
        """Answer a question, together with others that arrive at the same time."""
        asked, batcher = self._batchers.get(served.name, (None, None))
        if batcher is None or asked is not served:
            # A batcher of a model that was replaced ends with its last answer.
            batcher = Batcher(
                served.answer_all, self._pool, on_batch=self.metrics.batch_size.observe
            )
            self._batchers[served.name] = served, batcher
        return await batcher.ask(question)

    async def look_ahead(self) -> None:
        """Prepare the maps of all models, one after the other, and of those that replace them."""
        seen: dict[str, ServedModel] = {}
        while True:
            for name in self.store.names:
                served = self.store.current(name)
                if seen.get(name) is not served:
                    seen[name] = served
                    try:
                        await self.run(served.catalogue.tree, 0)  # captions of areas are kept
                        await self.planes.of(served)
                    except Exception:
                        log.exception("the map of %s could not be prepared", name)
            await asyncio.sleep(LOOK_SECONDS)

    async def watch(self) -> None:
        """Look again and again whether a model was replaced; nothing but the end ends it."""
        loop = asyncio.get_running_loop()
        said = ""
        while True:
            await asyncio.sleep(self.settings.reload_seconds)
            try:
                await loop.run_in_executor(self._watcher, self.store.refresh)
            except Exception as error:
                if repr(error) != said:
                    log.exception("looking for replaced models failed; it goes on")
                said = repr(error)


def json_response(content: Any) -> Response:
    """Return plain values as JSON; quicker than through a schema, which is only for OpenAPI."""
    return Response(as_json(content), media_type="application/json")
