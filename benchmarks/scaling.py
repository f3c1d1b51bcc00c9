"""How time and memory grow, on generated data: `python -m benchmarks.scaling`.

Along each axis one thing changes and the rest stays at its default. Each point runs in processes
of its own and is ended before it takes more memory than allowed. The file is written after each
point; `--resume` takes up an earlier file and measures only what is missing in it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.__main__ import describe_machine, draw, say
from benchmarks.generated import Shape, write_data
from benchmarks.options import add_places, count
from benchmarks.processes import MeasurementError, measure
from benchmarks.report import table
from benchmarks.systems import SYSTEMS

SIZES = [10_000, 30_000, 100_000, 300_000, 1_000_000]
# measure -> heading; memory is what training adds to the loaded data, and all of it together
MEASURES = {
    "train_s": "train s",
    "train_peak_mib": "mem MiB",
    "train_total_mib": "with data",
    "disk_mb": "disk MB",
    "batch_us": "batch us",
}


@dataclass(frozen=True)
class Point:
    """One measurement: the data, the settings of the estimator, the threads."""

    shape: Shape = field(default_factory=Shape)
    settings: tuple[tuple[str, int], ...] = ()
    n_threads: int = 2


def axes() -> dict[str, dict[int, Point]]:
    """Give axis -> value -> point; change what is measured here."""

    def shapes(values: list[int], *names: str) -> dict[int, Point]:
        return {v: Point(dataclasses.replace(Shape(), **dict.fromkeys(names, v))) for v in values}

    def settings(name: str, values: list[int]) -> dict[int, Point]:
        return {value: Point(settings=((name, value),)) for value in values}

    return {
        "labels": shapes(SIZES, "n_labels"),
        "documents": shapes(SIZES, "n_documents"),
        "labels and documents": shapes(SIZES, "n_labels", "n_documents"),
        "features per row": shapes([25, 50, 100, 200, 400], "features_per_row"),
        "copies": settings("copies", [1, 2, 3, 4, 5, 6]),
        "beam size": settings("beam_size", [5, 10, 20, 40, 80]),
        "threads": {n: Point(n_threads=n) for n in (1, 2)},
    }


def main() -> None:
    options = parse_options()
    path = options.results / "scaling.json"
    earlier = json.loads(path.read_text()) if options.resume and path.exists() else {}
    if earlier and earlier["system"] != options.system:
        sys.exit(f"benchmarks.scaling: {path} is about {earlier['system']}, not {options.system}")
    results = {
        "system": options.system,
        "machine": describe_machine(options),
        "default": dataclasses.asdict(Shape()),
        "axes": earlier.get("axes", {}),
        "slopes": {},
    }
    path.write_text(as_json(results))
    for named in measure_all(chosen_points(options, results["axes"]), options):
        for axis, value, point in named:
            results["axes"].setdefault(axis, {})[str(value)] = point
        path.write_text(as_json(results))
    print(as_text(results))
    print(f"\nwritten: {path}{draw(options.peers, 'benchmarks.scaling_picture', path)}")


def as_json(results: dict[str, Any]) -> str:
    """Put axes and points in their order, and the slopes beside them."""
    measured = results["axes"]
    results["axes"] = {
        axis: {
            str(value): measured[axis][str(value)]
            for value in points
            if str(value) in measured[axis]
        }
        for axis, points in axes().items()
        if axis in measured
    }
    results["slopes"] = {axis: slopes(points) for axis, points in results["axes"].items()}
    return json.dumps(results, indent=1) + "\n"


Named = list[tuple[str, int]]  # the axes and values that one point stands for


def chosen_points(
    options: argparse.Namespace, known: dict[str, dict[str, Any]]
) -> dict[Point, Named]:
    """Collect each different point once, with its places on the axes; no known ones."""
    wanted: dict[Point, Named] = {}
    for axis in options.axes:
        for value, point in axes()[axis].items():
            if options.smallest <= value <= options.largest and str(value) not in known.get(
                axis, {}
            ):
                wanted.setdefault(point, []).append((axis, value))
    return wanted


def measure_all(
    wanted: dict[Point, Named], options: argparse.Namespace
) -> Iterator[list[tuple[str, int, dict[str, Any]]]]:
    """Yield what was measured, a point at a time; those of one data set follow each other."""
    for shape in dict.fromkeys(point.shape for point in wanted):
        folder = options.output / "generated"
        say(f"making {shape.n_documents:,} documents, {shape.n_labels:,} labels")
        write_data(shape, folder)
        for point in (p for p in wanted if p.shape == shape):
            found = measure_point(point, folder, options)
            short = {key: round(found[key], 1) for key in MEASURES if key in found} or found
            say(f"  {dict(point.settings)} {point.n_threads} threads: {short}")
            yield [(axis, value, found) for axis, value in wanted[point]]
        shutil.rmtree(folder)


def measure_point(point: Point, data: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Train and predict; a point that takes too much memory says so instead."""
    model = options.output / "model"
    own = SYSTEMS[options.system][3] == "polyseme"
    python = sys.executable if own else peers.interpreter(options.peers)
    common = [options.system, "--data", str(data), "--model", str(model)]
    common += ["--threads", str(point.n_threads), "--queries", "200"]
    common += ["--settings", json.dumps(dict(point.settings))]
    result: dict[str, Any] = {}
    try:
        for stage in ("train", "predict"):
            log = options.output / f"scaling.{stage}.log"
            arguments = [stage, *common]
            result |= measure(python, arguments, point.n_threads, log, options.max_gib)
    except MeasurementError as problem:
        return {"failed": str(problem)}
    finally:
        shutil.rmtree(model, ignore_errors=True)
    return {key: value for key, value in result.items() if key != "peak_was_reset"}


