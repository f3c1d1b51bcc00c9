"""``polyseme pull``: fetch a model from a hub."""

from __future__ import annotations

from pathlib import Path

import click

from polyseme import hub
from polyseme.cli.shared import common_options, print_json
from polyseme.machine.progress import Progress

__all__ = ["pull"]


@click.command(epilog="Example: polyseme pull somebody/articles -o models/articles")
@click.argument("name")
@click.option(
    "-o",
    "--output",
    metavar="MODEL",
    type=click.Path(path_type=Path),
    help="New folder for the model; by default the last part of NAME.",
)
@click.option("--revision", metavar="TEXT", help="A branch, a tag or a commit. [the newest]")
@click.option("--endpoint", metavar="URL", help="Address of another hub.")
@common_options(threads=False)
def pull(
    name: str,
    output: Path | None,
    revision: str | None,
    endpoint: str | None,
    n_threads: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Fetch a model from a hub.

    NAME is what it is called there, such as somebody/articles. polyseme checks
    what it fetches before it puts it in place, and never runs any of it.
    """
    folder = Path(name.rsplit("/", 1)[-1]) if output is None else output
    with Progress() as progress, progress.phase("Fetching the model"):
        hub.pull(name, folder, revision=revision, endpoint=endpoint)
    if as_json:
        print_json({"model": str(folder), "name": name})
    else:
        click.echo(str(folder))
