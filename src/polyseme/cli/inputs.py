"""Features of documents from whatever file holds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyseme import datasets

__all__ = ["load_features"]


def load_features(path: Path, n_threads: int | None) -> Any:
    """Read features from a matrix file (.npz, .npy), a data folder or a text file."""
    if path.suffix not in (".npz", ".npy"):
        dataset = datasets.load(path, n_threads=n_threads)
        return dataset.X_test if dataset.X_test is not None else dataset.X_train
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
