"""The suggested labels of many documents, and files of them: no document is lost on the way."""

from __future__ import annotations

import csv
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from polyseme.files.whole_files import written_beside
from polyseme.machine.extras import how_to_install
from polyseme.suggestions import Suggestion
from polyseme.text.corpora.records import Record
from polyseme.text.features import in_batches
from polyseme.text.spreadsheets import needed_openpyxl, write_excel

__all__ = [
    "COLUMNS",
    "ENDINGS",
    "Batch",
    "Counted",
    "Predicted",
    "as_tsv",
    "batches_of",
    "check_ending",
    "predict_batches",
    "write_predictions",
]

COLUMNS = ("row", "id", "name", "score", "uri", "sense")  # of every table
TEXTS_AT_ONCE = 512
ROWS_AT_ONCE = 10_000
DIGITS = 6  # of a score, as in JSON


@dataclass(frozen=True)
class Predicted:
    """The labels of one document, which may be none.

    Attributes
    ----------
    row : int
        Which of the documents it is, from 0.
    labels : list of Suggestion
        Best first.
    id : str or None
        What its file calls it.
    text : str or None
        None where it is known by its features only.
    """

    row: int
    labels: list[Suggestion]
    id: str | None = None
    text: str | None = None

    def as_json(self) -> str:
        """Return a line of JSON, without an id where there is none."""
        own = {} if self.id is None else {"id": self.id}
        labels = [label.as_json() for label in self.labels]
        return json.dumps({"row": self.row, **own, "labels": labels}, ensure_ascii=False)

    def cells(self) -> Iterator[tuple[int, str | None, Any, float | None, str | None, str | None]]:
        """Yield the `COLUMNS` of each label; of a document without labels, the row and the id."""
        for label in self.labels:
            sense = None if label.sense is None else label.sense.name
            score = round(label.score, DIGITS)
            yield self.row, self.id, label.name, score, label.uri, sense
        if not self.labels:
            yield self.row, self.id, None, None, None, None


class Counted:
    """Documents that are counted as they pass, and those of them without a label or a text.

    Of those whose id an earlier one has, `repeated_id` is the first.
    """

    def __init__(self, predicted: Iterable[Predicted]) -> None:
        self._predicted = predicted
        self.n_documents = self.n_without_label = self.n_without_text = self.n_repeated_ids = 0
        self.repeated_id: str | None = None

    def __iter__(self) -> Iterator[Predicted]:
        ids = set()
        for one in self._predicted:
            self.n_documents += 1
            if one.id is not None and one.id in ids:
                self.n_repeated_ids += 1
                self.repeated_id = self.repeated_id or one.id
            ids.add(one.id)
            self.n_without_label += not one.labels
            self.n_without_text += one.text is not None and not one.text.strip()
            yield one


class Batch(NamedTuple):
    """A list of texts or a matrix, and what its documents are called, if that is known."""

    documents: Any
    ids: Sequence[str | None] | None = None


def batches_of(records: Iterable[Record]) -> Iterator[Batch]:
    """Yield documents a few hundred at a time."""
    for some in in_batches(records, TEXTS_AT_ONCE):
        yield Batch([record.text for record in some], [record.id for record in some])


def predict_batches(
    suggest: Callable[[Any], list[list[Suggestion]]], batches: Iterable[Batch]
) -> Iterator[Predicted]:
    """Find the labels of documents in a stream.

    Parameters
    ----------
    suggest : callable
        From the documents of a batch to the labels of each.
    batches : iterable of Batch
    """
    row = 0
    for documents, ids in batches:
        found = suggest(documents)
        nothing = [None] * len(found)
        texts = documents if isinstance(documents, list) else nothing
        for text, own_id, labels in zip(texts, ids or nothing, found, strict=True):
            yield Predicted(row, labels, own_id, text)
            row += 1


def write_predictions(
    path: str | os.PathLike[str], predicted: Iterable[Predicted], *, n_labels: int | None = None
) -> int:
    """Write the labels of documents as the ending of the file says.

    Tables (CSV, TSV, Excel, Parquet) have the columns row, id, name, score, uri and sense, and a
    row for each label, or for a document without labels one that has a row and an id only. JSON
    lines, and a JSON list, have an object for each document. A matrix (``.npz``) has the scores,
    documents x labels, and the array ``ids`` beside it where documents have some;
    `scipy.sparse.load_npz` reads it.

    Parameters
    ----------
    path : path
        Ends in ``.csv``, ``.tsv``, ``.jsonl``, ``.json``, ``.xlsx``, ``.parquet`` or ``.npz``;
        without an ending it is given JSON lines.
    predicted : iterable of Predicted
        Such as `TextModel.suggest_records` gives; written as they come, but for a matrix.
    n_labels : int, optional
        Columns of a matrix; by default as many as are needed.

    Returns
    -------
    int
        The number of documents.
    """
    place = Path(path)
    check_ending(place)
    counted = Counted(predicted)
    with written_beside(place) as stream:
        ending = place.suffix.lower()
        if ending == ".npz":
            _write_matrix(counted, stream, n_labels)
        else:
            _WRITERS[ending](counted, stream)
    return counted.n_documents


