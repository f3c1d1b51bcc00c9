"""Documents from whatever holds them, as the model that is asked takes them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np
import scipy.sparse as sp

from polyseme import datasets
from polyseme.cli.corpus_options import (
    PLAIN_FORMATS,
    is_named_text,
    opened_corpus,
    option_of,
    refuse_text_options,
)
from polyseme.cli.errors import note
from polyseme.files.model_folder import is_model
from polyseme.tagger import Tagger
from polyseme.text.corpora import Corpus, guess_format, is_corpus
from polyseme.text.corpora.guessing import format_by_name
from polyseme.text.corpora.lines import lines_of
from polyseme.text.features import in_batches
from polyseme.text.predictions import TEXTS_AT_ONCE, Batch, batches_of

__all__ = [
    "STDIN",
    "Documents",
    "Labelled",
    "is_read",
    "read_documents",
    "read_labelled",
    "refuse_swapped",
]

STDIN = Path("-")
MATRICES = (".npz", ".npy")
# Formats that are guessed, as people call them
SPOKEN = {
    **{"csv": "CSV", "tsv": "TSV", "jsonl": "JSON lines", "parquet": "Parquet"},
    **{"excel": "an Excel file", "fasttext": "lines of fastText"},
}
# What says how a file is read, and so nothing about a text on the command line
OF_FILES = ("lines", "format", "encoding", "text_columns", "id_column", "labels_file")


@dataclass(frozen=True)
class Documents:
    """Documents to find labels for.

    Attributes
    ----------
    batches : iterable of Batch
    is_single : bool
        Whether there is one document, not one of a row.
    """

    batches: Iterable[Batch]
    is_single: bool = False


@dataclass(frozen=True)
class Labelled:
    """Documents whose labels are known: records of texts, or two matrices.

    Attributes
    ----------
    documents, labels
        As `Tagger.evaluate` and `Tagger.senses` take them.
    texts : list of str or None
        What rows of a matrix stand for, if that is known.
    """

    documents: Any
    labels: Any = None
    texts: Any = None


def refuse_swapped(model: Path, data: Path | None) -> None:
    """Say so where the model stands in the place of the data, and they in its place."""
    if data is not None and is_model(data) and not is_model(model):
        raise ValueError(f"{model} is not a model, but {data} is; give the model first.")


def read_labelled(
    tagger: Tagger,
    data: Path,
    options: dict[str, Any],
    n_threads: int | None,
    *,
    wants_test: bool = False,
) -> Labelled:
    """Read documents with labels.

    Parameters
    ----------
    wants_test : bool
        Take the test part where there is one; texts have no parts.
    """
    if tagger.takes_texts:
        reading = tagger.model.reading_
        corpus = opened_corpus(data, options, like=reading)
        _note_missing_text(corpus, str(data), options, reading)
        return Labelled(corpus)
    refuse_text_options(data, options)
    _require_matrices(data)
    dataset = datasets.load(data, n_threads=n_threads)
    _require_same_labels(tagger, dataset, data)
    with_texts = tagger.classifier.reads_texts
    if wants_test and dataset.Y_test is not None:
        return Labelled(dataset.test_documents(with_texts=with_texts), dataset.Y_test)
    if wants_test:
        note(f"{data} has no test part; all of it is used.")
    documents = dataset.train_documents(with_texts=with_texts)
    return Labelled(documents, dataset.Y_train, dataset.train_texts)


def read_documents(
    tagger: Tagger,
    source: Path | None,
    options: dict[str, Any],
    n_threads: int | None,
) -> Documents:
    """Read documents without labels, from a file, a folder or stdin, or take the option ``text``.

    With the option ``lines`` each line is a text, where the file does not say otherwise.
    """
    if not tagger.takes_texts:
        if source is None:
            raise click.UsageError("Missing argument 'INPUT': this is a model of matrices.")
        refuse_text_options(source, options)
        _require_matrices(source)
        return Documents([Batch(_features(source, n_threads, tagger.classifier.reads_texts))])
    if options["text"]:
        if source is not None:
            raise click.UsageError("--text and INPUT exclude each other.")
        for name in OF_FILES:
            if options.get(name):
                raise click.UsageError(f"{option_of(name)} is for files, not for --text.")
        return Documents([Batch(list(options["text"]))], is_single=len(options["text"]) == 1)
    if source is None or source == STDIN:
        return _of_stdin(options, tagger.model.reading_)
    if not source.exists():
        raise FileNotFoundError(
            f"{source} is not a file or folder of texts; if it is the text itself, give it with "
            "--text."
        )
    return _of_file(source, str(source), options, tagger.model.reading_)


def _of_file(path: Path, name: str, options: dict[str, Any], like: dict[str, Any]) -> Documents:
    """Return the documents of a file; one without a known ending is looked into."""
    wanted, encoding = options["format"], options["encoding"]
    is_plain = wanted in PLAIN_FORMATS
    if path.suffix.lower() in MATRICES:
        raise ValueError(
            f"{name} is a matrix of features ({path.suffix}), and the model is one of texts; give "
            "texts."
        )
    if not is_plain and (path.is_dir() or format_by_name(path) or is_named_text(options)):
        if options["lines"] and options["labels_file"] is None:
            raise ValueError(
                f"--lines is for plain text, and {name} is none; leave it out, or say --format "
                "lines to take each line as a text."
            )
        corpus = opened_corpus(path, options, need_labels=False, like=like)
        note(f"{name}: {corpus.description}.")
        _note_missing_text(corpus, name, options, like)
        _note_missing_ids(corpus, name, like)
        return Documents(batches_of(corpus))
    guessed = guess_format(path, encoding, like)
    by_line = options["lines"] or wanted == "lines"
    if by_line and guessed is not None:
        said = "--lines" if options["lines"] else "--format lines"
        note(f"{name} looks like {SPOKEN[guessed]}; as you say {said}, all of it is text.")
    if is_plain or by_line or guessed is None:
        for option in ("text_columns", "labels_column", "id_column"):
            if options.get(option):
                raise click.UsageError(
                    f"{option_of(option)} is for tables, and {name} is plain text; say what it is "
                    "with --format."
                )
        return _of_texts(lines_of(path, encoding), by_line)
    corpus = opened_corpus(path, {**options, "format": guessed}, need_labels=False, like=like)
    note(
        f"{name} looks like {corpus.description}; read as that. --format text takes it as one "
        "text, --format lines as one per line."
    )
    _note_missing_text(corpus, name, options, like)
    _note_missing_ids(corpus, name, like)
    return Documents(batches_of(corpus))


def _note_missing_text(
    corpus: Corpus, name: str, options: dict[str, Any], like: dict[str, Any]
) -> None:
    used = corpus.reading.get("text_columns", ())
    here = {column.strip().lower() for column in used}
    missing = [one for one in like.get("text_columns") or () if one.strip().lower() not in here]
    if used and missing and not options["text_columns"]:
        lost, only = (" and ".join(map(repr, columns)) for columns in (missing, used))
        note(
            f"{name} has no column {lost}, which the model was trained with; its texts are those "
            f"of {only} (--text-column)."
        )


def _note_missing_ids(corpus: Corpus, name: str, like: dict[str, Any]) -> None:
    usual = like.get("id_column")
    if usual is not None and corpus.reading.get("id_column", usual) is None:
        note(
            f"{name} has no column of ids such as {usual!r} of the training documents; "
            "--id-column names one."
        )


def _of_stdin(options: dict[str, Any], like: dict[str, Any]) -> Documents:
    """Return the documents of stdin, which is kept in a file: most formats are read twice."""
    if sys.stdin is None:
        raise ValueError("stdin is closed; give a file as INPUT.")
    folder = click.get_current_context().with_resource(TemporaryDirectory(prefix="polyseme-"))
    path = Path(folder) / "stdin"
    try:
        with open(path, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
    except OSError as error:
        raise OSError(
            f"cannot keep what stdin has in {path.parent.parent}: {error.strerror}; name another "
            "folder with TMPDIR, or give a file as INPUT."
        ) from error
    with _called(path, "stdin"):
        documents = _of_file(path, "stdin", options, like)
        if documents.is_single and not any(text.strip() for [text], _ in documents.batches):
            raise ValueError("there is no text on stdin; give some, or a file as INPUT.")

    def batches() -> Iterator[Batch]:
        with _called(path, "stdin"):
            yield from documents.batches

    return Documents(batches(), documents.is_single)


def is_read(output: Path, source: Path | None) -> bool:
    """Say whether a file that is to be written is the very one that is read."""
    try:
        if source is not None and source != STDIN:
            return output.samefile(source)
        return output.is_file() and os.path.samestat(output.stat(), os.fstat(0))
    except OSError:  # one of them is not there
        return False


@contextmanager
def _called(path: Path, name: str) -> Iterator[None]:
    """Call a file by the name that users know in what is said against it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(str(error).replace(str(path), name)) from error


