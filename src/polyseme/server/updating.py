"""Reviewed documents, which a model learns and is saved with; only where the server allows it."""

from __future__ import annotations

import logging
import threading
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

import polyseme
from polyseme.machine.quantities import counted
from polyseme.server import schemas
from polyseme.server.problems import Problem, described
from polyseme.server.served_model import ServedModel
from polyseme.server.service import Service, json_response

__all__ = ["add_updating"]

log = logging.getLogger("polyseme.server")


def add_updating(routes: APIRouter, service: Service) -> None:
    """Add the endpoint that takes reviewed documents."""
    one_at_a_time = threading.Lock()

    @routes.post(
        "/update",
        response_model=schemas.UpdateResponse,
        responses=described({409: "The model cannot learn documents, or is learning others."}),
        tags=["models"],
    )
    async def update(request: schemas.UpdateRequest) -> Response:
        """Let a model learn reviewed documents, and save it in its place.

        That takes about as long as `polyseme update`. Until it is done, the model answers as it
        was; another update meanwhile is refused.
        """
        served = service.model(request.model)
        if not served.keeps_training_data:
            raise Problem(
                409,
                f"Model {served.name!r} does not hold the documents it was trained on; train it "
                "with --keep-data, or use polyseme update --with.",
            )
        for document in request.documents:
            service.document(served, document.text, None)
        if not one_at_a_time.acquire(blocking=False):
            raise Problem(409, "Another update is under way; try again when it is done.")
        try:
            done = await service.run(_updated, served, request.documents)
            await service.run(service.store.refresh)
        finally:
            one_at_a_time.release()
        return json_response({"model": served.name, **done})


def _updated(served: ServedModel, documents: list[schemas.ReviewedDocument]) -> dict[str, Any]:
    """Update a model of its own: the one in service may be asked meanwhile."""
    model = polyseme.load(served.path)
    try:
        done = model.update(
            [document.text for document in documents], [one.labels for one in documents]
        )
    except ValueError as error:
        raise Problem(422, str(error)) from None
    model.save(served.path)
    learned = counted(done.n_documents, "reviewed document")
    log.info("model %s has learned %s", served.name, learned)
    return {
        "n_documents": done.n_documents,
        "n_labels": done.n_labels,
        "full_training_due": list(done.full_training_due),
    }
