"""wrk: sends requests over a number of connections, one after the other on each."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.processes import MeasurementError

SCRIPT = Path(__file__).with_name("load.lua")
MARK = "figures: "


def find_tool() -> str:
    """Return where wrk is, or say how to get it."""
    found = shutil.which("wrk")
    if found is None:
        raise FileNotFoundError("the load tool wrk is missing; install it with: apt install wrk")
    return found


def put_under_load(url: str, bodies: Path, n_clients: int, seconds: float) -> dict[str, Any]:
    """Ask as fast as answers come, and return counts and latencies.

    Parameters
    ----------
    url : str
        What to POST to.
    bodies : Path
        A body a line; sent in turn.
    n_clients : int
        Connections; each waits for its answer before it asks again.
    """
    # One thread of wrk is enough for far more than a Python server can answer.
    command = [find_tool(), "-t1", f"-c{n_clients}", f"-d{max(1, round(seconds))}s"]
    command += ["-s", str(SCRIPT), url, "--", str(bodies.resolve()), str(n_clients)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MeasurementError(f"wrk failed: {(done.stderr or done.stdout).strip()}")
    return read_figures(done.stdout)


def read_figures(printed: str) -> dict[str, Any]:
    """Return what `load.lua` printed at the end, with requests a second."""
    lines = [line for line in printed.splitlines() if line.startswith(MARK)]
    if not lines:
        raise MeasurementError(f"wrk printed no figures: {printed.strip()[-200:]!r}")
    figures: dict[str, Any] = json.loads(lines[-1].removeprefix(MARK))
    figures["per_second"] = figures["n_requests"] / figures["seconds"]
    figures["n_errors"] = sum(figures["errors"].values())
    return figures
