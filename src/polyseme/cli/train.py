"""``polyseme train``: learn a model from a data set and save it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from polyseme import XRLinear, datasets
from polyseme.cli.estimate import estimate_on_matrices
from polyseme.cli.estimator_options import parameter_options, read_config
from polyseme.cli.shared import console, json_option, path_argument, plain_table, print_json
from polyseme.cli.summary import summary_of
from polyseme.cli.text_options import is_text, refuse_text_options, take, training_options
from polyseme.cli.text_train import estimate_on_texts, train_on_texts
from polyseme.estimators.parameters import check_parameters
from polyseme.files.model_folder import check_target
from polyseme.machine.progress import Progress
from polyseme.machine.threads import count_jobs

__all__ = ["train"]


@click.command(epilog="Example: polyseme train articles.csv -o models/articles --threads 4")
@path_argument("data")
@click.option(
    "-o",
    "--output",
    metavar="MODEL",
    type=click.Path(path_type=Path),
    help="Folder to save the model in; needed unless --estimate is given.",
)
@click.option(
    "--estimate",
    is_flag=True,
    help="Train nothing; say what this command would take, and whether it fits in memory.",
)
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="TOML file of parameters by their Python names; options win over it.",
)
@json_option
@training_options
@parameter_options(XRLinear)
def train(
    data: Path,
    output: Path | None,
    estimate: bool,
    config: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Learn a model from a data set.

    DATA are texts with labels: a CSV, TSV, JSON lines or Parquet file, Annif's TSV files
    or folders of .txt with .tsv or .key, or a folder with text.txt and labels.txt. Or they
    are matrices: a folder with X.trn.npz and Y.trn.npz, a text file of the Extreme
    Classification Repository, plain or gzipped, or the name of a data set that was
    fetched by "polyseme datasets fetch".
    """
    text_options = take(options)
    if output is None and not estimate:
        raise click.UsageError("Missing option '-o' / '--output'.")
    parameters = read_config(config, XRLinear) if config is not None else {}
    parameters.update({name: value for name, value in options.items() if value is not None})
    model = XRLinear(**parameters)
    check_parameters(model)  # what is wrong from the start is refused before the work begins
    if output is not None:
        check_target(output)
    if is_text(data, text_options):
        if estimate or output is None:
            estimate_on_texts(data, model, text_options, as_json)
        else:
            train_on_texts(data, output, model, text_options, as_json)
        return
    refuse_text_options(data, text_options)
    if estimate or output is None:
        estimate_on_matrices(model, data, as_json)
        return

    progress = Progress()
    with progress, progress.phase("Reading the data"):
        dataset = datasets.load(data, n_threads=count_jobs(model.n_jobs))
    model.fit(
        dataset.X_train,
        dataset.Y_train,
        label_names=dataset.label_names,
        feature_names=dataset.feature_names,
    )
    with progress, progress.phase("Saving the model"):
        model.save(output)

    reading, saving = progress.seconds.items()
    seconds = dict([reading, *model.phase_seconds_.items(), saving])
    if as_json:
        print_json({"model": str(output), **summary_of(model), "seconds": seconds})
        return
    rows = [(phase, f"{taken:.2f}") for phase, taken in seconds.items()]
    rows.append(("Total", f"{sum(seconds.values()):.2f}"))
    out = console()
    out.print(plain_table(("Phase", "Seconds"), rows, numbers=[1]))
    clusters = model.clusters_
    out.print(
        f"{output}: {model.n_labels_} labels in {clusters.n_slots} slots of "
        f"{clusters.n_clusters} clusters",
        markup=False,
        soft_wrap=True,
    )
