"""Start a measurement in a process of its own, watch its memory, and read what it says."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.memory import resident
from benchmarks.runner import STARTED

ROOT = Path(__file__).resolve().parent.parent
GIB = 2.0**30


class MeasurementError(Exception):
    """A process ended badly, or was ended because it took too much memory."""


def measure(
    python: Path | str,
    arguments: list[str],
    n_threads: int,
    log: Path,
    max_gib: float = 16.0,
) -> dict[str, Any]:
    """Run `python -m benchmarks.runner ...` and give the JSON it prints.

    Parameters
    ----------
    python : Path or str
        The interpreter.
    arguments : list of str
        What comes after `benchmarks.runner`.
    n_threads : int
        Also told to the thread pools that take it from the environment.
    log : Path
        Where stderr goes.
    max_gib : float
        The process is ended before its resident memory passes this.
    """
    pools = ("OMP", "OPENBLAS", "MKL", "RAYON")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONHASHSEED": "0",
        **{f"{pool}_NUM_THREADS": str(n_threads) for pool in pools},
    }
    with log.open("w") as errors:
        environment[STARTED] = repr(time.monotonic())
        process = subprocess.Popen(
            [str(python), "-m", "benchmarks.runner", *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
        )
        stopped = _watch(process, max_gib)
    printed = process.communicate()[0]
    if stopped:
        raise MeasurementError(f"stopped at {stopped:.1f} GiB, the limit is {max_gib:g}")
    if process.returncode != 0 or not printed:
        lines = log.read_text(errors="replace").strip().splitlines() or ["no message"]
        raise MeasurementError(f"exit code {process.returncode}: {lines[-1]}")
    measured: dict[str, Any] = json.loads(printed)
    return measured


def _watch(process: subprocess.Popen[str], max_gib: float) -> float:
    """Wait for the end; give the memory in GiB if it came too close to the limit, else 0."""
    while True:
        try:
            process.wait(timeout=0.2)
            return 0.0
        except subprocess.TimeoutExpired:
            pass
        try:
            in_use = resident(process.pid) / GIB
        except OSError:
            continue
        if in_use > 0.97 * max_gib:
            process.kill()
            return in_use