def check_ending(path: Path) -> None:
    """Refuse a file whose name promises a format that nobody writes."""
    if path.suffix.lower() not in ENDINGS:
        known = ", ".join(ending for ending in ENDINGS if ending)
        raise ValueError(f"{path}: the ending {path.suffix} is not known; use {known}.")
    if path.is_dir():  # said before all the work, not after it
        raise ValueError(f"{path} is a folder; give a file to write.")
    if path.suffix.lower() in _NEEDED:
        _NEEDED[path.suffix.lower()]()


def as_tsv(predicted: Iterable[Predicted], *, single: bool = False) -> Iterator[str]:
    """Yield the lines of a table; those of a single document have no header, row or id."""
    buffer = io.StringIO()
    writer = csv.writer(_Lines(buffer), delimiter="\t")
    if not single:
        writer.writerow(COLUMNS)
    for one in predicted:
        for cells in one.cells():
            if single and not one.labels:
                continue
            writer.writerow(cells[2:] if single else cells)
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()  # the header, if there was no document


class _Lines:
    """A text file whose lines get a newline alone.

    The csv module ends them with both signs and so quotes cells that hold either.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, line: str) -> int:
        return self._file.write(line.removesuffix("\r\n") + "\n")


def _write_json_lines(predicted: Iterable[Predicted], stream: IO[bytes]) -> None:
    for one in predicted:
        stream.write(one.as_json().encode() + b"\n")


def _write_json_list(predicted: Iterable[Predicted], stream: IO[bytes]) -> None:
    before = b"[\n"
    for one in predicted:
        stream.write(before + one.as_json().encode())
        before = b",\n"
    stream.write(b"[]\n" if before == b"[\n" else b"\n]\n")


def _write_tsv(predicted: Iterable[Predicted], stream: IO[bytes]) -> None:
    for lines in as_tsv(predicted):
        stream.write(lines.encode())


def _write_csv(predicted: Iterable[Predicted], stream: IO[bytes]) -> None:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(_Lines(text))
    writer.writerow(COLUMNS)
    for one in predicted:
        writer.writerows(one.cells())
    text.detach()  # the stream is closed by whoever opened it


def _write_excel(predicted: Iterable[Predicted], stream: IO[bytes]) -> None:
    write_excel(COLUMNS, (cells for one in predicted for cells in one.cells()), stream)


def _write_parquet(predicted: Iterable[Predicted], stream: IO[bytes]) -> None:
    pyarrow = _needed_pyarrow()
    from pyarrow import parquet

    kinds = (pyarrow.int64(), *[pyarrow.string()] * 2, pyarrow.float64(), *[pyarrow.string()] * 2)
    schema = pyarrow.schema(list(zip(COLUMNS, kinds, strict=True)))
    rows = (cells for one in predicted for cells in one.cells())
    with parquet.ParquetWriter(stream, schema) as writer:
        while batch := list(islice(rows, ROWS_AT_ONCE)):
            named = [
                (row, own, None if name is None else str(name), *more)
                for row, own, name, *more in batch
            ]
            columns = zip(*named, strict=True)
            arrays = [
                pyarrow.array(column, kind) for column, kind in zip(columns, kinds, strict=True)
            ]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))


def _needed_pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ValueError(f"to write Parquet files, {how_to_install('parquet')}.") from None
    return pyarrow


def _write_matrix(predicted: Iterable[Predicted], stream: IO[bytes], n_labels: int | None) -> None:
    starts, columns, scores = [0], [], []
    ids: list[str | None] = []
    for one in predicted:
        for label in sorted(one.labels):
            columns.append(label.label)
            scores.append(label.score)
        starts.append(len(columns))
        ids.append(one.id)
    shape = (len(ids), max(columns, default=-1) + 1 if n_labels is None else n_labels)
    matrix = sp.csr_array((np.array(scores, dtype=np.float32), columns, starts), shape=shape)
    buffer = io.BytesIO()
    sp.save_npz(buffer, matrix)
    if any(one is not None for one in ids):
        with zipfile.ZipFile(buffer, "a") as archive, archive.open("ids.npy", "w") as file:
            np.save(file, np.array([one or "" for one in ids]), allow_pickle=False)
    stream.write(buffer.getbuffer())


_WRITERS: dict[str, Callable[[Iterable[Predicted], IO[bytes]], None]] = {
    ".csv": _write_csv,
    ".tsv": _write_tsv,
    ".txt": _write_tsv,
    ".jsonl": _write_json_lines,
    ".ndjson": _write_json_lines,
    ".json": _write_json_list,
    "": _write_json_lines,
    ".xlsx": _write_excel,
    ".parquet": _write_parquet,
    ".pq": _write_parquet,
}
ENDINGS = (*_WRITERS, ".npz")
_NEEDED = {".xlsx": needed_openpyxl, ".parquet": _needed_pyarrow, ".pq": _needed_pyarrow}
