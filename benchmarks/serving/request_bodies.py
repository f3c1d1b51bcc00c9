"""What clients ask about: the test documents of a data folder."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from scipy.sparse import csr_matrix


def pairs_of(X: csr_matrix, row: int) -> list[list[float]]:
    """Return a row as pairs of number and value, as `/v1/suggest` takes them."""
    inside = slice(X.indptr[row], X.indptr[row + 1])
    values = [round(value, 6) for value in X.data[inside].tolist()]
    return [list(pair) for pair in zip(X.indices[inside].tolist(), values, strict=True)]


def feature_bodies(X: csr_matrix, n: int) -> list[dict[str, Any]]:
    """Return requests for the first `n` rows, or for all if there are fewer."""
    return [{"features": pairs_of(X, row)} for row in range(min(n, X.shape[0]))]


def text_bodies(texts: Path, n: int) -> list[dict[str, Any]]:
    """Return requests for the first `n` lines of a file."""
    with texts.open(encoding="utf-8") as lines:
        return [{"text": line.rstrip("\n")} for line in islice(lines, n)]


def write_bodies(path: Path, bodies: Iterable[dict[str, Any]]) -> None:
    """Write JSON, one body a line."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(body, separators=(",", ":")) + "\n" for body in bodies)
