"""Small data, of matrices and of texts, and models trained on them by the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import polyseme
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.senses import SenseLayer
from tests.end_to_end.command_line import (
    N_FEATURES,
    N_LABELS,
    SMALL,
    SMALL_FOR_TEXTS,
    documents,
    succeed,
    write_csv,
    write_data,
)


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "small"
    write_data(folder, documents(120, seed=0), documents(30, seed=1))
    (folder / "labels.txt").write_text("".join(f"label {i}\n" for i in range(N_LABELS)))
    (folder / "features.txt").write_text("".join(f"word{i}\n" for i in range(N_FEATURES)))
    return folder


@pytest.fixture(scope="session")
def model(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "small"
    succeed("train", data, "-o", path, *SMALL)
    return path


@pytest.fixture(scope="session")
def ambiguous(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model with known senses: label 3 has two, label 5 rather one, others one."""
    loaded = polyseme.load(model)
    loaded.senses_ = SenseLayer(
        labels=np.array([3, 5], np.int32),
        probabilities=np.array([0.9, 0.2], np.float32),
        starts=np.array([0, 2, 5]),
        counts=np.array([15, 5, 4, 3, 2]),
        words=_one_each([6, 7, 10, 11, 12], N_FEATURES),
        beside=_one_each([0, 1, 7, 8, 9], N_LABELS),
        typical=np.array([[9, 8], [7, -1], [6, 5], [4, 3], [2, 1]]),
        calibration={
            "reliability": [
                {"from": 0.0, "to": 0.5, "n": 30, "predicted": 0.1, "observed": 0.15},
                {"from": 0.5, "to": 0.8, "n": 10, "predicted": 0.6, "observed": 0.5},
                {"from": 0.8, "to": 1.0, "n": 30, "predicted": 0.9, "observed": 1.0},
            ]
        },
    )
    path = tmp_path_factory.mktemp("models") / "ambiguous"
    loaded.save(path)
    return path


@pytest.fixture(scope="session")
def articles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "articles.csv", 800, seed=0)


@pytest.fixture(scope="session")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "new.csv", 60, seed=1)


@pytest.fixture(scope="session")
def text_model(articles: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "articles"
    succeed("train", articles, "-o", path, *SMALL_FOR_TEXTS)
    return path


def _one_each(columns: list[int], n_columns: int) -> SparseRows:
    n = len(columns)
    return SparseRows(
        np.arange(n + 1), np.array(columns, np.int32), np.ones(n, np.float32), n_columns
    )