def slopes(points: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Fit the exponent of each measure: the slope of a straight line through the logarithms."""
    good = {int(value): point for value, point in points.items() if "failed" not in point}
    if len(good) < 2:
        return {}
    at = np.log(list(good))
    return {
        measure: float(np.polyfit(at, np.log([point[measure] for point in good.values()]), 1)[0])
        for measure in MEASURES
    }


def as_text(results: dict[str, Any]) -> str:
    """Make a table an axis, with the exponents below."""
    lines = []
    for name, points in results["axes"].items():
        rows = [[name, *MEASURES.values()]]
        for value, point in points.items():
            if "failed" in point:
                lines.append(f"{name} {int(value):,}: {point['failed']}")
                continue
            rows.append([f"{int(value):,}", *(f"{point[key]:,.1f}" for key in MEASURES)])
        exponents = results["slopes"][name].values()
        rows.append(["grows with power", *(f"{exponent:.2f}" for exponent in exponents)])
        lines += ["", *table([row + [""] * (1 + len(MEASURES) - len(row)) for row in rows])]
    return "\n".join(lines)


def axis_names(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in axes()]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"unknown axis {', '.join(unknown)}; there are {', '.join(axes())}"
        )
    return names


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--axes", type=axis_names, default=list(axes()), help="comma-separated")
    parser.add_argument(
        "--system",
        choices=list(SYSTEMS),
        default="polyseme-copies2",
        help="what is measured; %(default)s by default",
    )
    parser.add_argument(
        "--smallest", type=int, default=0, help="leave out points below; %(default)s by default"
    )
    parser.add_argument(
        "--largest",
        type=count,
        default=10**9,
        help="leave out points beyond; %(default)s by default",
    )
    parser.add_argument("--resume", action="store_true", help="keep what scaling.json has")
    add_places(parser)
    options = parser.parse_args()
    options.results = options.results or options.output
    for folder in (options.output, options.results):
        folder.mkdir(parents=True, exist_ok=True)
    peers.ensure(options.peers, {SYSTEMS[options.system][3]})
    return options


if __name__ == "__main__":
    main()
