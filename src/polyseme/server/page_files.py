"""The page for people, and that of the API: files of the folder ``page``, sent as they are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from fastapi import APIRouter, Request
from starlette.responses import Response

from polyseme.server.packed import Packed
from polyseme.server.problems import Problem

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

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
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # ask each time; the answer is mostly "not modified"
}


def make_page_routes() -> APIRouter:
    """Return the routes of the page; its files are read once."""
    files = _all_files()
    routes = APIRouter(include_in_schema=False)

    @routes.api_route("/", methods=["GET", "HEAD"])
    async def page(request: Request) -> Response:
        return _respond(request, files["index.html"])

    @routes.api_route("/docs", methods=["GET", "HEAD"])
    async def docs(request: Request) -> Response:
        return _respond(request, files["docs.html"])

    @routes.api_route("/page/{name:path}", methods=["GET", "HEAD"])
    async def page_file(request: Request, name: str) -> Response:
        if name not in files:
            raise Problem(404, "The page has no such file.")
        return _respond(request, files[name])

    return routes


class _File(NamedTuple):
    packed: Packed
    tag: str


@cache
def _all_files() -> dict[str, _File]:
    return dict(_read_files(resources.files("polyseme.server").joinpath("page")))


def _read_files(folder: Traversable, before: str = "") -> Iterator[tuple[str, _File]]:
    """Yield the path of each file of a folder, and the file."""
    for file in folder.iterdir():
        suffix = file.name[file.name.rfind(".") :]
        if file.is_dir():
            yield from _read_files(file, f"{before}{file.name}/")
        elif suffix in TYPES:
            content = file.read_bytes()
            tag = f'W/"{hashlib.sha256(content).hexdigest()[:20]}"'
            yield before + file.name, _File(Packed.of(content, TYPES[suffix]), tag)


def _respond(request: Request, file: _File) -> Response:
    headers = {**HEADERS, "ETag": file.tag}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return file.packed.respond(request, headers)
