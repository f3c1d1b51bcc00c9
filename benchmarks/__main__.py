"""`python -m benchmarks --data FOLDER`: every system on the same matrices, in one run."""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks import peers
from benchmarks.accuracy import precision_at
from benchmarks.datasets import prepare, read_matrix, require_matrices
from benchmarks.options import add_places, amount, count, make_folder, plain_errors, settings
from benchmarks.processes import ROOT, MeasurementError, measure
from benchmarks.processors import processor, processors
from benchmarks.report import report
from benchmarks.systems import REFERENCE, SYSTEMS
from benchmarks.systems.base import BEAM_SIZE, BRANCHING, MAX_LEAF_SIZE, THRESHOLD


def main() -> None:
    options = parse_options()
    with plain_errors("benchmarks"):
        make_folder(options.output, "--output")
        make_folder(options.results, "--results")
        results = run(options)
    print(report(results))
    if set(results["medians"]) <= set(results["kept"]):
        say("benchmarks: no system could be measured, nothing is written")
        sys.exit(1)
    path = options.results / f"{results['data']['name']}.json"
    if results["failures"] and path.exists():
        say(f"{path} is left as it was, since {', '.join(results['failures'])} failed")
        path = path.with_suffix(".partial.json")
    path.write_text(json.dumps(results, indent=1) + "\n")
    print(f"\nwritten: {path}{draw(options.peers, 'benchmarks.picture', path)}")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all systems round robin, so that a slow minute hits each of them."""
    require_matrices(options.data)
    wanted = {SYSTEMS[name][3] for name in options.systems} - {"polyseme"}
    available = {*peers.ensure(options.peers, wanted), "polyseme"}
    names = [name for name in options.systems if SYSTEMS[name][3] in available]
    matrices = options.output / "matrices"
    logs = options.output / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    needs_text = any(SYSTEMS[name][3] == "omikuji" for name in names)
    data = prepare(options.data, matrices, options.rows, needs_text)
    Y_test = read_matrix(matrices, "Y.tst")
    kept = runs_kept(options, data, names)

    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    failures: dict[str, str] = {}
    for repeat in range(options.repeat):
        for name in names:
            is_slow_peer = name != REFERENCE and is_slow(runs[name], options.once_above)
            if name in failures or is_slow_peer:
                continue
            say(f"round {repeat + 1} of {options.repeat}: {name}")
            try:
                runs[name].append(measure_system(name, matrices, Y_test, options))
            except MeasurementError as problem:
                failures[name] = str(problem)
                say(f"  {name} failed: {problem} (see {logs / name}.*.log)")
    shutil.rmtree(matrices)
    runs = {name: (runs | kept)[name] for name in SYSTEMS if name in runs | kept}
    return {
        "data": data,
        "machine": describe_machine(options),
        "settings": {
            "threads": options.threads,
            "repeats": options.repeat,
            "beam_size": BEAM_SIZE,
            "branching": BRANCHING,
            "max_leaf_size": MAX_LEAF_SIZE,
            "threshold": THRESHOLD,
            "single_queries": options.queries,
        },
        "medians": {name: medians(of_name) for name, of_name in runs.items() if of_name},
        "failures": failures,
        "kept": list(kept),
        "runs": runs,
    }


def is_slow(runs: list[dict[str, Any]], most_seconds: float) -> bool:
    """Tell whether a system has been measured and takes too long to be measured again."""
    return any(run["train_s"] > most_seconds for run in runs)


def runs_kept(
    options: argparse.Namespace, data: dict[str, Any], names: list[str]
) -> dict[str, list[dict[str, Any]]]:
    """Return what an earlier run on the same data has of other systems, if it is to be kept."""
    path = options.results / f"{data['name']}.json"
    if not options.keep or not path.exists():
        return {}
    try:
        earlier = json.loads(path.read_text())
        is_same, runs_of = earlier["data"] == data, dict(earlier["runs"])
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is damaged; move it away, or go without --keep") from None
    if not is_same:
        raise ValueError(f"{path} is about other data; nothing of it can be kept")
    return {name: runs for name, runs in runs_of.items() if name not in names and runs}


def measure_system(
    name: str, matrices: Path, Y_test: csr_matrix, options: argparse.Namespace
) -> dict[str, Any]:
    """Train in one process, predict in a new one, and count right labels."""
    own_settings = options.best if name == "polyseme-best" else {}
    own = SYSTEMS[name][3] == "polyseme"
    measured, top = measure_stages(name, matrices, options, own, own_settings)
    return measured | precision_at(top, Y_test)


def measure_stages(
    name: str,
    matrices: Path,
    options: argparse.Namespace,
    own: bool,
    settings: dict[str, Any],
    *more: str,
) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    """Return what was measured of a system, and the labels that it predicts.

    `own` runs it with this interpreter and not the peers'; `more` options are for prediction.
    """
    python = sys.executable if own else peers.interpreter(options.peers)
    model, labels = options.output / "model", options.output / "labels.npy"
    common = [name, "--data", matrices, "--model", model, "--threads", options.threads]
    common += ["--settings", json.dumps(settings)]
    predict = ["predict", *common, "--queries", options.queries, "--labels", labels, *more]
    measured: dict[str, Any] = {}
    try:
        for stage, arguments in (("train", ["train", *common]), ("predict", predict)):
            log = options.output / "logs" / f"{name}.{stage}.log"
            words = [str(word) for word in arguments]
            measured |= measure(python, words, options.threads, log, options.max_gib)
        return measured, np.load(labels)
    finally:
        shutil.rmtree(model, ignore_errors=True)
        labels.unlink(missing_ok=True)


def medians(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Take the median of each measure, phases included."""
    phases = {
        phase: float(np.median([run["phase_s"].get(phase, 0.0) for run in runs]))
        for phase in runs[0]["phase_s"]
    }
    measures = [key for key in runs[0] if key not in ("phase_s", "peak_was_reset")]
    return {
        **{key: float(np.median([run[key] for run in runs])) for key in measures},
        "phase_s": phases,
    }


