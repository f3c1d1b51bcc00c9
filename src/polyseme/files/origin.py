"""Where a model comes from: when it was trained, on what, and by which versions."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from datetime import datetime, timezone
from importlib import metadata
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyseme.files.stored_model import StoredModel

__all__ = ["Fingerprint", "fingerprint_of", "now", "origin_now", "stored_origin"]

PACKAGES = ("polyseme", "numpy", "scipy", "scikit-learn")


class Fingerprint:
    """A hash of texts and their labels, the same for the same ones in the same order."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, text: str, labels: Iterable[str]) -> None:
        """Take one document more."""
        for part in (text, *labels, ""):
            self._hash.update(part.encode("utf-8", "surrogatepass") + b"\0")

    def __str__(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"


def fingerprint_of(*matrices: Any) -> str:
    """Return a hash of matrices: arrays, sparse ones, or tuples of these."""
    found = hashlib.sha256()
    for matrix in matrices:
        for part in matrix if isinstance(matrix, tuple) else (matrix,):
            arrays = [part]
            if sp.issparse(part):
                rows = sp.csr_array(part)
                arrays = [rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data]
            for array in arrays:
                found.update(np.ascontiguousarray(array).data.cast("B"))
    return f"sha256:{found.hexdigest()}"


def now() -> str:
    """Return date and time, UTC."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def origin_now(data: str | None = None, fingerprint: str | None = None) -> dict[str, Any]:
    """Return what is known of a training that has just ended.

    Parameters
    ----------
    data : str, optional
        What the data are called, without where they lie.
    fingerprint : str, optional
    """
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "unknown"
    return {
        "trained_at": now(),
        "data": data,
        "fingerprint": fingerprint,
        "versions": versions,
    }


def stored_origin(stored: StoredModel) -> dict[str, Any]:
    """Return where a stored model comes from; models of before do not say."""
    origin = stored.description.get("origin", {})
    versions = origin.get("versions", {}) if isinstance(origin, dict) else None
    if not isinstance(versions, dict):
        raise stored.damaged("its origin is not one")
    said = [origin.get(name) for name in ("trained_at", "updated_at", "data", "fingerprint")]
    if not all(one is None or isinstance(one, str) for one in (*said, *versions.values())):
        raise stored.damaged("its origin is not one")
    return dict(origin)
