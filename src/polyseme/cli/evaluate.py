"""``polyseme evaluate``: how good a model is on a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import polyseme
from polyseme import XRLinear, datasets, metrics
from polyseme.cli.errors import note
from polyseme.cli.shared import common_options, console, path_argument, print_json
from polyseme.cli.text_options import (
    opened_corpus,
    reading_options,
    refuse_text_options,
    threshold_option,
)
from polyseme.cli.text_report import accuracy_table, print_report
from polyseme.machine.progress import Progress
from polyseme.text.model import TextModel

__all__ = ["evaluate"]

N_RANKED = 10  # the deepest cut-off that is reported


@click.command(epilog="Example: polyseme evaluate models/eurlex data/eurlex --json")
@path_argument("model")
@path_argument("data")
@click.option("-a", "--propensity-a", "a", default=0.55, help="Constant A; 0.55 by default.")
@click.option("-b", "--propensity-b", "b", default=1.5, help="Constant B; 1.5 by default.")
@threshold_option
@reading_options
@common_options()
def evaluate(
    model: Path,
    data: Path,
    a: float,
    b: float,
    threshold: float | None,
    n_threads: int | None,
    seed: int,
    as_json: bool,
    **text_options: Any,
) -> None:
    """Measure a model on the test part of a data set, in percent.

    DATA are texts with labels as "train" takes them, all of which count, if the model is
    one of texts; else a data folder, a text file of the Extreme Classification Repository,
    or the name of a data set that was fetched. The
    propensity-scored figures (PSP, PSnDCG) weigh labels by their number of training
    documents; their constants are A = 0.6, B = 2.6 for Amazon data, 0.5, 0.4 for
    Wikipedia, and 0.55, 1.5 otherwise.
    """
    with Progress() as progress:
        with progress.phase("Reading the model"):
            loaded = polyseme.load(model, n_jobs=n_threads)
        if isinstance(loaded, TextModel):
            corpus = opened_corpus(data, text_options, like=loaded.reading_)
            with progress.phase("Predicting"):
                report = loaded.evaluate(corpus, threshold=threshold, a=a, b=b)
            _print_report(report, progress.seconds["Predicting"], a, b, as_json)
            return
        refuse_text_options(data, {"threshold": threshold, **text_options})
        with progress.phase("Reading the data"):
            dataset = datasets.load(data, n_threads=n_threads)
        if dataset.Y_test is None:
            note(f"{data} has no test part; all of it is used.")
            X, Y = dataset.X_train, dataset.Y_train
        else:
            X, Y = dataset.X_test, dataset.Y_test
        _require_same_labels(loaded, dataset, data)
        with progress.phase("Predicting"):
            top_labels, _ = loaded.predict_top_k(X, N_RANKED)

    propensities = metrics.propensities(loaded.label_counts_, loaded.n_documents_, a=a, b=b)
    figures = metrics.evaluate(top_labels, Y, propensities=propensities)
    n_documents, seconds = Y.shape[0], progress.seconds["Predicting"]
    if as_json:
        print_json({**figures, "A": a, "B": b, "n_documents": n_documents, "seconds": seconds})
        return
    out = console()
    out.print(accuracy_table(figures))
    out.print(f"Propensity constants: A = {a:g}, B = {b:g}.")
    out.print(f"{n_documents:,} documents in {seconds:.2f} s.")


def _require_same_labels(model: XRLinear, dataset: datasets.Dataset, path: Path) -> None:
    n_labels = dataset.Y_train.shape[1]
    if n_labels != model.n_labels_:
        raise ValueError(
            f"{path} has {n_labels} labels and the model {model.n_labels_}; "
            "evaluate on the data set that the model was trained on."
        )
    known, given = model.label_names_, dataset.label_names
    if known is not None and given is not None and list(known) != given:
        raise ValueError(f"the labels of {path} have other names than those of the model.")


def _print_report(
    report: dict[str, Any], seconds: float, a: float, b: float, as_json: bool
) -> None:
    if as_json:
        print_json({**report, "A": a, "B": b, "seconds": seconds})
        return
    if report["n_unknown_labels"]:
        note(f"{report['n_unknown_labels']:,} labels of the data are unknown to the model.")
    out = console()
    print_report(out, report)
    out.print(f"Propensity constants: A = {a:g}, B = {b:g}.")
    out.print(f"{report['n_documents']:,} documents in {seconds:.2f} s.")
