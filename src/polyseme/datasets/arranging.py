"""From the many layouts of published archives to the data folder that ``load`` reads."""

from __future__ import annotations

import gzip
import os
import zipfile
from itertools import zip_longest
from pathlib import Path

import numpy as np

from polyseme.datasets.folder import TEST_FILES, TRAIN_FILES, first_there

__all__ = ["Sizes", "arrange", "sizes_in_words", "sizes_of"]

Sizes = tuple[int, int | None, int, int]
SEPARATE = (("trn", "train"), ("tst", "test"))


def arrange(unpacked: Path, folder: Path) -> None:
    """Move the files of an unpacked archive into a data folder.

    Known are matrices (``Y.trn.npz`` with ``X.trn.npz`` beside or below it), text of the Extreme
    Classification Repository (``train.txt`` or ``..._train.txt``), and its newer form with
    features and labels apart (``trn_X_Xf.txt`` and ``trn_X_Y.txt``).

    Parameters
    ----------
    unpacked : Path
        What was in the archive. Its files are moved, not copied.
    folder : Path
        An empty folder.
    """
    files = sorted(
        (file for file in unpacked.rglob("*") if file.is_file() and not file.name.startswith(".")),
        key=lambda file: (len(file.parts), file),
    )
    if not (_move_matrices(files, folder) or _move_text(files, folder) or _join(files, folder)):
        raise ValueError(
            "there is no data set in it that is known how to read: neither Y.trn.npz with "
            "X.trn.npz, nor train.txt, nor trn_X_Xf.txt with trn_X_Y.txt."
        )


def sizes_of(folder: Path) -> Sizes:
    """Return training documents, test documents, labels and features without reading the data."""
    if (folder / "X.trn.npz").exists():
        n_train, n_features = _shape(folder / "X.trn.npz")
        n_labels = _shape(folder / "Y.trn.npz")[1]
        X_test = folder / "X.tst.npz"
        n_test = _shape(X_test)[0] if X_test.exists() else None
        return n_train, n_test, n_labels, n_features
    train_file, test_file = first_there(folder, TRAIN_FILES), first_there(folder, TEST_FILES)
    train, test = _header(train_file), _header(test_file)
    if len(train) != 3 or (test_file is not None and len(test) != 3):
        raise ValueError(
            "there is neither X.trn.npz nor a train.txt that begins with 'n_documents n_features "
            "n_labels'."
        )
    n_train, n_features, n_labels = train
    return n_train, test[0] if test else None, n_labels, n_features


def sizes_in_words(sizes: tuple[int | None, ...], missing: str = "no") -> str:
    """Say how many documents, labels and features; `missing` stands for what is ``None``."""
    counts = [missing if size is None else f"{size:,}" for size in sizes]
    what = ("training documents", "test documents", "labels", "features")
    parts = [f"{count} {kind}" for count, kind in zip(counts, what, strict=True)]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _move_matrices(files: list[Path], folder: Path) -> bool:
    labels = _first(files, "Y.trn.npz")
    if labels is None:
        return False
    home = labels.parent
    inside = [file for file in files if file.is_relative_to(home)]
    for name in ("X.trn.npz", "X.tst.npz", "Y.trn.npz", "Y.tst.npz", "X.trn.txt", "X.tst.txt"):
        if (file := _first(inside, name)) is not None:
            os.replace(file, folder / name)
    for name in ("labels.txt", "output-items.txt"):
        file = _first(inside, name)
        # Names that do not fit would keep the data from being read.
        if file is not None and _count_names(file) == _shape(folder / "Y.trn.npz")[1]:
            os.replace(file, folder / "labels.txt")
            break
    return (folder / "X.trn.npz").exists()


def _move_text(files: list[Path], folder: Path) -> bool:
    for _, part in SEPARATE:
        for file in files:
            if file.name == f"{part}.txt" or file.name.endswith(f"_{part}.txt"):
                os.replace(file, folder / f"{part}.txt")
                break
    return (folder / "train.txt").exists()


def _join(files: list[Path], folder: Path) -> bool:
    """Put features and labels, a document a line in each of two files, into one."""
    for short, part in SEPARATE:
        features, labels = _first(files, f"{short}_X_Xf.txt"), _first(files, f"{short}_X_Y.txt")
        if features is not None and labels is not None:
            _join_lines(features, labels, folder / f"{part}.txt")
    return (folder / "train.txt").exists()


def _join_lines(features: Path, labels: Path, joined: Path) -> None:
    header = _header(features) + _header(labels)
    if len(header) != 4:
        raise ValueError(f"{features.name} and {labels.name} need a header 'n_rows n_columns'.")
    n_rows, n_features, n_label_rows, n_labels = header
    if n_rows != n_label_rows:
        raise ValueError(
            f"{features.name} has {n_rows} rows, {labels.name} {n_label_rows}; both need the same."
        )
    with features.open("rb") as x, labels.open("rb") as y, joined.open("wb") as out:
        next(x), next(y)
        out.write(b"%d %d %d\n" % (n_rows, n_features, n_labels))
        for x_line, y_line in zip_longest(x, y, fillvalue=b""):
            names = b",".join(pair.partition(b":")[0] for pair in y_line.split())
            out.write(names + b" " + x_line.strip() + b"\n")


def _first(files: list[Path], name: str) -> Path | None:
    return next((file for file in files if file.name == name), None)


def _shape(file: Path) -> tuple[int, int]:
    """Read the shape of a sparse matrix and nothing else of it."""
    try:
        with np.load(file) as arrays:
            n_rows, n_columns = arrays["shape"].tolist()
            return int(n_rows), int(n_columns)
    except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{file.name} is not a sparse matrix as scipy.sparse.save_npz writes it."
        ) from error


def _header(file: Path | None) -> tuple[int, ...]:
    """Read the numbers in the first line of a text file; nothing if it holds anything else."""
    if file is None:
        return ()
    with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
        fields = stream.readline(200).split()
    return tuple(map(int, fields)) if all(field.isdigit() for field in fields) else ()


def _count_names(file: Path) -> int | None:
    """Count the lines of a text file; ``None`` if it is not UTF-8."""
    try:
        with file.open(encoding="utf-8", newline="\n") as stream:
            return sum(1 for _ in stream)
    except UnicodeDecodeError:
        return None
