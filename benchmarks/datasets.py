"""The matrices that every system gets, written once before anything is measured."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, load_npz, save_npz

MATRICES = ("X.trn", "Y.trn", "X.tst", "Y.tst")
# One test document, for the first prediction of a new process.
FIRST_ROW = "first_row"
# The text format of the Extreme Classification Repository, for systems that read nothing else.
TEXT_FILE = "train.txt"


def read_matrix(folder: Path, name: str) -> csr_matrix:
    """Read one matrix as CSR, float32, int32 indices, sorted."""
    matrix = csr_matrix(load_npz(folder / f"{name}.npz"), dtype=np.float32)
    matrix.sum_duplicates()
    return matrix


def require_matrices(source: Path) -> None:
    """Refuse a folder that lacks some."""
    missing = [name for name in MATRICES if not (source / f"{name}.npz").is_file()]
    if missing:
        lacks = ", ".join(f"{name}.npz" for name in missing)
        raise FileNotFoundError(f"--data {source} lacks {lacks}; give a folder that has them")


def _read_given(source: Path, name: str) -> csr_matrix:
    try:
        matrix = read_matrix(source, name)
    except (EOFError, ValueError, KeyError, zipfile.BadZipFile) as problem:
        raise ValueError(f"{source / name}.npz is no sparse matrix ({problem})") from None
    if matrix.shape[0] == 0:
        raise ValueError(f"{source / name}.npz has no documents; at least one is needed")
    return matrix


def prepare(source: Path, target: Path, n_rows: int | None, text: bool) -> dict[str, Any]:
    """Write the matrices of `source` in one canonical form, and say what they are.

    Parameters
    ----------
    source, target : Path
        A folder with `X.trn.npz`, `Y.trn.npz`, `X.tst.npz` and `Y.tst.npz`; the folder to write.
    n_rows : int or None
        Keep that many documents of each part, for a quick try.
    text : bool
        Write the text format also.
    """
    require_matrices(source)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    matrices = {name: _read_given(source, name)[:n_rows] for name in MATRICES}
    for name, matrix in matrices.items():
        save_npz(target / f"{name}.npz", matrix, compressed=False)
    save_npz(target / f"{FIRST_ROW}.npz", matrices["X.tst"][:1], compressed=False)
    X, Y = matrices["X.trn"], matrices["Y.trn"]
    if text:
        write_text(target / TEXT_FILE, X, Y)
    return {
        "name": source.resolve().name,
        "is_whole": n_rows is None,
        "n_documents": X.shape[0],
        "n_test_documents": matrices["X.tst"].shape[0],
        "n_labels": Y.shape[1],
        "n_features": X.shape[1],
        "features_per_row": round(X.nnz / X.shape[0], 1),
        "labels_per_document": round(Y.nnz / Y.shape[0], 2),
    }


def write_text(path: Path, X: csr_matrix, Y: csr_matrix) -> None:
    """Write `n d L`, then a line `label,label feature:value ...` for each document."""
    with path.open("w") as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n")
        for row in range(X.shape[0]):
            labels = ",".join(map(str, Y.indices[Y.indptr[row] : Y.indptr[row + 1]]))
            inside = slice(X.indptr[row], X.indptr[row + 1])
            pairs = zip(X.indices[inside].tolist(), X.data[inside].tolist(), strict=True)
            file.write(
                f"{labels} {' '.join(f'{column}:{value:.9g}' for column, value in pairs)}\n"
            )
