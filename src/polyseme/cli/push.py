"""``polyseme push``: put a model on a hub."""

from __future__ import annotations

from pathlib import Path

import click

from polyseme import hub
from polyseme.cli.shared import common_options, path_argument, print_json
from polyseme.machine.progress import Progress

__all__ = ["push"]


@click.command(epilog="Example: polyseme push models/articles somebody/articles --private")
@path_argument("model")
@click.argument("name")
@click.option("--private", is_flag=True, help="Make a new repository private.")
@click.option("--message", metavar="TEXT", help="Message that describes this version.")
@click.option("--endpoint", metavar="URL", help="Address of another hub.")
@common_options(threads=False)
def push(
    model: Path,
    name: str,
    private: bool,
    message: str | None,
    endpoint: str | None,
    n_threads: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Put a model on a hub, with a model card.

    NAME is what it is called there, such as somebody/articles. The package
    huggingface_hub talks to the hub, so log in with its "hf auth login" first.
    """
    with Progress() as progress, progress.phase("Sending the model"):
        where = hub.push(model, name, private=private, message=message, endpoint=endpoint)
    if as_json:
        print_json({"model": str(model), "name": name, "where": where})
    else:
        click.echo(where)
