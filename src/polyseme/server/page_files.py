"""The page for people: files of the folder ``page``, sent as they are."""

from __future__ import annotations

import hashlib
from importlib import resources

from fastapi import APIRouter, Request
from starlette.responses import Response

from polyseme.server.problems import Problem

__all__ = ["make_page_routes"]

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    # Only what comes from here: no script in the markup, no other host, no frame around it.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # ask each time; the answer is mostly "not modified"
}


def make_page_routes() -> APIRouter:
    """Return the routes of the page; its few small files are read once."""
    files = _read_files()
    routes = APIRouter(include_in_schema=False)

    @routes.api_route("/", methods=["GET", "HEAD"])
    async def page(request: Request) -> Response:
        return _respond(request, *files["index.html"])

    @routes.api_route("/page/{name}", methods=["GET", "HEAD"])
    async def page_file(request: Request, name: str) -> Response:
        if name not in files:
            raise Problem(404, "The page has no such file.")
        return _respond(request, *files[name])

    return routes


def _read_files() -> dict[str, tuple[bytes, str]]:
    """Return content and media type of each file."""
    found = {}
    for file in resources.files("polyseme.server").joinpath("page").iterdir():
        suffix = file.name[file.name.rfind(".") :]
        if suffix in TYPES:
            found[file.name] = file.read_bytes(), TYPES[suffix]
    return found


def _respond(request: Request, content: bytes, media_type: str) -> Response:
    tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
    headers = {**HEADERS, "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=media_type)
