"""Connections whose clients say nothing, or take nothing, do not stand in the way of others."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from polyseme.server.settings import ServerSettings

__all__ = ["Connection", "connections_with"]

MAX_HEAD = 64 * 1024  # bytes of a request beside its body


class Connection(HttpToolsProtocol):
    """One client, who waits from the end of an answer until the next head is complete.

    It may do so for `head_seconds`; and if more than `max_waiting` wait, the one that has waited
    longest is cut off.
    """

    head_seconds: ClassVar[float]
    max_waiting: ClassVar[int]
    waiting: ClassVar[dict[Connection, asyncio.TimerHandle]]  # in the order in which they began

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._n_idle_bytes = 0
        self._stall_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._begin_to_wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        self._end_to_wait()
        self._forget_stall()
        super().connection_lost(exc)

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self._end_to_wait()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the end of this one, if it was refused."""
        super().on_response_complete()
        if self.cycle.response_complete:  # else another one stood in line
            self._begin_to_wait()

    def _begin_to_wait(self) -> None:
        self._end_to_wait()
        self.waiting[self] = self.loop.call_later(self.head_seconds, self.transport.close)
        if len(self.waiting) > self.max_waiting:
            oldest = next(iter(self.waiting))
            oldest._end_to_wait()
            oldest.transport.abort()

    def _end_to_wait(self) -> None:
        timer = self.waiting.pop(self, None)
        if timer is not None:
            timer.cancel()

    # Heads without an end

    def data_received(self, data: bytes) -> None:
        """Take a part of a request; refuse one that gets no further."""
        self._n_idle_bytes += len(data)
        super().data_received(data)
        if self._n_idle_bytes > MAX_HEAD and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")

    def on_body(self, body: bytes) -> None:
        """Take a part of a body, whose size is watched elsewhere."""
        self._n_idle_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Begin to count again."""
        self._n_idle_bytes = 0
        super().on_message_complete()

    # Answers that are not fetched

    def pause_writing(self) -> None:
        """Begin to look whether the client takes its answer."""
        super().pause_writing()
        self._look_for_a_stall(None)

    def resume_writing(self) -> None:
        """Stop looking."""
        self._forget_stall()
        super().resume_writing()

    def _look_for_a_stall(self, n_left_before: int | None) -> None:
        n_left = self.transport.get_write_buffer_size()
        if n_left == n_left_before:
            self.transport.abort()
            return
        self._stall_timer = self.loop.call_later(self.head_seconds, self._look_for_a_stall, n_left)

    def _forget_stall(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None


def connections_with(settings: ServerSettings) -> type[Connection]:
    """Return a class of connections for one server."""

    class ConnectionOfServer(Connection):
        head_seconds = settings.head_seconds
        max_waiting = min(settings.max_waiting, _most_files() // 2)
        waiting: ClassVar[dict[Connection, asyncio.TimerHandle]] = {}

    return ConnectionOfServer


def _most_files() -> int:
    """Return how many files and connections this process may have open."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return sys.maxsize
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft
