"""How good estimates are: `python -m benchmarks.estimates --data D [D ...]`.

Asks `polyseme train --estimate`, then trains, each in a process of its own and right after one
another, and sets what was said beside what came true. Generated data are among the jobs, unless
`--encoder` names one: then texts are encoded, of as many documents as `--documents` says.
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

import scipy.sparse as sp

from benchmarks.generated import Shape, write_data
from benchmarks.neural import part_of
from benchmarks.options import count
from benchmarks.report import table
from polyseme import datasets

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
OF_ENCODERS = {
    "an encoder as it is": ["finetuning=none"],
    "an encoder, 40 steps": ["finetuning=one-go", "n_steps=40"],
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
    parser.add_argument(
        "--encoder", help="folder of a transformer, for estimates of X-Transformer"
    )
    parser.add_argument(
        "--documents", type=count, default=3000, help="with --encoder; %(default)s by default"
    )
    parser.add_argument("--output", type=Path, help="where to write JSON")
    options = parser.parse_args()
    pairs: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folders, choices = {data.name: data for data in options.data}, CHOICES
        if options.encoder is None:
            for kind, shape in GENERATED.items():
                folders[kind] = Path(name) / kind
                write_data(shape, folders[kind])
        else:
            choices = choices_with(options.encoder)
            for kind, data in list(folders.items()):
                del folders[kind]
                own = f"{kind} of {options.documents:,} documents"
                folders[own] = written_part(data, options.documents, Path(name) / kind)
        for _ in range(options.repeat):
            for kind, data in folders.items():
                for choice, flags in choices.items():
                    flags = [*flags, "--threads", str(options.threads)]
                    pair = compare(data, flags, Path(name))
                    pairs.setdefault(f"{kind}, {choice}", []).append(pair)
    print("\n".join(table(rows(pairs))))
    if options.output:
        options.output.write_text(json.dumps(pairs, indent=1) + "\n")


def choices_with(encoder: str) -> dict[str, list[str]]:
    """Return the flags of models with an encoder."""
    common = [f"encoder={encoder}", "max_tokens=64"]
    return {
        name: ["--method", "x-transformer"]
        + [word for one in (*common, *own) for word in ("--set", one)]
        for name, own in OF_ENCODERS.items()
    }


def written_part(data: Path, n_documents: int, folder: Path) -> Path:
    """Write some training documents of a data folder, with their texts, as one of their own."""
    part = part_of(datasets.load(data), n_documents)
    folder.mkdir()
    sp.save_npz(folder / "X.trn.npz", part.X_train)
    sp.save_npz(folder / "Y.trn.npz", part.Y_train)
    texts = part.train_texts or []
    (folder / "X.trn.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return folder


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
