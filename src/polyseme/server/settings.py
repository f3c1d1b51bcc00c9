"""What a server allows, and whom."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from polyseme.machine.threads import count_threads

__all__ = ["ServerSettings"]


@dataclass(frozen=True)
class ServerSettings:
    """Limits and other choices of a server.

    Attributes
    ----------
    token : str, optional
        If given, every request to ``/v1`` and ``/metrics`` must carry it as a bearer token.
    max_body : int
        Most bytes of a request.
    max_text : int
        Most characters of a text.
    max_batch : int
        Most documents of a request.
    max_concurrent : int
        Most requests under way at a time; more are answered with 503.
    head_seconds : float
        How long a client may take to send the head of a request, or to take none of an answer.
    body_seconds : float
        How long a client may take to send the body of a request.
    max_waiting : int
        Most connections without a request under way; of more, the oldest is cut off. Never more
        than half of the files that the process may open.
    reload_seconds : float
        How often to look whether a model on disk was replaced; 0 for never.
    n_threads : int
        Threads that answer requests, and that a large batch may use.
    takes_updates : bool
        Whether clients may send reviewed documents, which models then learn.
    looks_ahead : bool
        Whether the map's cloud is laid out before somebody looks at it.
    planes_folder : Path, optional
        Where such layouts are kept for the next start; None for nowhere.
    """

    token: str | None = None
    max_body: int = 8 * 1024 * 1024
    max_text: int = 1_000_000
    max_batch: int = 1000
    max_concurrent: int = 128
    head_seconds: float = 10.0
    body_seconds: float = 20.0
    max_waiting: int = 512
    reload_seconds: float = 2.0
    n_threads: int = field(default_factory=lambda: count_threads(None))
    takes_updates: bool = False
    looks_ahead: bool = False
    planes_folder: Path | None = None
