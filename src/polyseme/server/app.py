"""The web application: routes, errors, limits, and the watch over models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import metadata
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.responses import Response

from polyseme.server.guard import Guard
from polyseme.server.lookup_schemas import HealthResponse
from polyseme.server.metrics import ServerMetrics
from polyseme.server.model_store import ModelStore
from polyseme.server.page_files import make_page_routes
from polyseme.server.problems import add_problem_handlers
from polyseme.server.routes import make_routes
from polyseme.server.service import Service, json_response
from polyseme.server.settings import ServerSettings

__all__ = ["create_app"]

PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def create_app(
    store: ModelStore,
    settings: ServerSettings | None = None,
    metrics: ServerMetrics | None = None,
) -> FastAPI:
    """Return an ASGI app that serves the models of a store.

    Parameters
    ----------
    store : ModelStore
    settings : ServerSettings, optional
    metrics : ServerMetrics, optional
        Where to count; a fresh one by default.
    """
    settings = settings or ServerSettings()
    metrics = metrics or ServerMetrics()
    service = Service(store, settings, metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        running = [
            asyncio.create_task(task())
            for task, is_wanted in (
                (service.watch, settings.reload_seconds > 0),
                (service.look_ahead, settings.looks_ahead),
            )
            if is_wanted
        ]
        try:
            yield
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await service.close()

    app = FastAPI(
        title="polyseme",
        summary="Suggests labels for documents; a label may have several senses.",
        version=metadata.version("polyseme"),
        docs_url=None,  # these pages would load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        generate_unique_id_function=_operation_name,
    )
    routes = make_routes(service)
    app.add_middleware(
        Guard, settings=settings, metrics=metrics, paths_with_body=_paths_with_body(routes)
    )
    add_problem_handlers(app)
    app.include_router(routes)
    app.include_router(make_page_routes())
    _add_watching(app, store, metrics)
    _describe(app, needs_token=settings.token is not None)
    return app


def _add_watching(app: FastAPI, store: ModelStore, metrics: ServerMetrics) -> None:
    @app.get("/healthz", response_model=HealthResponse, tags=["watch"])
    async def health() -> Response:
        """Say that the server is alive, and whether a replaced model was refused."""
        models = store.health()
        is_fine = all(model["error"] is None for model in models.values())
        return json_response({"status": "ok" if is_fine else "degraded", "models": models})

    @app.get("/metrics", response_class=Response, tags=["watch"])
    async def prometheus() -> Response:
        """Return counts and times for Prometheus."""
        return Response(metrics.exposition(), headers={"Content-Type": PROMETHEUS_TYPE})


def _paths_with_body(routes: APIRouter) -> list[str]:
    found = [route for route in routes.routes if isinstance(route, APIRoute)]
    return [route.path for route in found if route.body_field is not None]


def _operation_name(route: APIRoute) -> str:
    return route.name


def _describe(app: FastAPI, *, needs_token: bool) -> None:
    """Let OpenAPI say what FastAPI cannot know.

    The first sentence of a docstring is the summary of an address, where FastAPI would take the
    function's name. The guard asks for a token long before a route could.
    """
    original = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is not None:
            return app.openapi_schema
        schema = original()
        operations = [one for of_path in schema["paths"].values() for one in of_path.values()]
        for operation in operations:
            first, _, rest = operation.pop("description").partition("\n\n")
            operation["summary"] = " ".join(first.split()).removesuffix(".")
            if rest:
                operation["description"] = rest
        if needs_token:
            scheme = {"type": "http", "scheme": "bearer"}
            schema.setdefault("components", {})["securitySchemes"] = {"token": scheme}
            schema["security"] = [{"token": []}]
        return schema

    app.openapi = described  # type: ignore[method-assign]
