"""``polyseme senses``: the senses of a label, or the labels that were split most."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

import polyseme
from polyseme import XRLinear, datasets
from polyseme.cli.errors import note
from polyseme.cli.rendering import print_senses
from polyseme.cli.shared import common_options, console, path_argument, plain_table, print_json
from polyseme.cli.text_options import opened_corpus, reading_options
from polyseme.senses.describe import label_number, most_split, senses_of, slots_differ
from polyseme.text.corpora import Record
from polyseme.text.model import TextModel
from polyseme.text.sense_texts import senses_in_corpus

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
    **text_options: Any,
) -> None:
    """Show the senses of a label, by name or number.

    Each sense is a slot: its strongest words, the labels beside it in its cluster, and how
    many of the label's documents reach it. Without LABEL, lists the labels that were split
    most.
    """
    loaded = polyseme.load(model, n_jobs=n_threads)
    of_texts = loaded if isinstance(loaded, TextModel) else None
    if isinstance(loaded, TextModel):
        loaded = loaded.classifier_
    if label is None:
        _list_most_split(loaded, n_shown, as_json)
        return
    many = {"n_features": n_shown, "n_neighbours": n_shown, "n_documents": n_shown}
    texts: Any = None
    if of_texts is not None:
        number = of_texts.label_number(label)
        corpus: Iterable[Record] = ()
        if data is not None:
            corpus = opened_corpus(data, text_options, like=of_texts.reading_)
        found, texts = senses_in_corpus(of_texts, number, corpus, **many)
    else:
        number = label_number(loaded, label)
        X, Y = None, None
        if data is not None:
            dataset = datasets.load(data, n_threads=n_threads)
            X, Y, texts = dataset.X_train, dataset.Y_train, dataset.train_texts
        found = senses_of(loaded, number, X, Y, **many)
    differ = slots_differ(loaded, number)
    name = number if loaded.label_names_ is None else loaded.label_names_[number]
    kept = None if of_texts is None else of_texts.slot_examples_
    examples = None if kept is None else [kept.of(sense.slot)[:n_shown] for sense in found]
    if as_json:
        listed = [dataclasses.asdict(sense) for sense in found]
        for sense, few in zip(listed, examples or [], strict=False):
            sense["examples"] = few
        print_json({"label": number, "name": name, "slots_differ": differ, "senses": listed})
        return
    print_senses(console(), str(name), found, differ=differ, texts=texts, examples=examples)


def _list_most_split(model: XRLinear, n_labels: int, as_json: bool) -> None:
    found = most_split(model, n_labels)
    if as_json:
        print_json([{"label": label, "split": split} for label, split in found])
        return
    if not found:
        note("no label of this model is split: none has documents that only one slot reaches.")
        return
    rows = [(label, f"{split:.3f}") for label, split in found]
    console().print(plain_table(("Label", "Split"), rows, numbers=[1]))
