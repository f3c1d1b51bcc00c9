"""``polyseme predict``: the best labels of each document."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import click

from polyseme.cli.corpus_options import reading_options, threshold_option
from polyseme.cli.documents import read_documents
from polyseme.cli.errors import note
from polyseme.cli.predictions import MATRIX, TSV, predict_all, print_lines, write_file
from polyseme.cli.shared import (
    JSON_LINES,
    check_ending,
    common_options,
    path_argument,
    print_json,
)
from polyseme.machine.progress import Progress
from polyseme.tagger import open_tagger

__all__ = ["predict"]


@click.command(epilog="Example: polyseme predict models/articles new.csv --limit 5")
@path_argument("model")
@path_argument("source", metavar="[INPUT]", required=False)
@click.option(
    "-k",
    "--limit",
    default=10,
    metavar="N",
    help="How many labels a document gets at most; 10 by default.",
)
@threshold_option
@click.option("--lines", "by_line", is_flag=True, help="Each line of INPUT or stdin is a text.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File to write: a sparse matrix of scores if it ends in .npz, TSV if it ends in .tsv, "
    "else JSON lines.",
)
@reading_options
@common_options()
def predict(
    model: Path,
    source: Path | None,
    limit: int,
    threshold: float | None,
    by_line: bool,
    output: Path | None,
    n_threads: int | None,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Find the best labels of each document.

    With a model of texts INPUT is a file of texts as "train" takes it, labels not needed,
    or one text; without INPUT the text comes from stdin. Prints names and probabilities,
    and of labels that are ambiguous the sense: to be read on a terminal, as TSV elsewhere,
    as JSON lines with --json.

    With a model of matrices INPUT is a sparse or dense matrix of features (.npz, .npy), a
    data folder (its test part, or its training part if there is no other), or a text file
    of the Extreme Classification Repository. Prints one line of JSON a document, best label
    first; with -o prints only, if asked by --json, what was written.
    """
    check_ending(output, (*JSON_LINES, *MATRIX, *TSV))
    with Progress() as progress:
        with progress.phase("Reading the model"):
            tagger = open_tagger(model, n_jobs=n_threads)
        with progress.phase("Reading the documents"):
            options.update(threshold=threshold, lines=by_line)
            documents = read_documents(tagger, source, options, n_threads)
        found = predict_all(tagger, documents, limit, threshold)
        if output is not None:
            with progress.phase("Predicting"):
                n_documents = write_file(found, output, tagger.classifier.n_labels_)
    if output is not None:
        if as_json:
            k = min(limit, tagger.classifier.n_labels_)
            print_json({"output": str(output), "n_documents": n_documents, "k": k})
        return
    lines: Iterable[str]
    if as_json or not tagger.takes_texts:
        lines = (one.as_json() for one in found)
    elif sys.stdout is not None and sys.stdout.isatty():
        lines = chain.from_iterable(one.for_people() for one in found)
    else:
        with_row = not documents.is_single
        lines = chain.from_iterable(one.as_tsv(with_row=with_row) for one in found)
    least = tagger.checked_threshold(threshold)
    if print_lines(lines) == 0 and least is not None:
        note(f"no label reaches a probability of {least:.3f}; lower it with --threshold.")
