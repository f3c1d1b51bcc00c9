"""polyseme as a backend of Annif, the tool of libraries for subject indexing.

Annif has a fixed table of backends and no way for others to be found, so this one adds itself to
the table: see `polyseme.annif.plugin` for the command ``annif``, and `create_app` for web servers.
"""

from __future__ import annotations

from typing import Any

__all__ = ["create_app", "register"]


def register() -> None:
    """Make ``backend=polyseme`` known to Annif in this process."""
    from annif import backend

    backend._backend_fns["polyseme"] = _backend_class


def create_app(config_name: str | None = None) -> Any:
    """Return Annif's web application, with this backend, for gunicorn and uvicorn."""
    from annif import create_cx_app

    register()
    return create_cx_app(config_name)


def _backend_class() -> type:
    from polyseme.annif.backend import PolysemeBackend

    return PolysemeBackend
