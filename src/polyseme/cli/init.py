"""``polyseme init``: a file of everything that training can be told."""

from __future__ import annotations

from pathlib import Path

import click

from polyseme.cli.config_file import config_text
from polyseme.cli.shared import common_options, print_json
from polyseme.files.kinds import METHODS
from polyseme.files.whole_files import written_beside

__all__ = ["init"]


@click.command(epilog="Example: polyseme init && polyseme train a.csv -o m --config polyseme.toml")
@click.argument("file", default="polyseme.toml", type=click.Path(path_type=Path))
@click.option(
    "--method",
    default="xr-linear",
    metavar="NAME",
    help=f"Whose parameters: {', '.join(METHODS)}. [xr-linear]",
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@common_options(threads=False)
def init(
    file: Path, method: str, force: bool, n_threads: int | None, seed: int, as_json: bool
) -> None:
    """Write a file with every setting of "train", explained, for --config.

    FILE is polyseme.toml by default. It sets the method and nothing else yet.
    """
    text = config_text(method)
    if file.exists() and not force:
        raise ValueError(f"{file} is there already; give another name, or --force.")
    with written_beside(file) as stream:
        stream.write(text.encode())
    if as_json:
        print_json({"file": str(file), "method": method})
    else:
        click.echo(f"{file}: settings of {method}; polyseme train DATA -o MODEL --config {file}")
