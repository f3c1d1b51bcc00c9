"""`python -m benchmarks.methods --data FOLDER`: every method, plain and with two copies per label.

Beside them stand the peers of each. Rows of a method and its peer take turns, a process each.
What is measured is written at once; `--resume` keeps it and goes on with what is missing, and
`--write-docs` makes the tables of a page from all that was recorded.
"""

from __future__ import annotations

import argparse
import json
import shutil
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks import __main__ as harness
from benchmarks import peers
from benchmarks.datasets import prepare, read_matrix, require_matrices
from benchmarks.methods_rows import FAMILIES, ROWS, Row, chosen_rows
from benchmarks.methods_table import tables, write_between_markers
from benchmarks.one_vs_rest import labels_of_part
from benchmarks.options import add_places, count, make_folder, plain_errors
from benchmarks.processes import MeasurementError
from polyseme import metrics
from polyseme.files.whole_files import written_beside

RESULTS, PAGE = Path("benchmarks/results"), Path("docs/methods.md")
WIDTH = 80  # of a line of code in the docs
SEED = 0  # that of every system
KEPT = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")


def main(words: list[str] | None = None) -> None:
    """Measure, print the tables, and write them into the page where asked."""
    options = parse_options(words)
    with plain_errors("benchmarks.methods"):
        for folder in options.data:
            require_matrices(folder)
        make_folder(options.output, "--output")
        make_folder(options.results, "--results")
        for folder in options.data:
            print(tables(run(folder, options)))
        if options.write_docs:
            write_docs(options.results, options.page)


