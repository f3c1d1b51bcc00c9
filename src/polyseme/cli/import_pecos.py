"""``polyseme import-pecos``: a model that PECOS has trained."""

from __future__ import annotations

from pathlib import Path

import click

from polyseme.adapters.pecos import read_pecos
from polyseme.cli.report import print_sizes
from polyseme.cli.shared import common_options, console, path_argument, print_json
from polyseme.datasets.folder import read_lines
from polyseme.files.model_folder import check_target
from polyseme.tagger import tagger_for

__all__ = ["import_pecos"]


@click.command(epilog="Example: polyseme import-pecos pecos/eurlex -o models/eurlex")
@path_argument("folder")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="MODEL",
    type=click.Path(path_type=Path),
    help="Folder to save the model in.",
)
@click.option(
    "--labels",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Names of labels, one per line, in the order of their columns.",
)
@click.option(
    "--features",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Names of features, one per line, in the order of their columns.",
)
@click.option(
    "--beam-size",
    type=click.IntRange(min=1),
    metavar="N",
    help="Clusters a document is matched to; by default what FOLDER says.",
)
@common_options(threads=False)
def import_pecos(
    folder: Path,
    output: Path,
    labels: Path | None,
    features: Path | None,
    beam_size: int | None,
    n_threads: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Make a model of an XR-Linear model that PECOS has trained.

    FOLDER is what XLinearModel.save has written. Scores are those of PECOS; libpecos
    is not needed.
    """
    check_target(output)
    try:
        model = read_pecos(
            folder,
            beam_size=beam_size,
            label_names=None if labels is None else read_lines(labels),
            feature_names=None if features is None else read_lines(features),
        )
    except ValueError as error:
        for kind, file in (("labels", labels), ("features", features)):
            if file is not None and f" {kind}, but " in str(error):
                raise ValueError(f"{file}: {error}") from None
        raise
    model.save(output)
    tagger = tagger_for(model)
    if as_json:
        print_json({"model": str(output), **tagger.sizes()})
    else:
        print_sizes(console(), output, tagger)
