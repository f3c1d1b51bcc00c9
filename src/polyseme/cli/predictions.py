"""Suggestions as lines for people and machines, or as a matrix."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
import scipy.sparse as sp

from polyseme.cli.documents import Documents
from polyseme.files.whole_files import written_beside
from polyseme.inputs.excerpts import excerpt
from polyseme.suggestions import Suggestion
from polyseme.tagger import Tagger

__all__ = ["MATRIX", "TSV", "Predicted", "predict_all", "print_lines", "write_file"]

MATRIX, TSV = (".npz",), (".tsv", ".txt")
EXCERPT = 60


@dataclass(frozen=True)
class Predicted:
    """The labels of one document.

    Attributes
    ----------
    row : int
    text : str or None
        None where it is known by its features only.
    labels : list of Suggestion
    with_senses : bool
        Whether the model has labels with several senses; all TSV lines then have that column.
    """

    row: int
    text: str | None
    labels: list[Suggestion]
    with_senses: bool = False

    def as_json(self) -> str:
        """Return a line for machines."""
        labels = [label.as_json() for label in self.labels]
        return json.dumps({"row": self.row, "labels": labels}, ensure_ascii=False)

    def as_tsv(self, *, with_row: bool = True) -> Iterator[str]:
        """Return a line for each label: row, name, score, and perhaps URI and sense.

        All lines of a model have the same columns, so that any reader of tables takes them.
        """
        for label in self.labels:
            cells = [str(self.row)] if with_row else []
            cells += [_on_one_line(str(label.name)), f"{label.score:.4f}"]
            if label.uri is not None:
                cells.append(_on_one_line(label.uri))
            if self.with_senses:
                cells.append("" if label.sense is None else _on_one_line(label.sense.name))
            yield "\t".join(cells)

    def for_people(self) -> Iterator[str]:
        """Return the text and its labels for a terminal."""
        shown = "" if self.text is None else excerpt(self.text, EXCERPT)
        yield click.style(f"{self.row}  {shown}", bold=True)
        for label in self.labels:
            sense = "" if label.sense is None else f" ({label.sense.name})"
            uri = "" if label.uri is None else click.style(f"  {label.uri}", dim=True)
            yield f"   {label.score:.2f}  {label.name}{sense}{uri}"
        if not self.labels:
            yield click.style("   no label is probable enough", dim=True)


def predict_all(
    tagger: Tagger, documents: Documents, limit: int, threshold: float | None
) -> Iterator[Predicted]:
    """Find the labels of all documents, batch by batch."""
    row, with_senses = 0, tagger.n_ambiguous > 0
    for batch in documents.batches:
        found = tagger.suggest(batch, limit, threshold)
        texts = batch if isinstance(batch, list) else [None] * len(found)
        for text, labels in zip(texts, found, strict=True):
            yield Predicted(row, text, labels, with_senses)
            row += 1


def print_lines(lines: Iterable[str]) -> int:
    """Write lines to stdout and return how many there were."""
    if sys.stdout is None:
        raise ValueError("stdout is closed; give a file with -o.")
    n_lines = 0
    for line in lines:
        sys.stdout.write(line + "\n")
        n_lines += 1
    return n_lines


def write_file(predicted: Iterable[Predicted], output: Path, n_labels: int) -> int:
    """Write a file as its ending says, and return how many documents are in it."""
    n_documents = 0
    with written_beside(output) as stream:
        if output.suffix in MATRIX:
            matrix = _as_matrix(predicted, n_labels)
            sp.save_npz(stream, matrix)
            return int(matrix.shape[0])
        for one in predicted:
            n_documents += 1
            for line in one.as_tsv() if output.suffix in TSV else [one.as_json()]:
                stream.write(line.encode() + b"\n")
    return n_documents


def _as_matrix(predicted: Iterable[Predicted], n_labels: int) -> sp.csr_array:
    """Return documents x labels with the scores, rows sorted by label."""
    starts, columns, scores = [0], [], []
    for one in predicted:
        for label in sorted(one.labels):
            columns.append(label.label)
            scores.append(label.score)
        starts.append(len(columns))
    shape = (len(starts) - 1, n_labels)
    return sp.csr_array((np.array(scores, dtype=np.float32), columns, starts), shape=shape)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
