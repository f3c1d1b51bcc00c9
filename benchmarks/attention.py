"""`python -m benchmarks.attention --data FOLDER`: methods that read words, with one copy and two.

Each row trains on a data folder that has texts, or on some of its documents, drawn by chance. It
is measured on the test part and written to the JSON file at once; rows that are there already
stay, so that they can be measured one by one.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from benchmarks.neural import line, part_of, rows_of
from benchmarks.options import count, plain_errors, settings
from benchmarks.report import table
from polyseme import datasets, metrics
from polyseme.files.kinds import method_named
from polyseme.files.whole_files import written_beside
from polyseme.text.features import TextFeatures

METHODS = ("attention-xml", "xml-cnn", "xr-linear", "xr-linear-of-texts")
KEPT = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
SEED = 0


def main(words: list[str] | None = None) -> None:
    """Measure what was asked for, and print all rows of the file."""
    options = parse_options(words)
    with plain_errors("benchmarks.attention"):
        dataset = part_of(datasets.load(options.data), options.documents)
        rows = rows_of(options.output)
        for method in options.methods:
            for copies in options.copies:
                row = measured(dataset, method, copies, options)
                rows = [*(one for one in rows if one["asked"] != row["asked"]), row]
                with written_beside(options.output) as stream:
                    stream.write(json.dumps(rows, indent=2).encode() + b"\n")
        header = ["row", "train s", *KEPT]
        print("\n".join(table([header, *map(line, rows)])))


def measured(
    dataset: datasets.Dataset, method: str, copies: int, options: argparse.Namespace
) -> dict[str, Any]:
    """Train and measure one method."""
    is_linear = method.startswith("xr-linear")
    own = {} if is_linear else options.settings
    fixed = {"ordering": "product", "senses": "none", "random_state": SEED, "verbose": 0}
    rounds = {"rounds": 0} if copies == 1 else {}
    model = method_named("xr-linear" if is_linear else method)(
        copies=copies, n_jobs=options.threads, **rounds, **{**fixed, **own}
    )
    train, test = _documents(dataset, method, reads_texts=model.reads_texts)
    Y = dataset.Y_train
    began = time.perf_counter()
    model.fit(train, Y)
    trained = time.perf_counter()
    found, _ = model.predict_top_k(test, 5)
    predicted = time.perf_counter()
    weights = metrics.propensities(Y.sum(axis=0), Y.shape[0])
    figures = metrics.evaluate(found, dataset.Y_test, ks=(1, 3, 5), propensities=weights)
    return {
        "asked": {
            "data": options.data.name,
            "row": method,
            "copies": copies,
            "seed": SEED,
            "n_documents": Y.shape[0],
            "settings": own,
        },
        "threads": options.threads,
        "train_seconds": round(trained - began, 1),
        "test_seconds": round(predicted - trained, 1),
        "phase_seconds": {name: round(taken, 1) for name, taken in model.phase_seconds_.items()},
        "n_clusters": model.clusters_.n_clusters,
        "n_slots": model.clusters_.n_slots,
        **{name: round(float(figures[name]), 2) for name in KEPT},
    }


def _documents(dataset: datasets.Dataset, method: str, *, reads_texts: bool) -> tuple[Any, Any]:
    """Return what a method learns from and what it is asked about.

    Features of a data folder may be those of longer texts than the folder has;
    'xr-linear-of-texts' sees what networks see.
    """
    if method == "xr-linear-of-texts":
        assert dataset.train_texts is not None
        assert dataset.test_texts is not None
        features = TextFeatures().fit(dataset.train_texts)
        return features.transform(dataset.train_texts), features.transform(dataset.test_texts)
    return (
        dataset.train_documents(with_texts=reads_texts),
        dataset.test_documents(with_texts=reads_texts),
    )


def parse_options(words: list[str] | None) -> argparse.Namespace:
    """Read the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attention", description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="a folder with matrices and texts"
    )
    parser.add_argument("--documents", type=count, help="so many, drawn by chance; all by default")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--copies", nargs="+", type=count, default=[1, 2])
    parser.add_argument("--settings", type=settings, default={}, help="JSON, of those that read")
    parser.add_argument("--threads", type=count, default=2)
    parser.add_argument(
        "--output", type=Path, default=Path("benchmarks/results/attention.json"), help="JSON file"
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
