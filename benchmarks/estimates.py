"""How good estimates are: `python -m benchmarks.estimates --data D [D ...]`.

Asks `polyseme train --estimate`, then trains, each in a process of its own and right after one
another, and sets what was said beside what came true. Generated data are always among the jobs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.generated import Shape, write_data
from benchmarks.options import count
from benchmarks.report import table

GENERATED = {
    "generated-80k": Shape(n_labels=80_000, n_documents=90_000),
    "generated-200k": Shape(n_labels=200_000, n_documents=60_000),
    "generated-5k": Shape(n_labels=5_000, n_documents=80_000),
}
CHOICES = {
    "plain": ["--copies", "1", "--rounds", "0"],
    "two copies": ["--copies", "2"],
    "two copies, rows of both kinds": ["--copies", "2", "--training-rows", "both"],
}
MEASURES = {"seconds": "time", "peak_bytes": "memory", "model_bytes": "model"}


def run_train(arguments: list[str]) -> tuple[dict[str, Any], int]:
    """Give what `polyseme train` said, and the most memory that it had, in bytes."""
    command = [sys.executable, "-m", "polyseme", "train", *arguments, "--json"]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.PIPE)
        assert process.stderr is not None
        complaint = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} failed: {complaint}")
        said.seek(0)
        return json.load(said), usage.ru_maxrss * 1024


def compare(data: Path, options: list[str], folder: Path) -> dict[str, Any]:
    """One pair: what was estimated, and what it took."""
    estimate, _ = run_train([str(data), *options, "--estimate"])
    model = folder / "model"
    real, peak = run_train([str(data), *options, "-o", str(model)])
    phases = {name: s for name, s in real["seconds"].items() if name in estimate["seconds"]}
    came_true = {
        "seconds": sum(phases.values()),
        "peak_bytes": peak,
        "model_bytes": sum(f.stat().st_size for f in model.rglob("*") if f.is_file()),
        "phases": phases,
    }
    said = {
        "seconds": estimate["total_seconds"],
        "peak_bytes": estimate["peak_bytes"],
        "model_bytes": estimate["model_bytes"],
        "phases": {name: estimate["seconds"][name]["about"] for name in phases},
    }
    return {"estimated": said, "real": came_true}


def main() -> None:
    """Every job `--repeat` times, all jobs in turn; medians of the ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.estimates", description=__doc__)
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="folders with matrices")
    parser.add_argument(
        "--repeat",
        type=count,
        default=3,
        help="rounds; medians are reported; %(default)s by default",
    )
    parser.add_argument(
        "--threads", type=count, default=os.cpu_count(), help="all cores by default"
    )
    parser.add_argument("--output", type=Path, help="where to write JSON")
    options = parser.parse_args()
    pairs: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folders = {data.name: data for data in options.data}
        for kind, shape in GENERATED.items():
            folders[kind] = Path(name) / kind
            write_data(shape, folders[kind])
        for _ in range(options.repeat):
            for kind, data in folders.items():
                for choice, flags in CHOICES.items():
                    flags = [*flags, "--threads", str(options.threads)]
                    pair = compare(data, flags, Path(name))
                    pairs.setdefault(f"{kind}, {choice}", []).append(pair)
    print("\n".join(table(rows(pairs))))
    if options.output:
        options.output.write_text(json.dumps(pairs, indent=1) + "\n")


def rows(pairs: dict[str, list[dict[str, Any]]]) -> list[list[str]]:
    """Make a line a job: estimated / real, and how often the real one was within the range."""
    lines = [["estimated / real", *MEASURES.values(), "within the range"]]
    for job, of_job in pairs.items():
        ratios = [
            median(p["estimated"][key]["about"] / p["real"][key] for p in of_job)
            for key in MEASURES
        ]
        within = sum(
            p["estimated"][key]["low"] <= p["real"][key] <= p["estimated"][key]["high"]
            for p in of_job
            for key in MEASURES
        )
        shares = f"{within} of {len(of_job) * len(MEASURES)}"
        lines.append([job, *(f"{ratio:.2f}" for ratio in ratios), shares])
    return lines


if __name__ == "__main__":
    main()
