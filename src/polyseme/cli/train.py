"""``polyseme train``: learn a model from a data set and save it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from polyseme import XRLinear
from polyseme.cards import write_card
from polyseme.cli.config_file import method_in, with_hierarchy_of, with_texts_of
from polyseme.cli.corpus_options import take, training_options
from polyseme.cli.errors import note
from polyseme.cli.estimator_options import given_parameters, parameter_options, read_settings
from polyseme.cli.hierarchy import HIERARCHY, hierarchy_options, read_given
from polyseme.cli.report import print_ambiguous, print_report, print_sizes, seconds_table
from polyseme.cli.shared import console, json_option, path_argument, print_json
from polyseme.cli.training_jobs import job_for
from polyseme.cli.tuning import Tuning, take_tuning, tuning_from, tuning_options
from polyseme.files.kinds import METHODS, method_named
from polyseme.files.model_folder import check_target, peek
from polyseme.machine.progress import Progress
from polyseme.machine.quantities import counted
from polyseme.reports import check_report_path, write_report
from polyseme.tagger import Tagger, tagger_for

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
    "--method",
    metavar="NAME",
    help=f"What to train: {', '.join(METHODS)}, or the name of a backbone that another package "
    "brings. Defaults of options below are those of xr-linear. [xr-linear]",
)
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help='TOML file with parameters by their Python names, as "polyseme init" writes it; options '
    "on the command line override it.",
)
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set a parameter of the method by its Python name, even one that has no option here. "
    "You can give this several times. It overrides --config.",
)
@hierarchy_options
@click.option(
    "--report",
    "report",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Also write a page (.html) with accuracy, probabilities, senses and costs.",
)
@json_option
@tuning_options
@training_options
@parameter_options(XRLinear)
def train(
    data: Path,
    output: Path | None,
    estimate: bool,
    method: str | None,
    config: Path | None,
    settings: tuple[str, ...],
    report: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Learn a model from a data set.

    DATA are texts with labels: a CSV, TSV, JSON lines, Parquet or Excel file, lines of
    fastText, Annif's TSV files or folders of .txt with .tsv or .key, or a folder with
    text.txt and labels.txt. Or they are matrices: a folder with X.trn.npz and Y.trn.npz, a
    text file of the Extreme Classification Repository, plain or gzipped, or the name of a
    data set that "polyseme datasets fetch" fetched.
    """
    text_options, asked = take(options), take_tuning(options)
    of_hierarchy = {name: options.pop(name) for name in HIERARCHY}
    if output is None and not estimate:
        raise click.UsageError("Missing option '-o' / '--output'.")
    if config is not None:
        text_options = with_texts_of(config, text_options)
        of_hierarchy = with_hierarchy_of(config, of_hierarchy)
        method = method or method_in(config)
    estimator = method_named(method or "xr-linear")
    options = {name: value for name, value in options.items() if value is not None}
    given = given_parameters(estimator, config, {**read_settings(settings, estimator), **options})
    model = estimator(**given)
    model.check_parameters()  # what is wrong from the start is refused before the work begins
    replaced = None
    if output is not None:
        check_target(output)
        replaced = _n_documents_in(output)
    if report is not None:
        check_report_path(report)
    tuning = tuning_from(asked, None if estimate else output, fixed=given)
    job = job_for(data, model, text_options, read_given(**of_hierarchy))
    if estimate or output is None:
        job.estimate(as_json)
        return

    def after_reading(untrained: Any, X: Any, Y: Any) -> Any:
        if replaced is not None:
            of = counted(replaced, "document")
            note(f"{output} has a model of {of}, which will be replaced.")
        return untrained if tuning is None else tuning(untrained, X, Y)

    trained, reading = job.train(after_reading)
    progress = Progress()
    with progress, progress.phase("Saving the model"):
        trained.save(output)
        tagger = tagger_for(trained)
        write_card(output, tagger)
    n_documents = tagger.classifier.n_documents_
    if replaced is not None and n_documents < replaced:
        had = counted(replaced, "document")
        note(f"the model that was replaced had {had}; this has {n_documents:,}.")
    seconds = {**reading, **tagger.phase_seconds, **progress.seconds}
    unwritten = None
    if report is not None:
        try:
            write_report(tagger, report, name=output.name, seconds=seconds)
        except OSError as error:
            unwritten = error  # the figures come first
    _print(tagger, output, tuning, seconds, as_json)
    if tuning is not None:
        tuning.warn_of_size()
    if unwritten is not None:
        why = unwritten.strerror or unwritten
        raise OSError(
            f"{report}: cannot be written ({why}); the model is saved in {output}."
        ) from unwritten


def _n_documents_in(folder: Path) -> int | None:
    """Return of how many documents the model in a folder is; None if that is not known."""
    found: Any = peek(folder) or {}
    inside = found.get("parts", {}).get("classifier", found)  # of a model of texts
    n_documents = inside.get("n_documents")
    return n_documents if isinstance(n_documents, int) else None


def _print(
    tagger: Tagger,
    output: Path,
    tuning: Tuning | None,
    seconds: dict[str, float],
    as_json: bool,
) -> None:
    if as_json:
        print_json(
            {
                "model": str(output),
                **({} if tuning is None else {"tuning": tuning.to_dict()}),
                **tagger.sizes(),
                **tagger.about_texts(),
                "most_ambiguous": [one._asdict() for one in tagger.ambiguous_labels()],
                "seconds": seconds,
            }
        )
        return
    out = console()
    if tuning is not None:
        tuning.print(out)
    out.print(seconds_table(seconds))
    if tagger.report:
        out.print()
        print_report(out, tagger.report)
    out.print()
    print_ambiguous(out, tagger)
    print_sizes(out, output, tagger)
