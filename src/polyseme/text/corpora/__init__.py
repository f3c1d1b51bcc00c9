"""Texts with labels from files, one document at a time.

A kind of file is a class with ``reading``, ``description``, ``label_names`` and ``__iter__``,
which starts again each time; `open_corpus` chooses among them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polyseme.text.corpora.annif import AnnifFolder, AnnifTsv, looks_like_annif_tsv
from polyseme.text.corpora.delimited import DelimitedFile
from polyseme.text.corpora.json_lines import JsonLinesFile
from polyseme.text.corpora.parquet import ParquetFile
from polyseme.text.corpora.plain import PlainLines, plain_files_in
from polyseme.text.corpora.records import Corpus, Record
from polyseme.text.corpora.table import Table, TableSource, Wanted

__all__ = ["Corpus", "Record", "is_corpus", "open_corpus"]

_TABLES: dict[str, type[TableSource]] = {
    ".csv": DelimitedFile,
    ".tsv": DelimitedFile,
    ".jsonl": JsonLinesFile,
    ".ndjson": JsonLinesFile,
    ".json": JsonLinesFile,
    ".parquet": ParquetFile,
    ".pq": ParquetFile,
}
_KINDS = (
    "a CSV, TSV, JSON lines or Parquet file, a folder of Annif (.txt with .tsv or .key), or a "
    "folder with text.txt and labels.txt"
)


def is_corpus(path: str | os.PathLike[str]) -> bool:
    """Say whether a path is a file or folder of texts, by its name and what lies in it."""
    place = Path(path)
    if place.is_dir():
        if (place / "X.trn.npz").exists():  # matrices, with texts beside them
            return False
        return plain_files_in(place) is not None or AnnifFolder.is_one(place)
    return _suffix(place) in _TABLES


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
) -> Corpus:
    """Open texts with labels, whatever the kind of file.

    Parameters
    ----------
    path : path
        A CSV or TSV file with a header, JSON lines, Parquet, Annif's TSV (text, tab, URIs) or its
        folders of ``.txt`` with ``.tsv`` or ``.key`` files, or a folder with ``text.txt`` and
        ``labels.txt``, a document a line. All but Parquet may be gzipped.
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
        The labels of each line of `path`, which then is plain text, a document a line.
    vocabulary : Vocabulary, or dict of str to str, optional
        From URI to name; see `polyseme.text.read_vocabulary`.
    need_labels : bool
        Refuse files without labels.
    like : dict, optional
        The ``reading`` of another corpus; its columns are taken where they are there.
    """
    place = Path(path)
    wanted = Wanted(
        tuple(text_columns),
        labels_column,
        label_separator,
        need_labels,
        dict(like or {}),
        id_column,
    )
    if not place.exists():
        raise FileNotFoundError(f"{place} does not exist; give {_KINDS}.")
    if labels_file is not None or place.is_dir():
        _refuse_columns(place, wanted)
    if labels_file is not None:
        return PlainLines(place, Path(labels_file), wanted, vocabulary)
    if place.is_dir():
        pair = plain_files_in(place)
        if pair is not None:
            return PlainLines(*pair, wanted, vocabulary)
        if AnnifFolder.is_one(place) or (not need_labels and any(place.glob("*.txt"))):
            return AnnifFolder(place, wanted, vocabulary)
    elif _suffix(place) in _TABLES:
        if _suffix(place) == ".tsv" and looks_like_annif_tsv(place, wanted):
            return AnnifTsv(place, wanted, vocabulary)
        return Table(_TABLES[_suffix(place)](place), wanted, vocabulary)
    raise ValueError(f"{place} is not a file of texts with labels that is known; give {_KINDS}.")


def _refuse_columns(place: Path, wanted: Wanted) -> None:
    if wanted.names_columns:
        raise ValueError(
            f"{place} has no columns, but one was named; leave out --text-column, "
            "--labels-column and --id-column."
        )


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return suffixes[-1] if suffixes else ""
