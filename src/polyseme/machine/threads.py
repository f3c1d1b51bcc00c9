"""How many threads to use."""

from __future__ import annotations

import os
from numbers import Integral

__all__ = ["count_threads"]


def count_threads(n_threads: int | None) -> int:
    """Return the number asked for, or that of the cores this process may use."""
    if n_threads is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    if isinstance(n_threads, bool) or not isinstance(n_threads, Integral) or n_threads < 1:
        raise ValueError(f"n_threads must be a positive whole number or None, not {n_threads!r}.")
    return int(n_threads)
