"""Data sets from files, and from their sources by name."""

from __future__ import annotations

import os

from polyseme.datasets.cache import cache_folder, resolve_dataset
from polyseme.datasets.catalogue import CatalogueEntry, find, known_datasets, recognise
from polyseme.datasets.fetch import fetch
from polyseme.datasets.folder import (
    TEST_FILES,
    TRAIN_FILES,
    Dataset,
    assemble,
    first_there,
    load_folder,
)
from polyseme.datasets.xmc_text import read_xmc_text, write_xmc_text

__all__ = [
    "CatalogueEntry",
    "Dataset",
    "cache_folder",
    "fetch",
    "find",
    "known_datasets",
    "load",
    "load_folder",
    "read_xmc_text",
    "recognise",
    "resolve_dataset",
    "write_xmc_text",
]


OFFICE_FILES = (".xlsx", ".xls", ".ods", ".docx", ".doc", ".odt", ".pdf")


def load(path: str | os.PathLike[str], *, n_threads: int | None = None) -> Dataset:
    """Load a data set, whatever its form.

    Parameters
    ----------
    path : path
        A folder with ``X.trn.npz`` and ``Y.trn.npz`` (see ``load_folder``); a folder with
        ``train.txt`` and perhaps ``test.txt`` (or ``trn.txt``, ``tst.txt``; each also with
        ``.gz``) in the text format of the Extreme Classification Repository; or one file of
        that format, whose documents are then all for training. Where there is no such path,
        the name of a data set that was fetched (see ``fetch``).
    n_threads : int, optional
        For reading text; by default one for each processor.
    """
    path = resolve_dataset(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; give a data folder or a text file.")
    if path.is_file():
        if path.suffix == ".npz":
            raise ValueError(f"{path} is one matrix; give the folder that holds X and Y.")
        if path.suffix.lower() in OFFICE_FILES:
            raise ValueError(f"{path} is not read; save its table as CSV, with a header.")
        return assemble(None, read_xmc_text(path, n_threads=n_threads), None)
    if (path / "X.trn.npz").exists():
        return load_folder(path)
    train_file = first_there(path, TRAIN_FILES)
    test_file = first_there(path, TEST_FILES)
    if train_file is None:
        raise FileNotFoundError(
            f"{path} has neither X.trn.npz nor train.txt; a data folder holds X.trn.npz and "
            "Y.trn.npz, or train.txt in the format of the Extreme Classification Repository, or "
            "texts: text.txt and labels.txt, or .txt files each with a .key or .tsv file."
        )
    train = read_xmc_text(train_file, n_threads=n_threads)
    test = None if test_file is None else read_xmc_text(test_file, n_threads=n_threads)
    return assemble(path, train, test)
