"""``polyseme predict``: the best labels of each document."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import polyseme
from polyseme.cli.inputs import load_features
from polyseme.cli.shared import (
    JSON_LINES,
    check_ending,
    common_options,
    path_argument,
    print_json,
)
from polyseme.cli.text_options import reading_options, refuse_text_options, threshold_option
from polyseme.cli.text_predict import predict_texts
from polyseme.files.whole_files import written_beside
from polyseme.machine.progress import Progress
from polyseme.text.model import TextModel

__all__ = ["predict"]

Labels = npt.NDArray[np.integer[Any]]
Scores = npt.NDArray[np.floating[Any]]


@click.command(epilog="Example: polyseme predict models/articles new.csv --limit 5")
@path_argument("model")
@path_argument("features", metavar="[INPUT]", required=False)
@click.option(
    "-k",
    "--limit",
    "k",
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
    help="File to write: a sparse matrix of scores if it ends in .npz, else JSON lines; "
    "of texts TSV if it ends in .tsv.",
)
@reading_options
@common_options()
def predict(
    model: Path,
    features: Path | None,
    k: int,
    threshold: float | None,
    by_line: bool,
    output: Path | None,
    n_threads: int | None,
    seed: int,
    as_json: bool,
    **text_options: Any,
) -> None:
    """Find the best labels of each document.

    With a model of texts INPUT is a file of texts as "train" takes it, labels not needed,
    or one text; without INPUT the text comes from stdin. Prints names and probabilities:
    to be read on a terminal, as TSV elsewhere, as JSON lines with --json.

    With a model of matrices INPUT is a sparse or dense matrix of features (.npz, .npy), a
    data folder (its test part, or its training part if there is no other), or a text file
    of the Extreme Classification Repository. Prints one line of JSON a document, best label
    first; with -o prints only, if asked by --json, what was written.
    """
    with Progress() as progress:
        with progress.phase("Reading the model"):
            loaded = polyseme.load(model, n_jobs=n_threads)
        if isinstance(loaded, TextModel):
            predict_texts(
                loaded,
                features,
                limit=k,
                threshold=threshold,
                by_line=by_line,
                output=output,
                as_json=as_json,
                options=text_options,
            )
            return
        if features is None:
            raise click.UsageError("Missing argument 'INPUT': this is a model of matrices.")
        given = {"threshold": threshold, "lines": by_line, **text_options}
        refuse_text_options(features, given)
        check_ending(output, (*JSON_LINES, ".npz"))
        with progress.phase("Reading the features"):
            X = load_features(features, n_threads)
        with progress.phase("Predicting"):
            labels, scores = loaded.predict_top_k(X, min(k, loaded.n_labels_))

    if output is None:
        for line in _json_lines(labels, scores, loaded.label_names_):
            sys.stdout.write(line + "\n")
        return
    with written_beside(output) as stream:
        if output.suffix == ".npz":
            sp.save_npz(stream, _as_matrix(labels, scores, loaded.n_labels_))
        else:
            for line in _json_lines(labels, scores, loaded.label_names_):
                stream.write(line.encode() + b"\n")
    if as_json:
        print_json({"output": str(output), "n_documents": len(labels), "k": labels.shape[1]})


def _json_lines(labels: Labels, scores: Scores, names: Any) -> Iterator[str]:
    for row, (row_labels, row_scores) in enumerate(zip(labels, scores, strict=True)):
        found = [
            {
                "label": label,
                **({} if names is None else {"name": names[label]}),
                "score": round(score, 6),
            }
            for label, score in zip(row_labels.tolist(), row_scores.tolist(), strict=True)
            if label >= 0
        ]
        yield json.dumps({"row": row, "labels": found}, ensure_ascii=False)


def _as_matrix(labels: Labels, scores: Scores, n_labels: int) -> sp.csr_array:
    """Return documents x labels with the scores of the top k, rows sorted by label."""
    found = labels >= 0
    starts = np.zeros(len(labels) + 1, dtype=np.int64)
    np.cumsum(found.sum(axis=1), out=starts[1:])
    matrix = sp.csr_array((scores[found], labels[found], starts), shape=(len(labels), n_labels))
    matrix.sort_indices()
    return matrix
