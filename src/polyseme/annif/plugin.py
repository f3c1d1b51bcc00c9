"""How the command ``annif`` finds the backend.

It is made with Flask, which imports what is installed under the entry point ``flask.commands``
before it runs a command. So does every other Flask program; these are left alone.
"""

from __future__ import annotations

import sys
from importlib.metadata import version

import click

from polyseme.annif import register

__all__ = ["command"]

if "annif.cli" in sys.modules:
    register()


@click.command("polyseme", hidden=True)
def command() -> None:
    """Say which version of polyseme is a backend of which version of Annif."""
    if "annif.cli" not in sys.modules:
        raise click.ClickException("this is a command of Annif; call it as 'annif polyseme'.")
    click.echo(f"polyseme {version('polyseme')} is a backend of Annif {version('annif')}.")
