"""``polyseme update``: more documents and new labels for a text model."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import click

from polyseme.cards import write_card
from polyseme.cli.corpus_options import (
    note_named_labels,
    opened_corpus,
    reading_options,
    take,
    vocabulary_options,
)
from polyseme.cli.errors import note
from polyseme.cli.report import described_senses, print_sizes, seconds_table
from polyseme.cli.shared import common_options, console, path_argument, plain_table, print_json
from polyseme.files.model_folder import check_target
from polyseme.machine.progress import Progress
from polyseme.machine.quantities import counted
from polyseme.tagger import open_tagger, tagger_for
from polyseme.text.corpora import Record
from polyseme.text.model import TextModel
from polyseme.training.update import Update

__all__ = ["update"]


@click.command(epilog="Example: polyseme update models/articles more.csv --with articles.csv")
@path_argument("model")
@path_argument("data")
@click.option(
    "--with",
    "old",
    multiple=True,
    metavar="OLD",
    type=click.Path(path_type=Path),
    help="The documents that the model was trained on, and updated with since; not needed after "
    "train --keep-data.",
)
@click.option(
    "-o",
    "--output",
    metavar="MODEL",
    type=click.Path(path_type=Path),
    help="Folder to save the new model in; by default it replaces MODEL.",
)
@click.option(
    "--keep-matcher",
    is_flag=True,
    help="Do not train the tree again: it leads every document to the same clusters as before.",
)
@reading_options
@vocabulary_options
@common_options()
def update(
    model: Path,
    data: Path,
    old: tuple[Path, ...],
    output: Path | None,
    keep_matcher: bool,
    n_threads: int | None,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Add documents and new labels to a model without training everything again.

    MODEL was trained on texts, and DATA are more of them. New labels are placed where
    the model's own matches put their documents; only clusters that change are trained
    again, on old and new documents. The command says when a full training is due.
    """
    text_options = take(options)
    place = model if output is None else output
    check_target(place)
    tagger = open_tagger(model, n_jobs=n_threads)
    if not tagger.takes_texts:
        raise ValueError(
            f"{model} was trained on matrices; update it in Python with polyseme.update.updated."
        )
    loaded: TextModel = tagger.model
    if not old and loaded.training_data_ is None:
        raise ValueError(
            f"changed clusters are trained on their old documents too, which {model} does not "
            "hold; give the data it was trained on by --with, or train it with --keep-data."
        )
    corpus = opened_corpus(data, text_options, like=loaded.reading_)
    note(f"{data}: {corpus.description}.")
    done = loaded.update_records(
        corpus,
        old=_old_records(loaded, old, text_options) if old else None,
        label_names=corpus.label_names,
        retrain_matcher=not keep_matcher,
    )
    progress = Progress()
    with progress, progress.phase("Saving the model"):
        loaded.save(place)
        write_card(place, tagger_for(loaded))
    seconds = {**done.seconds, **progress.seconds}
    note_named_labels(tagger_for(loaded), text_options)
    if done.n_without_labels:
        note(f"left out {counted(done.n_without_labels, 'document')} without labels.")
    if done.known_reach is None:
        note(f"no label of {data} was known to {model}; are labels written as they were before?")
    if done.n_repeated:
        note(
            f"{done.n_repeated:,} of the documents were in the model already and now count twice."
        )
    if loaded.report_:
        note("report, probabilities and threshold are from before the update.")
    for reason in done.full_training_due:
        note(f"a full training is due. {reason}")
    if as_json:
        figures = {**dataclasses.asdict(done), "seconds": seconds}
        print_json({"model": str(place), **tagger_for(loaded).sizes(), "update": figures})
        return
    _print(place, loaded, done, seconds)


def _old_records(
    model: TextModel, paths: tuple[Path, ...], options: dict[str, Any]
) -> Iterator[Record]:
    """Walk through all old files, one after the other; once is enough."""
    passed_over = ("labels_file", "vocabulary", "languages")
    alike = {name: value for name, value in options.items() if name not in passed_over}
    # A list: a file that cannot be opened is refused before the work begins.
    return chain.from_iterable([opened_corpus(path, alike, like=model.reading_) for path in paths])


def _print(place: Path, model: TextModel, done: Update, seconds: dict[str, float]) -> None:
    out, tagger = console(), tagger_for(model)
    out.print(seconds_table(seconds))
    out.print()
    figures = [
        ("new documents", f"{done.n_documents:,}"),
        ("new labels", f"{done.n_labels:,}"),
        ("clusters trained anew", f"{done.n_changed_clusters:,} of {done.n_clusters:,}"),
        ("reach of known labels", _percent(done.known_reach)),
        ("reach of new labels", _percent(done.new_reach)),
        ("unknown words", _percent(done.unknown_words)),
        ("ambiguous labels", described_senses(tagger.sizes()["senses"])),
        ("full training due", "yes" if done.full_training_due else "no"),
    ]
    out.print(plain_table(("Update", ""), figures))
    print_sizes(out, place, tagger)


def _percent(share: float | None) -> str:
    return "not known" if share is None else f"{share:.1%}"
