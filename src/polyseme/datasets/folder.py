"""A data set as a folder of SciPy matrices and lists of names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import scipy.sparse as sp

from polyseme.inputs.documents import Documents
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels, refuse_mostly_absent_labels
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows

__all__ = ["Dataset", "load_folder"]

TRAIN_FILES = ("train.txt", "trn.txt", "train.txt.gz", "trn.txt.gz")
TEST_FILES = ("test.txt", "tst.txt", "test.txt.gz", "tst.txt.gz")

Part: TypeAlias = tuple[SparseRows, SparsePattern]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Documents with their labels, split into training and test.

    Attributes
    ----------
    X_train, Y_train : csr_array, shape (n_train, n_features) and (n_train, n_labels)
        Features (float32) and labels (0/1).
    X_test, Y_test : csr_array or None
        The same for the test documents, where there are any.
    label_names, feature_names : list of str or None
        In the order of the columns.
    train_text_file, test_text_file : Path or None
        One document per line.
    """

    X_train: sp.csr_array
    Y_train: sp.csr_array
    X_test: sp.csr_array | None = None
    Y_test: sp.csr_array | None = None
    label_names: list[str] | None = None
    feature_names: list[str] | None = None
    train_text_file: Path | None = None
    test_text_file: Path | None = None

    @cached_property
    def train_texts(self) -> list[str] | None:
        """The text of each training document; read when first asked for."""
        return _read_lines(self.train_text_file, self.X_train.shape[0], "training documents")

    @cached_property
    def test_texts(self) -> list[str] | None:
        """The text of each test document; read when first asked for."""
        n_documents = 0 if self.X_test is None else self.X_test.shape[0]
        return _read_lines(self.test_text_file, n_documents, "test documents")

    def train_documents(self, *, with_texts: bool) -> Any:
        """Return `X_train`, or with texts `Documents` that have both; for any estimator."""
        return (
            _with_texts(self.X_train, self.train_texts, "X.trn.txt")
            if with_texts
            else self.X_train
        )

    def test_documents(self, *, with_texts: bool) -> Any:
        """Do the same for the test documents."""
        return (
            _with_texts(self.X_test, self.test_texts, "X.tst.txt") if with_texts else self.X_test
        )


def load_folder(path: str | os.PathLike[str]) -> Dataset:
    """Load a folder with ``X.trn.npz``, ``Y.trn.npz`` and, if there, their companions.

    The companions are ``X.tst.npz`` and ``Y.tst.npz`` (test), ``labels.txt`` and
    ``features.txt`` (one name per line, in column order), ``X.trn.txt`` and ``X.tst.txt`` (one
    document per line). Matrices are as written by ``scipy.sparse.save_npz``.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder; give one that holds X.trn.npz.")
    train = _load_part(folder, "trn")
    test = _load_part(folder, "tst") if (folder / "X.tst.npz").exists() else None
    return assemble(folder, train, test)


def assemble(folder: Path | None, train: Part, test: Part | None) -> Dataset:
    """Put the parts of a data set together with the names and texts that lie in its folder."""
    X_train, Y_train = train
    X_test, Y_test = test or (None, None)
    if X_test is not None and Y_test is not None:
        for what, n_train, n_test in (
            ("features", X_train.n_columns, X_test.n_columns),
            ("labels", Y_train.n_columns, Y_test.n_columns),
        ):
            if n_train != n_test:
                raise ValueError(
                    f"{folder}: the training documents have {n_train} {what}, the test documents "
                    f"{n_test}; both need the same columns."
                )

    def companion(name: str) -> Path | None:
        return folder / name if folder is not None and (folder / name).exists() else None

    return Dataset(
        X_train=X_train.to_scipy(),
        Y_train=Y_train.to_scipy(),
        X_test=None if X_test is None else X_test.to_scipy(),
        Y_test=None if Y_test is None else Y_test.to_scipy(),
        label_names=_read_lines(companion("labels.txt"), Y_train.n_columns, "labels"),
        feature_names=_read_lines(companion("features.txt"), X_train.n_columns, "features"),
        train_text_file=companion("X.trn.txt"),
        test_text_file=companion("X.tst.txt"),
    )


def first_there(folder: Path, names: tuple[str, ...]) -> Path | None:
    """Return the first of several files that is in a folder."""
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _load_part(folder: Path, part: str) -> Part:
    features_file, labels_file = folder / f"X.{part}.npz", folder / f"Y.{part}.npz"
    X = check_features(_load_npz(features_file), name=str(features_file)).all_sparse()
    if X.n_rows == 0 and part == "tst":
        raise ValueError(
            f"{features_file} has no documents, so that the test part is empty; remove "
            f"{features_file.name} and {labels_file.name} to go without one."
        )
    try:
        Y, _ = check_labels(_load_npz(labels_file), X.n_rows)
        if part == "trn":
            refuse_mostly_absent_labels(Y)
    except ValueError as error:
        raise ValueError(f"{labels_file}: {error}") from None
    return X, Y


def _with_texts(X: sp.csr_array | None, texts: list[str] | None, file_name: str) -> Any:
    if X is None:
        return None
    if texts is None:
        raise ValueError(
            f"this method reads texts, and the data have none; put {file_name} with a document a "
            "line beside the matrices."
        )
    return Documents(SparseRows.from_scipy(X), texts=texts)


def _load_npz(file: Path) -> Any:
    if not file.is_file():
        raise FileNotFoundError(
            f"{file.parent} has no {file.name}; a data folder holds X.trn.npz and Y.trn.npz, and "
            "X.tst.npz and Y.tst.npz for the test documents."
        )
    try:
        with file.open("rb") as opened:  # NumPy leaves a damaged file open
            return sp.load_npz(opened)
    except (PermissionError, MemoryError):
        raise
    except Exception as error:  # there is no end to what SciPy raises of a damaged file
        raise ValueError(
            f"{file} is not a sparse matrix as scipy.sparse.save_npz writes it; make it again."
        ) from error


def _read_lines(file: Path | None, n_expected: int, what: str) -> list[str] | None:
    if file is None:
        return None
    lines = read_lines(file)
    if len(lines) != n_expected:
        raise ValueError(
            f"{file} has {len(lines)} lines, but there are {n_expected} {what}; it needs one line "
            "for each."
        )
    return lines


def read_lines(file: Path) -> list[str]:
    """Read names or texts, one per line."""
    try:
        text = file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8 text ({error.reason}); convert it.") from None
    # Not splitlines: names and texts may hold its rarer line breaks.
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    return lines if text else []
