"""Data sets from files."""

from __future__ import annotations

import os
from pathlib import Path

from polyseme.datasets.folder import Dataset, assemble, load_folder
from polyseme.datasets.xmc_text import read_xmc_text, write_xmc_text

__all__ = ["Dataset", "load", "load_folder", "read_xmc_text", "write_xmc_text"]

TRAIN_FILES = ("train.txt", "trn.txt", "train.txt.gz", "trn.txt.gz")
TEST_FILES = ("test.txt", "tst.txt", "test.txt.gz", "tst.txt.gz")


def load(path: str | os.PathLike[str], *, n_threads: int | None = None) -> Dataset:
    """Load a data set, whatever its form.

    Parameters
    ----------
    path : path
        A folder with ``X.trn.npz`` and ``Y.trn.npz`` (see ``load_folder``); a folder with
        ``train.txt`` and perhaps ``test.txt`` (or ``trn.txt``, ``tst.txt``; each also with
        ``.gz``) in the text format of the Extreme Classification Repository; or one file of
        that format, whose documents are then all for training.
    n_threads : int, optional
        For reading text; by default one for each processor.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; give a data folder or a text file.")
    if path.is_file():
        if path.suffix == ".npz":
            raise ValueError(f"{path} is one matrix; give the folder that holds X and Y.")
        return assemble(None, read_xmc_text(path, n_threads=n_threads), None)
    if (path / "X.trn.npz").exists():
        return load_folder(path)
    train_file = _first_there(path, TRAIN_FILES)
    test_file = _first_there(path, TEST_FILES)
    if train_file is None:
        raise FileNotFoundError(
            f"{path} has neither X.trn.npz nor train.txt; a data folder holds X.trn.npz and "
            "Y.trn.npz, or train.txt in the format of the Extreme Classification Repository."
        )
    train = read_xmc_text(train_file, n_threads=n_threads)
    test = None if test_file is None else read_xmc_text(test_file, n_threads=n_threads)
    return assemble(path, train, test)


def _first_there(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)
