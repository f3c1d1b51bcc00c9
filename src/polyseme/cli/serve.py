"""``polyseme serve``: models as a web service."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from polyseme.cli.errors import note
from polyseme.cli.shared import common_options, print_json
from polyseme.datasets.cache import cache_folder
from polyseme.machine.extras import how_to_install
from polyseme.machine.threads import count_threads

__all__ = ["require_server", "serve"]

NEEDED = ("fastapi", "uvicorn", "prometheus_client")


def require_server() -> None:
    """Refuse to go on without the packages of the extra ``server``."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ValueError(f"a server needs {', '.join(missing)}; {how_to_install('server')}.")


def _planes_folder() -> Path | None:
    try:
        return cache_folder() / "planes"
    except RuntimeError:  # a user without a home, as in some containers
        return None


def _limit(option: str, default: int, text: str) -> Callable[[Any], Any]:
    return click.option(
        option,
        type=click.IntRange(min=1),
        default=default,
        metavar="N",
        help=f"{text}; {default:,} by default.",
    )


@click.command(epilog="Example: polyseme serve models/demo --port 8000")
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@click.option(
    "--host",
    default="127.0.0.1",
    metavar="ADDRESS",
    help="Address to listen on; by default only programs on this machine can connect.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    metavar="N",
    help="Port to listen on, 0 for a free one; 8000 by default.",
)
@click.option(
    "--token",
    envvar="POLYSEME_TOKEN",
    metavar="TEXT",
    help="Bearer token that clients must send; better set as POLYSEME_TOKEN, since commands can "
    "be seen by others.",
)
@_limit("--max-body", 8 * 1024 * 1024, "Most bytes of a request")
@_limit("--max-text", 1_000_000, "Most characters of a text")
@_limit("--max-batch", 1000, "Most documents of a request")
@_limit(
    "--max-concurrent",
    128,
    "Most requests under way; the server asks further clients to try again later",
)
@_limit("--grace", 30, "Seconds that requests under way get at the end")
@click.option(
    "--reload-seconds",
    type=click.FloatRange(min=0),
    default=2.0,
    metavar="S",
    help="How often to look for a model that was replaced on disk, 0 for never; 2 by default.",
)
@click.option(
    "--updates",
    is_flag=True,
    help="Let clients send reviewed documents, which models trained with --keep-data learn.",
)
@click.option(
    "--lazy-map",
    is_flag=True,
    help="Lay out the cloud of the page's map when somebody first looks at it, not at the start.",
)
@click.option("--access-log", is_flag=True, help="Write a line to stderr for every request.")
@common_options()
def serve(
    models: tuple[str, ...],
    host: str,
    port: int,
    token: str | None,
    max_body: int,
    max_text: int,
    max_batch: int,
    max_concurrent: int,
    grace: int,
    reload_seconds: float,
    updates: bool,
    lazy_map: bool,
    access_log: bool,
    n_threads: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Answer questions about documents over HTTP, until Ctrl-C.

    MODEL is a model's folder, or NAME=FOLDER; clients who name no model get the first. When a
    model is replaced on disk, the server loads it again without a pause. Open the address in a
    browser to try the models; /openapi.json describes what programs can ask.
    """
    require_server()
    from polyseme.server.model_store import models_named
    from polyseme.server.running import is_loopback
    from polyseme.server.running import serve as run
    from polyseme.server.settings import ServerSettings

    if token is not None and not (token.strip() and token.isascii()):
        raise ValueError("the token must be plain characters; leave it out for none.")
    paths = models_named(list(models))
    settings = ServerSettings(
        token=token,
        max_body=max_body,
        max_text=max_text,
        max_batch=max_batch,
        max_concurrent=max_concurrent,
        reload_seconds=reload_seconds,
        n_threads=count_threads(n_threads),
        takes_updates=updates,
        looks_ahead=not lazy_map,
        planes_folder=_planes_folder(),
    )

    def say(url: str) -> None:
        if as_json:
            print_json({"url": url, "models": list(paths)}, one_line=True)
        note(f"serving {', '.join(paths)} at {url}; stop with Ctrl-C.")
        if token is None and not is_loopback(host):
            note("everybody who can reach this machine may ask; set a token to change that.")

    run(
        paths,
        settings,
        host=host,
        port=port,
        grace_seconds=grace,
        access_log=access_log,
        on_start=say,
    )