def run(source: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure what is missing of one data set, method by method."""
    rows = chosen_rows(options.only, source.resolve().name)
    packages = {row.system[3] for row in rows} - {"polyseme"}
    available = {*peers.ensure(options.peers, packages, picture=False), "polyseme"}
    rows = [row for row in rows if row.system[3] in available]
    matrices = options.output / "matrices"
    (options.output / "logs").mkdir(parents=True, exist_ok=True)
    data = prepare(source, matrices, options.rows, "omikuji" in packages)
    file = options.results / f"methods-{data['name']}.json"
    results = begin(file, data, options)
    try:
        for family in FAMILIES:
            measure_family(
                [row for row in rows if row.family == family], matrices, results, options
            )
            save(file, results)
    finally:
        shutil.rmtree(matrices)
    harness.say(f"written: {file}")
    return results


def begin(file: Path, data: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Return earlier results on the same data, or empty ones; with the run that goes on."""
    results: dict[str, Any] = {"data": data, "rows": {}, "failures": {}}
    if file.exists():
        try:
            results = json.loads(file.read_text(encoding="utf-8"))
            is_same, _ = (
                results["data"] == data,
                (dict(results["rows"]), dict(results["failures"])),
            )
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{file} is damaged; move it away to begin anew") from None
        if not is_same:
            raise ValueError(f"{file} is about other data; move it away to begin anew")
    how = {"machine": harness.describe_machine(options), "threads": options.threads, "seed": SEED}
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    if not (options.resume and results.get("how") == how and "run" in results):
        results |= {"how": how, "run": now}
    return results


def measure_family(
    rows: list[Row], matrices: Path, results: dict[str, Any], options: argparse.Namespace
) -> None:
    """Let a method and its peer take turns, as often as there are rounds."""
    file = options.results / f"methods-{results['data']['name']}.json"
    for number in range(options.repeat):
        for row in rows:
            done = results["rows"].get(row.name, {"runs": [], "run": results["run"]})
            # An earlier run's figures stay until there are new ones.
            if not options.resume and done["run"] != results["run"]:
                done = {"runs": []}
            if len(done["runs"]) > number:
                continue
            harness.say(f"round {number + 1} of {options.repeat}: {row.title}")
            try:
                figures = measure_row(row, matrices, options)
            except MeasurementError as problem:
                results["failures"][row.name] = str(problem)
                harness.say(f"  {row.name} failed: {problem} (see {options.output / 'logs'})")
                continue
            results["failures"].pop(row.name, None)
            runs = [*done["runs"], figures]
            results["rows"][row.name] = {
                **results["how"],
                "run": results["run"] if not done["runs"] else done["run"],
                "settings": row.system[2],
                "queries": options.queries,
                "medians": harness.medians(runs),
                "runs": runs,
            }
            save(file, results)


def measure_row(row: Row, matrices: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Train in one process, predict in a new one, and measure the five best labels."""
    own = row.system[3] == "polyseme"
    measured, top = harness.measure_stages(row.name, matrices, options, own, {}, "--passes", "1")
    Y, Y_test = read_matrix(matrices, "Y.trn"), read_matrix(matrices, "Y.tst")
    return measured | accuracy(top, Y, Y_test, row.part)


def accuracy(
    top: np.ndarray[Any, Any], Y: csr_matrix, Y_test: csr_matrix, part: dict[str, int] | None
) -> dict[str, float]:
    """P@k and PSP@k in percent, with A = 0.55 and B = 1.5.

    Parameters
    ----------
    top : ndarray of shape (n_test_documents, 5)
        Label ids, best first, padded with -1; numbers within the part if there is one.
    Y, Y_test : csr_matrix of shape (n, n_labels)
        The labels of training and test documents.
    part : dict or None
        If given, only its labels count, and the documents that have one of them.
    """
    if part is not None:
        labels = labels_of_part(Y, part)
        Y, Y_test = Y[:, labels], Y_test[:, labels]
        has_label = np.diff(Y_test.indptr) > 0
        top, Y_test = top[has_label], Y_test[has_label]
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    found = metrics.evaluate(top, Y_test, propensities=metrics.propensities(counts, Y.shape[0]))
    return {name: found[name] for name in KEPT}


def save(file: Path, results: dict[str, Any]) -> None:
    """Write the file beside and move it into place, rows in the order of the table."""
    rows = {name: results["rows"][name] for name in ROWS if name in results["rows"]}
    with written_beside(file) as stream:
        stream.write((json.dumps({**results, "rows": rows}, indent=1) + "\n").encode())


def write_docs(folder: Path, page: Path) -> None:
    """Put the tables of all recorded data sets between the markers of a page."""
    files = sorted(folder.glob("methods-*.json"))
    if not files:
        raise FileNotFoundError(f"{folder} has no methods-*.json; measure some data first")
    recorded = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    for file, results in zip(files, recorded, strict=True):
        if not results["data"]["is_whole"]:
            raise ValueError(f"{file} is of a part of the documents; only whole sets are told")
    data = [f"--data {results['data']['name']}" for results in recorded]
    words = ["python -m benchmarks.methods", *data, "--write-docs"]
    command = " ".join(words) if len(" ".join(words)) <= WIDTH else " \\\n    ".join(words)
    intro = f"```sh\n{command}\n```"
    write_between_markers(page, "\n\n".join([intro, *map(tables, recorded)]))
    harness.say(f"written: {page}")


def row_names(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in ROWS and name not in FAMILIES]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"unknown row {', '.join(unknown)}; there are {', '.join(ROWS)}"
        )
    return names


def parse_options(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.methods", description=__doc__)
    parser.add_argument(
        "--data",
        type=Path,
        action="append",
        default=[],
        help="folder with X.trn.npz, ...; may be given several times",
    )
    parser.add_argument(
        "--only",
        type=row_names,
        help=f"comma-separated rows, or methods with all their rows: {', '.join(FAMILIES)}",
    )
    parser.add_argument("--resume", action="store_true", help="keep rows that are there already")
    parser.add_argument("--repeat", type=count, default=1, help="rounds; %(default)s by default")
    parser.add_argument("--threads", type=count, default=2, help="%(default)s by default")
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
        "--write-docs", action="store_true", help="make the tables of the page from all results"
    )
    parser.add_argument("--page", type=Path, default=PAGE, help="%(default)s by default")
    add_places(parser)
    options = parser.parse_args(words)
    if not options.data and not options.write_docs:
        parser.error("give --data FOLDER, or --write-docs, or both")
    # What a part of the documents gives is not to stand beside what all of them give.
    options.results = options.results or (options.output if options.rows else RESULTS)
    return options


if __name__ == "__main__":
    main()