def describe_machine(options: argparse.Namespace) -> dict[str, Any]:
    """Say what a reader needs to compare figures of two machines."""
    python = peers.interpreter(options.peers)
    freeze = [str(python), "-m", "pip", "list", "--format=json"]
    listed = ""
    if python.exists():
        listed = subprocess.run(freeze, capture_output=True, text=True, check=False).stdout
    wanted = {*peers.PEERS, "numpy", "scipy"}
    packages = json.loads(listed or "[]")
    return {
        "processor": processor(),
        "n_cores": len(processors()),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "peers": {p["name"]: p["version"] for p in packages if p["name"] in wanted},
    }


def draw(environment: Path, module: str, results: Path) -> str:
    """Draw in the peers' environment, which has matplotlib; say what was written."""
    picture = results.with_suffix(".svg")
    command = [str(peers.interpreter(environment)), "-m", module]
    command += [str(results.resolve()), str(picture.resolve())]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return f" (no picture: {last})"
    return f", {picture}"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def system_names(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in SYSTEMS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"unknown system {', '.join(unknown)}; there are {', '.join(SYSTEMS)}"
        )
    return names


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with X.trn.npz, ...")
    parser.add_argument(
        "--threads", type=count, default=2, help="for all systems; %(default)s by default"
    )
    parser.add_argument(
        "--repeat",
        type=count,
        default=3,
        help="rounds; medians are reported; %(default)s by default",
    )
    parser.add_argument(
        "--once-above",
        type=amount,
        default=float("inf"),
        metavar="SECONDS",
        help="a system that trains for longer is left out of the later rounds",
    )
    parser.add_argument(
        "--keep", action="store_true", help="keep other systems' figures from an earlier run"
    )
    parser.add_argument(
        "--systems",
        type=system_names,
        default=list(SYSTEMS),
        help=f"comma-separated, of: {', '.join(SYSTEMS)}",
    )
    parser.add_argument(
        "--rows", type=count, help="only the first ROWS documents, for a quick try"
    )
    parser.add_argument(
        "--queries",
        type=count,
        default=2000,
        help="rows predicted one at a time; %(default)s by default",
    )
    parser.add_argument(
        "--best", type=settings, default={}, help="JSON settings for polyseme-best; {} by default"
    )
    add_places(parser)
    options = parser.parse_args()
    options.results = options.results or options.output
    return options


if __name__ == "__main__":
    main()
