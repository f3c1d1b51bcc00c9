"""`python -m benchmarks.serving --data FOLDER`: models behind the same server, under load."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.__main__ import describe_machine, say
from benchmarks.datasets import read_matrix
from benchmarks.options import add_peers, count
from benchmarks.processes import MeasurementError
from benchmarks.serving.load_tool import find_tool, put_under_load
from benchmarks.serving.models import SERVED, ensure_models, folder_of
from benchmarks.serving.report import Runs, errors_of, medians_of, soak_summary, table
from benchmarks.serving.request_bodies import feature_bodies, text_bodies, write_bodies
from benchmarks.serving.servers import running
from benchmarks.serving.soak import problems_of, soak

N_BODIES = 2000
SOAK_MODEL = "polyseme-text"  # takes texts and features


def main() -> None:
    options = parse_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and the servers end too
    try:
        results = run(options)
    except (FileNotFoundError, MeasurementError) as problem:
        sys.exit(f"benchmarks.serving: {problem}")
    problems: list[str] = []
    if "runs" in results:
        print(table(results["runs"]))
        problems += errors_of(results["runs"])
    if "soak" in results:
        print(soak_summary(results["soak"]))
        problems += problems_of(results["soak"])
    keep(options.results, results)
    if problems:
        sys.exit("\n".join(problems))


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Make what is missing, then measure, or soak."""
    names = [SOAK_MODEL] if options.soak else options.serve
    if not options.soak:
        find_tool()
    if not (options.data / "X.tst.txt").exists():
        if options.soak:
            raise FileNotFoundError(f"{options.data} has no X.tst.txt, and a soak needs texts")
        names = [name for name in names if SERVED[name].asks != "texts"]
    python = Path(sys.executable)
    if any(SERVED[name].system == "libpecos" for name in names):
        if "libpecos" in peers.ensure(options.peers, ["libpecos"], picture=False):
            # All in one environment, so that only the predictor differs.
            python = peers.interpreter(options.peers)
        else:
            names = [name for name in names if SERVED[name].system != "libpecos"]
    models = options.models / options.data.resolve().name
    models.mkdir(parents=True, exist_ok=True)
    ensure_models(names, options.data, models, peers_python=python, n_threads=options.threads)
    if options.only_train:
        sys.exit()
    settings = {"python": python, "n_threads": options.threads}
    results: dict[str, Any] = {"data": models.name, "machine": describe_machine(options)}
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(
                running(
                    SERVED[name].kind,
                    folder_of(name, models),
                    log=models / f"{name}.serving.log",
                    **settings,
                )
            )
            for name in names
        }
        if options.soak:
            texts = [body["text"] for body in text_bodies(options.data / "X.tst.txt", N_BODIES)]
            results["soak"] = soak(servers[SOAK_MODEL], texts, options.soak, options.soak_clients)
        else:
            bodies = {name: bodies_for(name, options.data, models) for name in names}
            urls = {name: f"{server.url}/v1/suggest" for name, server in servers.items()}
            results["runs"] = measure_all(urls, bodies, options)
            results["medians"] = medians_of(results["runs"])
            results["settings"] = {
                "seconds": options.seconds,
                "rounds": options.rounds,
                "threads": options.threads,
            }
    return results


def bodies_for(name: str, data: Path, folder: Path) -> Path:
    """Write the requests for what is served, and return where."""
    asks = SERVED[name].asks
    path = folder / f"{asks}.requests"
    if not path.exists():
        bodies = (
            text_bodies(data / "X.tst.txt", N_BODIES)
            if asks == "texts"
            else feature_bodies(read_matrix(data, "X.tst"), N_BODIES)
        )
        write_bodies(path, bodies)
    return path


def measure_all(
    urls: dict[str, str], bodies: dict[str, Path], options: argparse.Namespace
) -> Runs:
    """Let all take turns, round after round: a slow minute of the machine hits each of them."""
    runs: Runs = {name: {str(n): [] for n in options.clients} for name in urls}
    for i in range(options.rounds):
        say(f"round {i + 1} of {options.rounds}")
        for n_clients in options.clients:
            for name, url in urls.items():
                put_under_load(url, bodies[name], n_clients, 1)  # warms up
                figures = put_under_load(url, bodies[name], n_clients, options.seconds)
                runs[name][str(n_clients)].append(figures)
    return runs


def keep(path: Path, results: dict[str, Any]) -> None:
    """Write results; those of a soak and of a measurement stand in one file."""
    earlier = json.loads(path.read_text()) if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**earlier, **results}, indent=1) + "\n")
    print(f"written: {path}")


def served_names(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in SERVED]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"unknown: {', '.join(unknown)}; there are {', '.join(SERVED)}"
        )
    return names


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with X.trn.npz, ...")
    parser.add_argument(
        "--models",
        type=Path,
        default=Path("build/serving"),
        help="where models are kept; those that are missing are trained",
    )
    parser.add_argument("--only-train", action="store_true", help="make the models and end")
    parser.add_argument(
        "--serve",
        type=served_names,
        default=list(SERVED),
        help=f"comma-separated, of: {', '.join(SERVED)}",
    )
    parser.add_argument(
        "--clients",
        type=lambda text: [int(n) for n in text.split(",")],
        default=[1, 8, 64],
        help="numbers of connections, comma-separated",
    )
    parser.add_argument(
        "--seconds",
        type=count,
        default=4,
        help="of load, after one to warm up; %(default)s by default",
    )
    parser.add_argument(
        "--rounds", type=count, default=3, help="medians are reported; %(default)s by default"
    )
    parser.add_argument(
        "--soak", type=count, metavar="N", help="instead: N requests of all kinds to a text model"
    )
    parser.add_argument(
        "--soak-clients",
        type=count,
        default=8,
        help="connections of a soak; %(default)s by default",
    )
    parser.add_argument(
        "--threads", type=count, default=2, help="of each server; %(default)s by default"
    )
    add_peers(parser)
    parser.add_argument(
        "--results", type=Path, default=Path("build/serving/serving.json"), help="where JSON goes"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
