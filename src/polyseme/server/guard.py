"""What happens to a request before anything else: token, limits, counting."""

from __future__ import annotations

import hmac
import time
from collections.abc import Collection

import anyio
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from polyseme.server.metrics import ServerMetrics
from polyseme.server.problems import Problem, problem_response
from polyseme.server.settings import ServerSettings

__all__ = ["Guard"]


class Guard:
    """Plain ASGI middleware, in front of everything else.

    Parameters
    ----------
    paths_with_body : collection of str
        Where a POST has a body. All other requests are answered without looking at theirs.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: ServerSettings,
        metrics: ServerMetrics,
        paths_with_body: Collection[str],
    ) -> None:
        self._app, self._settings, self._metrics = app, settings, metrics
        self._paths_with_body = frozenset(paths_with_body)
        self._token = None if settings.token is None else settings.token.encode()
        self._n_under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        is_work = scope["path"].startswith("/v1/")
        is_over = is_work and self._n_under_way >= self._settings.max_concurrent
        self._n_under_way += is_work
        self._metrics.under_way.inc()
        try:
            refusal = self._refusal(scope, is_over)
            if refusal is None:
                try:
                    receive = await self._with_body(scope, receive)
                except Problem as problem:
                    refusal = problem_response(problem.status, problem.detail, problem.headers)
            await (refusal or self._app)(scope, receive, noting)
        finally:
            self._n_under_way -= is_work
            self._metrics.under_way.dec()
            # The pattern of the route, never the path itself: clients can invent paths.
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.requests.labels(route, status).inc()
            self._metrics.seconds.labels(route).observe(time.perf_counter() - began)

    def _refusal(self, scope: Scope, is_over: bool) -> Response | None:
        if self._token is not None and scope["path"].startswith(("/v1", "/metrics")):
            given = Headers(scope=scope).get("authorization", "")
            kind, _, token = given.partition(" ")
            same = hmac.compare_digest(token.strip().encode("latin-1"), self._token)
            if kind.lower() != "bearer" or not same:
                return problem_response(
                    401,
                    "This server wants a bearer token.",
                    {"WWW-Authenticate": "Bearer", "Connection": "close"},
                )
        if is_over:
            return problem_response(
                503,
                f"{self._settings.max_concurrent} requests are under way; try again.",
                {"Retry-After": "1"},
            )
        return None

    async def _with_body(self, scope: Scope, receive: Receive) -> Receive:
        """Read the whole body, within limits, and return what hands it on."""
        if scope["method"] != "POST" or scope["path"] not in self._paths_with_body:
            return receive
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdecimal() and int(declared) > self._settings.max_body:
            raise self._too_large()
        try:
            with anyio.fail_after(self._settings.body_seconds):
                first = await self._whole_body(receive)
        except TimeoutError:
            raise Problem(
                408,
                f"The request did not arrive within {self._settings.body_seconds:g} seconds.",
                {"Connection": "close"},
            ) from None
        # Nothing else is taken, so whoever forgets to say that it is JSON is understood.
        others = [pair for pair in scope["headers"] if pair[0] != b"content-type"]
        scope["headers"] = [*others, (b"content-type", b"application/json")]
        pending = [first]

        async def handing_on() -> Message:
            return pending.pop() if pending else await receive()

        return handing_on

    async def _whole_body(self, receive: Receive) -> Message:
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise Problem(400, "The client went away.")  # nobody reads this but the counters
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._settings.max_body:
                raise self._too_large()
            if not message.get("more_body", False):
                return {"type": "http.request", "body": b"".join(parts), "more_body": False}

    def _too_large(self) -> Problem:
        # What is still on its way is not read, so the connection cannot be used again.
        return Problem(
            413,
            f"The request has more than {self._settings.max_body:,} bytes; send less at a time.",
            {"Connection": "close"},
        )
