"""``polyseme senses``: the senses of a label, or the labels that are most likely ambiguous."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from polyseme.cli.corpus_options import reading_options
from polyseme.cli.documents import Labelled, read_labelled
from polyseme.cli.errors import note
from polyseme.cli.rendering import (
    ambiguous_table,
    print_only_meaning,
    print_senses,
    spoken_share,
)
from polyseme.cli.report import described_evidence
from polyseme.cli.shared import common_options, console, path_argument, print_json
from polyseme.machine.quantities import counted
from polyseme.senses.describe import Sense
from polyseme.senses.induce import FEWEST_DOCUMENTS
from polyseme.senses.layer import SHOWN_FROM, SenseLayer
from polyseme.tagger import Tagger, open_tagger

__all__ = ["senses"]

NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}


@click.command(epilog="Example: polyseme senses models/eurlex tank --data data/eurlex")
@path_argument("model")
@click.argument("label", required=False)
@click.option(
    "--data",
    metavar="DATA",
    type=click.Path(path_type=Path),
    help="Documents with labels, to list those of each sense.",
)
@click.option(
    "--at-least",
    type=click.FloatRange(0, 1),
    default=SHOWN_FROM,
    metavar="P",
    help="Count a label as ambiguous from this probability on; 0.5 by default. With 0, every "
    "label is shown with senses.",
)
@click.option(
    "-n",
    "n_shown",
    default=10,
    metavar="N",
    type=click.IntRange(min=1),
    help="How many labels, words or documents to list; 10 by default.",
)
@reading_options
@common_options()
def senses(
    model: Path,
    label: str | None,
    data: Path | None,
    at_least: float,
    n_shown: int,
    n_threads: int | None,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Show the senses of a label, by name or number.

    Each sense is named after what tells it from the label's others: the labels that go with
    it, or else its words. Also shown are its share of the label's documents and some of
    these. Without LABEL, lists the labels that are most likely ambiguous.
    """
    tagger = open_tagger(model, n_jobs=n_threads)
    layer = tagger.classifier.senses_
    if layer is None:
        raise ValueError(f"{model} has no senses: {_why_none(tagger.classifier)}")
    if label is None:
        _list_most_ambiguous(tagger, layer, n_shown, at_least, as_json)
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
        at_least=at_least,
        n_labels=n_shown,
        n_words=n_shown,
        n_documents=n_shown,
    )
    about = tagger.labels.summary(number)
    if as_json:
        print_json(
            {
                "label": number,
                "name": about.name,
                "n_documents": about.n_documents,
                "ambiguity": about.ambiguity,
                "evidence": layer.evidence,
                "senses": [dataclasses.asdict(sense) for sense in found],
            }
        )
        return
    out = console()
    sentence = _sentence(str(about.name), about.n_documents, about.ambiguity, found, at_least)
    out.print(Text(sentence), soft_wrap=True)
    for line in _in_vocabulary(tagger, number, n_shown):
        out.print(Text(line), soft_wrap=True)
    if len(found) == 1:
        print_only_meaning(out, found[0])
        return
    if layer.evidence != "labels":
        out.print(described_evidence(layer.evidence), soft_wrap=True)
    out.print()
    print_senses(out, str(about.name), found)


def _why_none(classifier: Any) -> str:
    if classifier.n_documents_ == 0:
        return (
            "it was imported without its training documents, and senses are found in these; train "
            'a model with "polyseme train" to have some.'
        )
    by_default = inspect.signature(type(classifier)).parameters.get("senses")
    if by_default is not None and by_default.default == "none":
        return f"{classifier.kind} looks for none by default; train it again with --senses induce."
    return (
        "it was trained with --senses none, or by a version that did not look for any; train it "
        "again to find them."
    )


def _sentence(
    name: str, n_documents: int, ambiguity: float | None, found: list[Sense], at_least: float
) -> str:
    how_many = counted(n_documents, "document")
    if ambiguity is None:
        why = "too few to judge" if n_documents < FEWEST_DOCUMENTS else "which do not divide"
        return f"{name} has {how_many}, {why}; it is taken to have one meaning."
    likely = f"the probability that it is ambiguous is {spoken_share(ambiguity)}"
    if len(found) == 1 and ambiguity >= SHOWN_FROM:
        return f"{name} counts as having one meaning below {at_least:.0%}: {likely}."
    if len(found) == 1:
        return f"{name} has one meaning, as far as its {how_many} tell: {likely}."
    n = NUMBERS.get(len(found), str(len(found)))
    if ambiguity < SHOWN_FROM:
        return f"{name} rather has one meaning: {likely}. Its {how_many}, split in {n}:"
    return f"{name} has {n} senses, as far as its {how_many} tell: {likely}."


def _in_vocabulary(tagger: Tagger, label: int, n_shown: int) -> Iterator[str]:
    """Say what a vocabulary has of a label, a line each."""
    vocabulary = tagger.vocabulary
    if vocabulary is None:
        return
    for what, names in (
        ("also called", vocabulary.other_names(label)),
        ("notation", vocabulary.notations_of(label)),
        ("broader", [one.name for one in vocabulary.broader_than(label)]),
        ("narrower", [one.name for one in vocabulary.narrower_than(label)]),
    ):
        if names:
            more = f", and {len(names) - n_shown:,} more" if len(names) > n_shown else ""
            yield f"{what}: {'; '.join(names[:n_shown])}{more}"


def _list_most_ambiguous(
    tagger: Tagger, layer: SenseLayer, n_labels: int, at_least: float, as_json: bool
) -> None:
    found = tagger.ambiguous_labels(n_labels, at_least=at_least)
    if as_json:
        print_json([one._asdict() for one in found])
        return
    if not found:
        note(f"none of the {layer.n_judged:,} labels that were judged is likely ambiguous.")
        return
    out = console()
    out.print(ambiguous_table(found))
    if layer.evidence != "labels":
        out.print(described_evidence(layer.evidence), soft_wrap=True)
