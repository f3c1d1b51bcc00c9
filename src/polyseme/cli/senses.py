"""``polyseme senses``: the senses of a label, or the labels that were split most."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import click

import polyseme
from polyseme import datasets
from polyseme.cli.rendering import sense_panels
from polyseme.cli.shared import common_options, console, path_argument, plain_table, print_json
from polyseme.senses import most_split, senses_of

__all__ = ["senses"]


@click.command(epilog="Example: polyseme senses models/eurlex tank --data data/eurlex")
@path_argument("model")
@click.argument("label", required=False)
@click.option(
    "--data",
    metavar="DATA",
    type=click.Path(path_type=Path),
    help="Training data, to show the documents of each sense.",
)
@click.option(
    "-n",
    "n_shown",
    default=10,
    metavar="N",
    type=click.IntRange(min=1),
    help="How many words, neighbours, documents or labels to show; 10 by default.",
)
@common_options()
def senses(
    model: Path,
    label: str | None,
    data: Path | None,
    n_shown: int,
    n_threads: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Show the senses of a label, by name or number.

    Each sense is a slot: the cluster it is in, the labels beside it, its strongest words
    and how much of the label it covers. Without LABEL, lists the labels that were split
    most.
    """
    loaded = polyseme.load(model, n_threads=n_threads)
    if label is None:
        _show_most_split(loaded, n_shown, as_json)
        return
    number = _number_of(loaded, label)
    dataset = datasets.load(data, n_threads=n_threads) if data is not None else None
    found = senses_of(loaded, number, dataset=dataset)
    name = _name_of(loaded, number)
    if as_json:
        listed = [dataclasses.asdict(sense) for sense in found]
        print_json({"label": number, "name": name, "senses": listed})
        return
    console().print(sense_panels(name, found, n_shown))


def _show_most_split(model: Any, n_labels: int, as_json: bool) -> None:
    found = most_split(model, n_labels)
    if as_json:
        print_json([dataclasses.asdict(label) for label in found])
        return
    rows: list[tuple[object, ...]] = []
    console().print(plain_table(("Label", "Slots"), rows))


def _number_of(model: Any, label: str) -> int:
    """Find a label by name; a number is welcome too where no label has it as its name."""
    names = model.label_names_
    is_number = label.isdecimal()
    if names is not None:
        if label in names or not is_number:
            return int(names.index(label))
        if int(label) in names:
            return int(names.index(int(label)))
    if not is_number:
        raise ValueError(f"this model has no label names; give a number instead of {label!r}.")
    if int(label) >= model.n_labels_:
        raise ValueError(f"there is no label {label}; the model has {model.n_labels_}.")
    return int(label)


def _name_of(model: Any, label: int) -> str:
    return str(label if model.label_names_ is None else model.label_names_[label])
