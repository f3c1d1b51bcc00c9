"""The command line: ``polyseme VERB``, with a file for each verb."""

from __future__ import annotations

import difflib
from importlib import import_module

import click

from polyseme.cli.errors import GroupWithPlainErrors

__all__ = ["VERBS", "main"]

# Verb -> the first sentence of its own help, so that the list of verbs needs no verb imported.
VERBS = {
    "demo": "Train on a small made-up corpus and show the senses of its labels.",
    "init": 'Write a file with every setting of "train", explained, for --config.',
    "train": "Learn a model from a data set.",
    "update": "Add documents and new labels to a model without training everything again.",
    "predict": "Find the best labels of each document.",
    "evaluate": "Measure a model on the test part of a data set, in percent.",
    "senses": "Show the senses of a label, by name or number.",
    "info": "Show what is in a model: its sizes, slots, senses and parameters.",
    "quantize": "Make a model whose encoder computes in int8, without torch.",
    "push": "Put a model on a hub, with a model card.",
    "pull": "Fetch a model from a hub.",
    "serve": "Answer questions about documents over HTTP, until Ctrl-C.",
    "import-pecos": "Make a model of an XR-Linear model that PECOS has trained.",
    "export-pecos": "Write a linear model as an XR-Linear model of PECOS.",
    "datasets": "List public data sets, say what is known of one, or fetch it.",
    "reproduce": "Run an experiment of the paper, or one beyond it, on a data set.",
}


class VerbsOnDemand(GroupWithPlainErrors):
    """Imports the file of a verb when it is asked for: most need NumPy, SciPy and more."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all verbs, in the order in which a beginner meets them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one verb."""
        if cmd_name not in VERBS:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"polyseme.cli.{name}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a verb, or say which one is spelled like it."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], VERBS, n=1)
            hint = f'did you mean "{near[0]}"?' if near else '"polyseme --help" lists all.'
            raise ValueError(f'there is no command "{args[0]}"; {hint}')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(
    cls=VerbsOnDemand,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
@click.version_option(package_name="polyseme")
def main() -> None:
    """Tag documents from a large vocabulary in which a label may have several senses.

    Results go to stdout, progress and notes to stderr. Start with "polyseme demo".
    """
