"""Start servers in processes of their own, all in one environment."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import ROOT, MeasurementError
from benchmarks.serving.host import HARNESS_PACKAGES


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    url: str
    pid: int


@contextmanager
def running(
    kind: str, model: Path, *, python: Path, n_threads: int, log: Path
) -> Iterator[Running]:
    """Serve one model with one worker process until the end of the block.

    Parameters
    ----------
    kind : {'polyseme', 'libpecos', 'libpecos-1', 'none'}
        How to load the model.
    python : Path
        The interpreter; packages that it lacks are taken from this one.
    log : Path
        Where stderr goes.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"}
    if python != Path(sys.executable):
        environment[HARNESS_PACKAGES] = sysconfig.get_path("platlib")
    command = [str(python), "-m", "benchmarks.serving.host", kind, str(model)]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [*command, "--threads", str(n_threads)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
        ) as process,
    ):
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            if not url:
                lines = log.read_text(errors="replace").strip().splitlines() or ["no message"]
                raise MeasurementError(f"the server for {model} did not start: {lines[-1]}")
            yield Running(url, process.pid)
        finally:
            process.terminate()
