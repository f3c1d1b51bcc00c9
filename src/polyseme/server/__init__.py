"""Trained models as a web service; needs the extra `server`.

>>> from polyseme.server import serve
>>> serve({"articles": "models/articles"}, port=8000)  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from polyseme.server.settings import ServerSettings

__all__ = ["ServerSettings", "serve"]


def serve(
    models: Mapping[str, str | os.PathLike[str]],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    settings: ServerSettings | None = None,
) -> None:
    """Serve models over HTTP until Ctrl-C or SIGTERM; then finish what is under way and return.

    Parameters
    ----------
    models : dict of str to path
        Folders of saved models by the names under which they are served.
    host : str
        Where to listen; by default only programs on this machine can ask.
    port : int
        0 for one that is free.
    settings : ServerSettings, optional
        Limits, a token and other settings.
    """
    # Imported here: uvicorn and FastAPI take most of a second.
    from polyseme.server.running import serve as run

    folders = {name: Path(folder) for name, folder in models.items()}
    run(folders, settings or ServerSettings(), host=host, port=port)
