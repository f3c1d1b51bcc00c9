"""How many threads to use."""

from __future__ import annotations

import os
from numbers import Integral

from polyseme.machine.processes import count_beside

__all__ = ["JOB_COUNTS", "count_jobs", "count_threads", "is_job_count"]

JOB_COUNTS = (
    "None or -1 for all cores, a whole number of at least 1, or -2 for all cores but one and so on"
)


def count_threads(n_threads: int | None) -> int:
    """Return the number asked for, or that of the cores this process may use.

    Processes that a launcher started together share them.
    """
    if n_threads is None:
        if hasattr(os, "sched_getaffinity"):
            n_cores = len(os.sched_getaffinity(0))
        else:
            n_cores = os.cpu_count() or 1
        return max(1, n_cores // count_beside())
    if isinstance(n_threads, bool) or not isinstance(n_threads, Integral) or n_threads < 1:
        raise ValueError(f"n_threads must be a positive whole number or None, not {n_threads!r}.")
    return int(n_threads)


def is_job_count(n_jobs: object) -> bool:
    """Whether `count_jobs` can make a number of threads of it."""
    if n_jobs is None or isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        return n_jobs is None
    return 0 < abs(int(n_jobs)) < 2**31


def count_jobs(n_jobs: int | None) -> int:
    """Return the threads `n_jobs` asks for, as scikit-learn counts: -2 is all cores but one."""
    if n_jobs is None:
        return count_threads(None)
    if not is_job_count(n_jobs):
        raise ValueError(f"n_jobs must be {JOB_COUNTS}, not {n_jobs!r}.")
    return int(n_jobs) if n_jobs > 0 else max(1, count_threads(None) + 1 + int(n_jobs))
