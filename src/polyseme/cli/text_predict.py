"""``polyseme predict`` with a text model: names and probabilities for files or stdin."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any

import click
import numpy as np
import scipy.sparse as sp

from polyseme.cli.errors import note
from polyseme.cli.shared import JSON_LINES, check_ending, print_json
from polyseme.cli.text_options import is_text, opened_corpus
from polyseme.files.whole_files import written_beside
from polyseme.text.corpora.lines import decode, lines_of
from polyseme.text.features import in_batches
from polyseme.text.model import Suggestion, TextModel

__all__ = ["predict_texts"]

TEXTS_AT_ONCE = 512
EXCERPT = 60
STDIN = Path("-")

Suggested = tuple[int, str, list[Suggestion]]


def predict_texts(
    model: TextModel,
    source: Path | None,
    *,
    limit: int,
    threshold: float | None,
    by_line: bool,
    output: Path | None,
    as_json: bool,
    options: dict[str, Any],
) -> None:
    """Suggest labels for every text of a file, or for the text on stdin."""
    check_ending(output, (*JSON_LINES, ".npz", ".tsv", ".txt"))
    texts = _texts(model, source, by_line, options)
    is_single = not by_line and not _is_table(source, options)
    found = _suggested(model, texts, limit, threshold)
    if output is not None:
        _write(model, found, output, limit, as_json)
        return
    lines: Iterable[str]
    if as_json:
        lines = map(_json_line, found)
    elif sys.stdout.isatty():
        lines = chain.from_iterable(map(_shown, found))
    else:
        lines = chain.from_iterable(_tsv(one, with_row=not is_single) for one in found)
    n_lines = 0
    for line in lines:
        click.echo(line)
        n_lines += 1
    if n_lines == 0:
        least = model.threshold_ if threshold is None else threshold
        note(f"no label reaches a probability of {least:.3f}; lower it with --threshold.")


def _is_table(source: Path | None, options: dict[str, Any]) -> bool:
    if source is None or source == STDIN:
        return False
    return source.is_dir() or is_text(source, options)


def _texts(
    model: TextModel, source: Path | None, by_line: bool, options: dict[str, Any]
) -> Iterable[str]:
    if source is None or source == STDIN:
        if sys.stdin is None:
            raise ValueError("stdin is closed; give a text there, or a file as INPUT.")
        stream = sys.stdin.buffer
        if by_line:
            numbered = enumerate(stream, start=1)
            return (decode(line, Path("stdin"), i).rstrip("\r\n") for i, line in numbered)
        return iter([_whole(stream)])
    if source.is_dir() or is_text(source, options):
        corpus = opened_corpus(source, options, need_labels=False, like=model.reading_)
        return (record.text for record in corpus)
    if not source.is_file():
        raise FileNotFoundError(f"{source} is not a file or folder of texts.")
    if by_line:
        return (line.rstrip("\r\n") for line in lines_of(source))
    return iter(["".join(lines_of(source))])


def _whole(stream: IO[bytes]) -> str:
    lines = (decode(line, Path("stdin"), i) for i, line in enumerate(stream, start=1))
    text = "".join(lines)
    if not text.strip():
        raise ValueError("there is no text on stdin; give some, or a file as INPUT.")
    return text


def _suggested(
    model: TextModel, texts: Iterable[str], limit: int, threshold: float | None
) -> Iterator[Suggested]:
    row = 0
    for batch in in_batches(texts, TEXTS_AT_ONCE):
        for text, labels in zip(batch, model.suggest(batch, limit, threshold), strict=True):
            yield row, text, labels
            row += 1


def _json_line(one: Suggested) -> str:
    row, _, labels = one
    listed = [
        {
            "label": found.label,
            "name": found.name,
            **({} if found.uri is None else {"uri": found.uri}),
            "score": round(found.score, 6),
        }
        for found in labels
    ]
    return json.dumps({"row": row, "labels": listed}, ensure_ascii=False)


def _tsv(one: Suggested, *, with_row: bool) -> Iterator[str]:
    row, _, labels = one
    for found in labels:
        cells = [_cell(found.name), f"{found.score:.4f}"]
        if with_row:
            cells.insert(0, str(row))
        if found.uri is not None:
            cells.append(_cell(found.uri))
        yield "\t".join(cells)


def _cell(text: str) -> str:
    return " ".join(text.split())


def _shown(one: Suggested) -> Iterator[str]:
    row, text, labels = one
    excerpt = _cell(text)
    if len(excerpt) > EXCERPT:
        excerpt = excerpt[: EXCERPT - 3].rstrip() + "..."
    yield click.style(f"{row}  {excerpt}", bold=True)
    for found in labels:
        uri = "" if found.uri is None else click.style(f"  {found.uri}", dim=True)
        yield f"   {found.score:.2f}  {found.name}{uri}"
    if not labels:
        yield click.style("   no label is probable enough", dim=True)


def _write(
    model: TextModel, found: Iterator[Suggested], output: Path, limit: int, as_json: bool
) -> None:
    n_documents = 0
    with written_beside(output) as stream:
        if output.suffix == ".npz":
            matrix = _as_matrix(found, model.classifier_.n_labels_)
            n_documents = matrix.shape[0]
            sp.save_npz(stream, matrix)
        else:
            is_tsv = output.suffix in (".tsv", ".txt")
            for one in found:
                n_documents += 1
                for line in _tsv(one, with_row=True) if is_tsv else [_json_line(one)]:
                    stream.write(line.encode() + b"\n")
    if as_json:
        print_json({"output": str(output), "n_documents": n_documents, "k": limit})


def _as_matrix(found: Iterable[Suggested], n_labels: int) -> sp.csr_array:
    starts, columns, scores = [0], [], []
    for _, _, labels in found:
        for one in sorted(labels):
            columns.append(one.label)
            scores.append(one.score)
        starts.append(len(columns))
    shape = (len(starts) - 1, n_labels)
    return sp.csr_array((np.array(scores, dtype=np.float32), columns, starts), shape=shape)
