"""``polyseme senses``: the senses of a label, or the labels that were split most."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import click

from polyseme.cli.corpus_options import reading_options
from polyseme.cli.documents import Labelled, read_labelled
from polyseme.cli.errors import note
from polyseme.cli.rendering import print_senses
from polyseme.cli.shared import common_options, console, path_argument, plain_table, print_json
from polyseme.tagger import Tagger, open_tagger

__all__ = ["senses"]


@click.command(epilog="Example: polyseme senses models/eurlex tank --data data/eurlex")
@path_argument("model")
@click.argument("label", required=False)
@click.option(
    "--data",
    metavar="DATA",
    type=click.Path(path_type=Path),
    help="Training data, to list the documents of each sense.",
)
@click.option(
    "-n",
    "n_shown",
    default=10,
    metavar="N",
    type=click.IntRange(min=1),
    help="How many words, neighbours, documents or labels to list; 10 by default.",
)
@reading_options
@common_options()
def senses(
    model: Path,
    label: str | None,
    data: Path | None,
    n_shown: int,
    n_threads: int | None,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Show the senses of a label, by name or number.

    Each sense is a slot: its strongest words, the labels beside it in its cluster, and how
    many of the label's documents reach it. Without LABEL, lists the labels that were split
    most.
    """
    tagger = open_tagger(model, n_jobs=n_threads)
    if label is None:
        _list_most_split(tagger, n_shown, as_json)
        return
    number = tagger.label_number(label)
    known = Labelled(None)
    if data is not None:
        known = read_labelled(tagger, data, options, n_threads)
    found = tagger.senses(
        number,
        known.documents,
        known.labels,
        texts=known.texts,
        n_features=n_shown,
        n_neighbours=n_shown,
        n_documents=n_shown,
    )
    name, differ = tagger.label_name(number), tagger.slots_differ(number)
    if as_json:
        listed = [dataclasses.asdict(sense) for sense in found]
        print_json({"label": number, "name": name, "slots_differ": differ, "senses": listed})
        return
    print_senses(console(), str(name), found, differ=differ)


def _list_most_split(tagger: Tagger, n_labels: int, as_json: bool) -> None:
    found = tagger.most_split(n_labels)
    if as_json:
        print_json([{"label": label, "split": split} for label, split in found])
        return
    if not found:
        note("no label of this model is split: none has documents that only one slot reaches.")
        return
    rows = [(label, f"{split:.3f}") for label, split in found]
    console().print(plain_table(("Label", "Split"), rows, numbers=[1]))
