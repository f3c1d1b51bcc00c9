"""``polyseme predict``: the best labels of each document."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import click
import numpy as np

from polyseme.cli.corpus_options import reading_options, threshold_option
from polyseme.cli.documents import STDIN, is_read, read_documents, refuse_swapped
from polyseme.cli.errors import note
from polyseme.cli.predictions import for_people, print_out
from polyseme.cli.report import spoken_threshold
from polyseme.cli.shared import common_options, path_argument, print_json
from polyseme.machine.progress import Progress
from polyseme.machine.quantities import counted
from polyseme.tagger import Tagger, open_tagger
from polyseme.text.predictions import (
    Counted,
    as_tsv,
    check_ending,
    predict_batches,
    write_predictions,
)

__all__ = ["predict"]


@click.command(epilog="Example: polyseme predict models/articles new.csv --limit 5")
@path_argument("model")
@path_argument("source", metavar="[INPUT]", required=False, or_stdin=True)
@click.option(
    "-k",
    "--limit",
    type=int,
    metavar="N",
    help="How many labels a document gets at most; 10 by default.",
)
@threshold_option
@click.option(
    "--at-least",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="How many labels a document gets in any case, also below the threshold.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    help="Give each document its N best labels, however probable.",
)
@click.option(
    "--text",
    multiple=True,
    metavar="TEXT",
    help="A text to find labels for, in the place of INPUT; can be given several times.",
)
@click.option("--lines", "by_line", is_flag=True, help="Each line of INPUT or stdin is a text.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File to write: a table if it ends in .csv, .tsv, .xlsx or .parquet, a sparse matrix of "
    "scores if it ends in .npz, a JSON list if in .json, JSON lines if in .jsonl.",
)
@reading_options
@common_options()
def predict(
    model: Path,
    source: Path | None,
    limit: int | None,
    threshold: float | None,
    at_least: int,
    top: int | None,
    text: tuple[str, ...],
    by_line: bool,
    output: Path | None,
    n_threads: int | None,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Find the best labels of each document.

    With a model of texts INPUT is a file of texts as "train" takes it, labels not needed,
    or one text; without INPUT they come from stdin, or from --text. Prints names and
    probabilities, and of labels that are ambiguous the sense: to be read on a terminal, as
    TSV elsewhere, as JSON lines with --json. Every document has a row, also one that gets no
    label, with the id that it has in INPUT; rows are counted from 0.

    With a model of matrices INPUT is a sparse or dense matrix of features (.npz, .npy), a
    data folder (its test part, or its training part if there is no other), or a text file
    of the Extreme Classification Repository. Prints one line of JSON per document, best label
    first; with -o prints only, if asked by --json, what was written.
    """
    if output == STDIN:  # as many programs call what is printed
        output = None
    if output is not None:
        check_ending(output)
        if not text and is_read(output, source):
            raise ValueError(f"-o {output} is the file that is read; give another to write.")
        if not output.suffix and not output.is_char_device() and not output.is_fifo():
            note(f"{output} has no ending, so it gets JSON lines.")
    if top is not None:
        if limit is not None or threshold is not None or at_least:
            raise click.UsageError("--top excludes --limit, --threshold and --at-least.")
        at_least = top
    if limit is None:
        limit = top or max(10, at_least)
    refuse_swapped(model, source)
    with Progress() as progress:
        with progress.phase("Reading the model"):
            tagger = open_tagger(model, n_jobs=n_threads)
        with progress.phase("Reading the documents"):
            options.update(threshold=threshold, lines=by_line, text=text)
            documents = read_documents(tagger, source, options, n_threads)
        suggest = partial(tagger.suggest, limit=limit, threshold=threshold, at_least=at_least)
        found = Counted(predict_batches(suggest, documents.batches))
        if output is not None:
            with progress.phase("Predicting"):
                write_predictions(output, found, n_labels=tagger.classifier.n_labels_)
    if output is None:
        lines: Iterable[str]
        if as_json or not tagger.takes_texts:
            lines = (one.as_json() + "\n" for one in found)
        elif sys.stdout is not None and sys.stdout.isatty():
            lines = chain.from_iterable(map(for_people, found))
        else:
            lines = as_tsv(found, single=documents.is_single)
        print_out(lines)
    elif as_json:
        k = min(limit, tagger.classifier.n_labels_)
        print_json(
            {
                "output": str(output),
                "n_documents": found.n_documents,
                "n_without_label": found.n_without_label,
                "k": k,
            }
        )
    if found.n_without_text:
        note(f"{counted(found.n_without_text, 'document')} had no text to judge by.")
    if found.n_repeated_ids:
        note(
            f"{counted(found.n_repeated_ids, 'document')} had an id that an earlier one has, the "
            f"first {found.repeated_id!r}."
        )
    _note_without_label(found, tagger, threshold)


def _note_without_label(found: Counted, tagger: Tagger, threshold: float | None) -> None:
    if found.n_without_label == 0:
        return
    share = found.n_without_label / found.n_documents
    who = f"{found.n_without_label:,} of {found.n_documents:,} documents ({share:.1%}) have"
    if found.n_documents == 1:
        who = "the document has"
    what, least = "no label", tagger.least(threshold)
    if isinstance(least, np.ndarray):
        what = "no label that reaches its threshold"
    elif least is not None:
        what = f"no label that reaches {spoken_threshold(least)}"
    note(f"{who} {what}; --at-least 1 gives the best one all the same.")
