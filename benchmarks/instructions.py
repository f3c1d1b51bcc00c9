"""Instructions of the hot kernels on a fixed small job: `python -m benchmarks.instructions`.

Counted by `valgrind --tool=callgrind`, they hardly change from run to run, so a regression shows
on a busy machine too. They are compared with those in `results/`, or with `--against OLD.json`;
`--output benchmarks/results/instructions.json` records them anew.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from benchmarks.call_graph import read_call_graph
from benchmarks.generated import Shape, write_data
from benchmarks.processes import ROOT
from benchmarks.report import table

# kernel -> the functions of native/ that are its entries, by any part of their demangled name
KERNELS = {
    "tree": ["partition_labels", "Partitioner", "TwoMeans", "GatheredRows"],
    "training": ["train_clusters"],
    "training: solver alone": ["solve_lanes"],
    "beam search": ["walk"],
    "ranking": ["rank_top_k"],
    "prediction: looking up features": ["LinearLevel::find"],
    "prediction: adding weights": ["LinearLevel::score"],
}
RECORDED = ROOT / "benchmarks" / "results" / "instructions.json"
WORK = Path("build/benchmark/callgrind")
JOB = Shape(
    n_labels=2_000,
    n_documents=3_000,
    features_per_row=60,
    labels_per_document=3,
    n_features=20_000,
    n_test_documents=1_000,
)


def run_job(data: Path) -> None:
    """Do what is counted: train with two copies and predict, on one thread."""
    import polyseme
    from benchmarks.datasets import read_matrix

    X, Y, X_test = (read_matrix(data, name) for name in ("X.trn", "Y.trn", "X.tst"))
    model = polyseme.XRLinear(
        copies=2, C=1.0, ordering="product", senses="none", n_jobs=1, random_state=0
    )
    model.fit(X, Y)
    model.predict_top_k(X_test, 10)


def install_with_symbols(target: Path) -> None:
    """Build polyseme as it is shipped, but with the names of its functions kept."""
    print("building with symbols", file=sys.stderr)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--upgrade", "--no-build-isolation", "--target", str(target)]
    # Not Release, which strips; the core's own -O3 stands after the flags of the build type.
    command += ["-Ccmake.build-type=RelWithDebInfo", "-Cinstall.strip=false"]
    command += ["-Cbuild-dir=build/callgrind-cmake", str(ROOT)]
    subprocess.run(command, check=True)


def count(work: Path) -> dict[str, int]:
    """Run the job under callgrind and add up each kernel, with all that it calls."""
    site, data, profile = work / "site", work / "data", work / "callgrind.out"
    install_with_symbols(site)
    write_data(JOB, data)
    print("counting, a minute or two", file=sys.stderr)
    # Without -S an editable install would hide the build with symbols.
    paths = os.pathsep.join([str(site.resolve()), str(ROOT), sysconfig.get_path("platlib")])
    command = ["valgrind", "--tool=callgrind", "--quiet", f"--callgrind-out-file={profile}"]
    command += ["--compress-strings=no", "--compress-pos=no"]
    command += [sys.executable, "-S", "-m", "benchmarks.instructions", "--job", str(data)]
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": "0"}
    environment["PYTHONMALLOC"] = "malloc"
    subprocess.run(command, check=True, env=environment)
    graph = read_call_graph(profile)
    counts = {kernel: graph.inclusive(names) for kernel, names in KERNELS.items()}
    missing = [kernel for kernel, instructions in counts.items() if not instructions]
    if missing:
        print(f"never entered, are the names right? {', '.join(missing)}", file=sys.stderr)
    shutil.rmtree(data)
    return counts


def as_text(counts: dict[str, int], before: dict[str, int]) -> str:
    """One row a kernel, with the change since `before` where there is one."""
    rows = [["kernel", "instructions", "change"]]
    for kernel, instructions in counts.items():
        old = before.get(kernel)
        change = f"{100 * (instructions / old - 1):+.1f}%" if old else ""
        rows.append([kernel, f"{instructions:,}", change])
    return "\n".join(table(rows))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__)
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("build/benchmark/instructions.json"),
        help="where the counts go; %(default)s by default",
    )
    parser.add_argument(
        "--against",
        type=Path,
        default=RECORDED,
        help="counts to compare with; the recorded ones by default",
    )
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        run_job(options.job)
        return
    if not shutil.which("valgrind"):
        sys.exit("benchmarks.instructions: valgrind is not installed")
    if not options.against.exists() and options.against != RECORDED:
        sys.exit(f"benchmarks.instructions: {options.against} does not exist")
    before: dict[str, Any] = {}
    if options.against.exists():
        before = json.loads(options.against.read_text())
        if before["job"] != vars(JOB):
            sys.exit(f"benchmarks.instructions: {options.against} counted another job")
    for folder in (WORK, options.output.parent):
        folder.mkdir(parents=True, exist_ok=True)
    counts = count(WORK)
    result = {"job": vars(JOB), "instructions": counts}
    options.output.write_text(json.dumps(result, indent=1) + "\n")
    print(as_text(counts, before.get("instructions", {})))
    print(f"\nwritten: {options.output}")


if __name__ == "__main__":
    main()
