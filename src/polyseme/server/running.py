"""Runs the app until it is told to stop."""

from __future__ import annotations

import gc
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import uvicorn

import polyseme
from polyseme.server.app import create_app
from polyseme.server.connections import connections_with
from polyseme.server.metrics import ServerMetrics
from polyseme.server.model_store import ModelStore
from polyseme.server.settings import ServerSettings

__all__ = ["is_loopback", "serve"]

# How long a thread may keep Python's lock while another waits for it; Python's own 5 ms. The loop
# and the thread that answers hand it to each other all the time, so that these waits add up.
LOCK_SECONDS = 0.0005


def serve(
    paths: Mapping[str, Path],
    settings: ServerSettings,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    grace_seconds: int | None = 30,
    access_log: bool = False,
    load: Callable[..., Any] = polyseme.load,
    on_start: Callable[[str], object] = lambda url: None,
) -> None:
    """Serve models until Ctrl-C or SIGTERM; then finish what is under way and return.

    Parameters
    ----------
    paths : dict of str to Path
        Model folders by name.
    port : int
        0 for one that is free.
    grace_seconds : int, optional
        How long requests under way may take at the end.
    load : callable
        See `ModelStore`.
    on_start : callable
        Told the address when the server listens.
    """
    metrics = ServerMetrics()
    with _listening(host, port) as listener:
        store = ModelStore(
            paths,
            n_threads=settings.n_threads,
            load=load,
            on_load=lambda name, outcome: metrics.loads.labels(name, outcome).inc(),
        )
        config = uvicorn.Config(
            create_app(store, settings, metrics),
            http=connections_with(settings),
            ws="none",
            log_config=None,
            access_log=access_log,
            server_header=False,
            timeout_graceful_shutdown=grace_seconds,
            backlog=2048,
        )
        # All that is there now stays. A full collection would look through it again and again,
        # and hold up every request under way for some 70 ms.
        gc.collect()
        gc.freeze()
        sys.setswitchinterval(LOCK_SECONDS)
        _write_log_to_stderr()
        # Uvicorn finishes what is under way, and then raises the signal again.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        # Connections wait from here on, and are answered in a moment.
        on_start(_url(listener))
        uvicorn.Server(config).run(sockets=[listener])


def _write_log_to_stderr() -> None:
    logging.basicConfig(
        format="polyseme: %(message)s", level=logging.INFO, stream=sys.stderr, force=True
    )
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)


def _listening(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        listener = socket.create_server(address, family=family, backlog=2048)
        # Connections inherit it. asyncio's own loop does not set it for such a socket, and then
        # the body of every answer would wait 40 ms for the client to confirm its head.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        raise OSError(f"cannot listen at {host}:{port}: {error.strerror or error}") from error


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
