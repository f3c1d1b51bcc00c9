"""``polyseme evaluate``: how good a model is on a data set."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

import polyseme
from polyseme import XRLinear, datasets, metrics
from polyseme.cli.errors import note
from polyseme.cli.shared import common_options, console, path_argument, plain_table, print_json
from polyseme.progress import Progress

__all__ = ["evaluate"]

N_RANKED = 10  # the deepest cut-off that is reported


@click.command(epilog="Example: polyseme evaluate models/eurlex data/eurlex --json")
@path_argument("model")
@path_argument("data")
@click.option("-a", "--propensity-a", "a", default=0.55, help="Constant A; 0.55 by default.")
@click.option("-b", "--propensity-b", "b", default=1.5, help="Constant B; 1.5 by default.")
@common_options()
def evaluate(
    model: Path,
    data: Path,
    a: float,
    b: float,
    n_threads: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Measure a model on the test part of a data set, in percent.

    DATA is a data folder, a text file of the Extreme Classification Repository, or the
    name of a data set that was fetched. The
    propensity-scored figures (PSP, PSnDCG) weigh labels by their number of training
    documents; their constants are A = 0.6, B = 2.6 for Amazon data, 0.5, 0.4 for
    Wikipedia, and 0.55, 1.5 otherwise.
    """
    with Progress() as progress:
        with progress.phase("Reading the model and the data"):
            loaded = polyseme.load(model, n_threads=n_threads)
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
    out.print(_table(figures))
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


def _table(figures: dict[str, float]) -> Table:
    """Lay the figures out with one row a measure and one column a cut-off."""
    ks = sorted({int(name.split("@")[1]) for name in figures})
    measures = list(dict.fromkeys(name.split("@")[0] for name in figures))
    rows = [
        [measure, *(_percent(figures.get(f"{measure}@{k}")) for k in ks)] for measure in measures
    ]
    return plain_table(("", *(f"@{k}" for k in ks)), rows, numbers=range(1, len(ks) + 1))


def _percent(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.2f}"
