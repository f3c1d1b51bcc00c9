"""Trained models as a web service; needs the extra `server`."""

from __future__ import annotations

from polyseme.server.settings import ServerSettings

__all__ = ["ServerSettings"]
