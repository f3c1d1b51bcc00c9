"""``polyseme evaluate``: how good a model is on a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from polyseme.cli.corpus_options import reading_options, threshold_option
from polyseme.cli.documents import read_labelled, refuse_swapped
from polyseme.cli.errors import note
from polyseme.cli.report import print_report
from polyseme.cli.shared import common_options, console, path_argument, print_json
from polyseme.machine.progress import Progress
from polyseme.machine.quantities import counted
from polyseme.reports import check_report_path, write_report
from polyseme.tagger import open_tagger

__all__ = ["evaluate"]


@click.command(epilog="Example: polyseme evaluate models/eurlex data/eurlex --json")
@path_argument("model")
@path_argument("data")
@click.option("-a", "--propensity-a", "a", default=0.55, help="Constant A; 0.55 by default.")
@click.option("-b", "--propensity-b", "b", default=1.5, help="Constant B; 1.5 by default.")
@threshold_option
@click.option(
    "--report",
    "page",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write a page (.html) with these figures as charts.",
)
@reading_options
@common_options()
def evaluate(
    model: Path,
    data: Path,
    a: float,
    b: float,
    threshold: float | None,
    page: Path | None,
    n_threads: int | None,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure a model on the test part of a data set, in percent.

    DATA are texts with labels as "train" takes them, if the model is one of texts: all
    that have labels count. Else it is a data folder, a text file of the Extreme
    Classification Repository, or the name of a data set that was fetched. The
    propensity-scored figures (PSP, PSnDCG) weigh labels by their number of training
    documents; their constants are A = 0.6, B = 2.6 for Amazon data, 0.5, 0.4 for
    Wikipedia, and 0.55, 1.5 otherwise.
    """
    if page is not None:
        check_report_path(page)
    refuse_swapped(model, data)
    with Progress() as progress:
        with progress.phase("Reading the model"):
            tagger = open_tagger(model, n_jobs=n_threads)
        with progress.phase("Reading the data"):
            options["threshold"] = threshold
            labelled = read_labelled(tagger, data, options, n_threads, wants_test=True)
        with progress.phase("Predicting"):
            report = tagger.evaluate(
                labelled.documents, labelled.labels, threshold=threshold, a=a, b=b
            )
    seconds = progress.seconds["Predicting"]
    unwritten = None
    if page is not None:
        try:
            write_report(
                tagger,
                page,
                name=model.name,
                seconds=progress.seconds,
                evaluation=report,
                data=data.name,
            )
        except OSError as error:
            unwritten = error  # the figures come first
    if as_json:
        print_json({**report["accuracy"], **report, "A": a, "B": b, "seconds": seconds})
    else:
        _print(report, a, b, seconds)
    if unwritten is not None:
        raise unwritten


def _print(report: dict[str, Any], a: float, b: float, seconds: float) -> None:
    if report.get("n_without_labels"):
        note(f"left out {counted(report['n_without_labels'], 'document')} without labels.")
    if report.get("n_unknown_labels"):
        are = "is" if report["n_unknown_labels"] == 1 else "are"
        unknown = counted(report["n_unknown_labels"], "label")
        note(f"{unknown} of the data {are} unknown to the model.")
    out = console()
    print_report(out, report)
    if "PSP@1" in report["accuracy"]:
        out.print(f"Propensity constants: A = {a:g}, B = {b:g}.")
    else:
        out.print("No PSP: the model was imported without its numbers of training documents.")
    out.print(f"{counted(report['n_documents'], 'document')} in {seconds:.2f} s.")
