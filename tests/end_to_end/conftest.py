"""A small data folder and a model trained on it by the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.command_line import (
    N_FEATURES,
    N_LABELS,
    SMALL,
    documents,
    succeed,
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
