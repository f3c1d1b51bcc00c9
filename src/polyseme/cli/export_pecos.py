"""``polyseme export-pecos``: a model as a folder that PECOS reads."""

from __future__ import annotations

from pathlib import Path

import click

from polyseme.adapters.pecos import write_pecos
from polyseme.cli.errors import note
from polyseme.cli.shared import common_options, path_argument, print_json
from polyseme.tagger import open_tagger

__all__ = ["export_pecos"]


@click.command(epilog="Example: polyseme export-pecos models/eurlex -o pecos/eurlex --expanded")
@path_argument("model")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Folder to write; new or empty.",
)
@click.option(
    "--expanded",
    is_flag=True,
    help="Give labels with several slots a column for each; label_map.json says which.",
)
@common_options(threads=False)
def export_pecos(
    model: Path,
    output: Path,
    expanded: bool,
    n_threads: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Write a linear model as an XR-Linear model of PECOS.

    XLinearModel.load of libpecos reads FOLDER. The learned order of labels, senses and
    names have no place there, nor has how a model of texts makes features.
    """
    tagger = open_tagger(model)
    copies = tagger.classifier.clusters_.copies
    if not expanded and (copies > 1).any():
        raise click.UsageError(
            "labels of this model are in several clusters, and PECOS has one column per label; "
            "give --expanded for one column per slot, or train with --copies 1."
        )
    write_pecos(tagger.classifier, output, expanded=expanded)
    if as_json:
        print_json({"model": str(model), "folder": str(output), "expanded": expanded})
        return
    note(f"written to {output}.")