def _of_texts(lines: Iterator[str], by_line: bool) -> Documents:
    """Return the lines as a text each, or all of them as one."""
    if not by_line:
        return Documents([Batch(["".join(lines)])], is_single=True)
    texts = (line.rstrip("\r\n") for line in lines)
    return Documents(Batch(batch) for batch in in_batches(texts, TEXTS_AT_ONCE))


def _require_matrices(path: Path) -> None:
    if is_corpus(path):
        raise ValueError(
            f"{path} holds texts, and the model was trained on matrices of features; give such "
            "matrices, or train a model on texts."
        )


def _features(path: Path, n_threads: int | None, with_texts: bool) -> Any:
    """Read features from a matrix file (.npz, .npy), a data folder or a text file."""
    if path.suffix not in MATRICES:
        dataset = datasets.load(path, n_threads=n_threads)
        has_test = dataset.X_test is not None
        find = dataset.test_documents if has_test else dataset.train_documents
        return find(with_texts=with_texts)
    try:
        with open(path, "rb") as stream:
            return sp.load_npz(stream) if path.suffix == ".npz" else np.load(stream)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # there is no end to what SciPy raises of a damaged file
        raise ValueError(
            f"{path} is not a matrix as scipy.sparse.save_npz or numpy.save writes it; make it "
            "again."
        ) from error


def _require_same_labels(tagger: Tagger, dataset: datasets.Dataset, path: Path) -> None:
    n_labels, n_known = dataset.Y_train.shape[1], tagger.classifier.n_labels_
    if n_labels != n_known:
        raise ValueError(
            f"{path} has {n_labels} labels and the model {n_known}; take the data set that the "
            "model was trained on."
        )
    known, given = tagger.classifier.label_names_, dataset.label_names
    if known is not None and given is not None and list(known) != given:
        raise ValueError(f"the labels of {path} have other names than those of the model.")
