"""Texts with labels from files, one document at a time.

A kind of file is a class with ``reading``, ``description``, ``label_names`` and ``__iter__``,
which starts again each time; `open_corpus` chooses among them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from polyseme.text.corpora.annif import AnnifFolder, AnnifTsv, looks_like_annif_tsv
from polyseme.text.corpora.delimited import DelimitedFile
from polyseme.text.corpora.excel import ExcelFile
from polyseme.text.corpora.fasttext import PREFIX, FastTextLines
from polyseme.text.corpora.guessing import format_by_name, guess_format
from polyseme.text.corpora.json_lines import JsonLinesFile
from polyseme.text.corpora.lines import opened
from polyseme.text.corpora.parquet import ParquetFile
from polyseme.text.corpora.plain import PlainLines, plain_files_in
from polyseme.text.corpora.records import Corpus, Record
from polyseme.text.corpora.table import Table, TableSource, Wanted

__all__ = ["FORMATS", "Corpus", "Record", "guess_format", "is_corpus", "open_corpus"]

# A new format is a file here and a line in one of these, and perhaps its ending in `guessing`.
_TABLES: dict[str, type[TableSource]] = {
    "csv": DelimitedFile,
    "tsv": DelimitedFile,
    "jsonl": JsonLinesFile,
    "parquet": ParquetFile,
    "excel": ExcelFile,
    "xlsx": ExcelFile,  # as people call it by its ending
}
_OTHERS: dict[str, Callable[[Path, Wanted, Mapping[str, str] | None], Corpus]] = {
    "annif": AnnifTsv,
    "fasttext": FastTextLines,
}
FORMATS = (*_TABLES, *_OTHERS)
_KINDS = (
    "a CSV, TSV, JSON, Parquet or Excel file, lines of fastText, a folder of Annif (.txt "
    "with .tsv or .key), or a folder with text.txt and labels.txt"
)


def is_corpus(path: str | os.PathLike[str]) -> bool:
    """Say whether a path is a file or folder of texts, by its name and what lies in it."""
    place = Path(path)
    if place.is_dir():
        if (place / "X.trn.npz").exists():  # matrices, with texts beside them
            return False
        return plain_files_in(place) is not None or AnnifFolder.is_one(place)
    return _format_of(place, None) is not None


def open_corpus(
    path: str | os.PathLike[str],
    *,
    text_columns: Sequence[str] = (),
    labels_column: str | None = None,
    label_separator: str | None = None,
    id_column: str | None = None,
    labels_file: str | os.PathLike[str] | None = None,
    vocabulary: Mapping[str, str] | None = None,
    need_labels: bool = True,
    like: Mapping[str, Any] | None = None,
    format: str | None = None,
    encoding: str | None = None,
) -> Corpus:
    """Open texts with labels, whatever the kind of file.

    Parameters
    ----------
    path : path
        A CSV or TSV file with a header, JSON lines or a JSON list (also spaCy's), Parquet, Excel,
        lines of fastText, Annif's TSV (text, tab, URIs) or its folders of ``.txt`` with ``.tsv``
        or ``.key`` files, or a folder with ``text.txt`` and ``labels.txt``, one document per
        line. All but Parquet and Excel may be gzipped.
    text_columns : sequence of str
        Their texts are joined; by default ``text``, or else columns such as title and body.
    labels_column : str, optional
        By default ``labels``, or else a column such as tags or keywords.
    label_separator : str, optional
        What stands between labels, where they are not a list; by default it is guessed from the
        first documents.
    id_column : str, optional
        What documents are called; by default ``id`` or a column of a similar name, if there is
        one. In Annif's folders it is the name of the file.
    labels_file : path, optional
        The labels of each line of `path`, which then is plain text, one document per line.
    vocabulary : Vocabulary, or dict of str to str, optional
        From URI to name; see `polyseme.text.read_vocabulary`.
    need_labels : bool
        Refuse files without labels. If not, labels are passed over, so that wrong ones do no
        harm.
    like : dict, optional
        The ``reading`` of another corpus; its columns are taken where they are there.
    format : {'csv', 'tsv', 'jsonl', 'parquet', 'excel', 'xlsx', 'annif', 'fasttext'}, optional
        By default what the ending says.
    encoding : str, optional
        By default UTF-8.
    """
    place = Path(path)
    wanted = Wanted(
        tuple(text_columns),
        labels_column,
        label_separator,
        need_labels,
        dict(like or {}),
        id_column,
        encoding,
    )
    if not place.exists():
        raise FileNotFoundError(f"{place} does not exist; give {_KINDS}.")
    kind = _format_of(place, format)
    if labels_file is not None or place.is_dir():
        _refuse_columns(place, wanted)
    if labels_file is not None:
        if kind in _TABLES:
            raise ValueError(
                f"{place} is a table by its ending, and --labels-file is for plain "
                "text with a document per line; leave it out, or rename the file to .txt."
            )
        return PlainLines(place, Path(labels_file), wanted, vocabulary)
    if place.is_dir():
        pair = plain_files_in(place)
        if pair is not None:
            return PlainLines(*pair, wanted, vocabulary)
        if AnnifFolder.is_one(place) or (not need_labels and any(place.glob("*.txt"))):
            return AnnifFolder(place, wanted, vocabulary)
    elif kind is not None:
        if kind == "tsv" and format is None and looks_like_annif_tsv(place, wanted):
            kind = "annif"
        if kind in _OTHERS:
            _refuse_columns(place, wanted)
            return _OTHERS[kind](place, wanted, vocabulary)
        return Table(_TABLES[kind](place, encoding), wanted, vocabulary)
    raise ValueError(f"{place} is not a file of texts with labels that is known; give {_KINDS}.")


def _refuse_columns(place: Path, wanted: Wanted) -> None:
    if wanted.names_columns:
        raise ValueError(
            f"{place} has no columns, but one was named; leave out --text-column, "
            "--labels-column and --id-column."
        )


def _format_of(place: Path, format: str | None) -> str | None:
    """Return the format: the given one, the ending's, or fastText's by its first words."""
    if format is not None and format not in FORMATS:
        raise ValueError(
            f"the format {format!r} is not one of texts with labels; known are "
            f"{', '.join(FORMATS)}."
        )
    found = format or format_by_name(place)
    if found is None and place.is_file() and _begins_with(place, PREFIX.encode()):
        return "fasttext"
    return found


def _begins_with(place: Path, beginning: bytes) -> bool:
    with opened(place) as file:
        return file.read(len(beginning)) == beginning
