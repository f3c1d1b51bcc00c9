"""The command line: ``polyseme demo | train | predict | evaluate | senses | info``."""

from __future__ import annotations

import click

from polyseme.cli.demo import demo
from polyseme.cli.errors import GroupWithPlainErrors
from polyseme.cli.evaluate import evaluate
from polyseme.cli.info import info
from polyseme.cli.predict import predict
from polyseme.cli.senses import senses
from polyseme.cli.train import train

__all__ = ["main"]


@click.group(
    cls=GroupWithPlainErrors,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
@click.version_option(package_name="polyseme")
def main() -> None:
    """Tag documents from a large vocabulary in which a label may have several senses.

    Results go to stdout, progress and notes to stderr. Start with "polyseme demo".
    """


for verb in (demo, train, predict, evaluate, senses, info):
    main.add_command(verb)
