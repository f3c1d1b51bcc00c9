"""`python -m benchmarks.neural --data FOLDER`: encoders beside TF-IDF, plain and with two copies.

Rows are TF-IDF alone, a static table, an encoder as it is and a fine-tuned one beside TF-IDF, and
an ensemble of three members whose trees differ. Each is written to the JSON file as soon as it is
measured. A run that was stopped goes on: rows that are there are not measured again, and
embeddings and checkpoints are found in the work folder.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.options import count, plain_errors, settings
from benchmarks.report import table
from polyseme import XRLinear, XTransformer, datasets, metrics
from polyseme.files.whole_files import written_beside
from polyseme.inputs.documents import Documents
from polyseme.machine.run import Run

ROWS = ("tf-idf", "static", "frozen", "fine-tuned", "ensemble")
OF_FINE_TUNING = ("n_steps", "batch_size", "learning_rate", "head_rate", "finetuning")
KEPT = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")


def main(words: list[str] | None = None) -> None:
    """Measure what was asked for and is not there yet, and print all rows of the file."""
    options = parse_options(words)
    with plain_errors("benchmarks.neural"):
        rows = rows_of(options.output)
        dataset = datasets.load(options.data)
        dataset = part_of(dataset, options.documents)
        train = dataset.train_documents(with_texts=True)
        test = first(dataset.test_documents(with_texts=True), options.test_documents)
        for seed in options.seeds:
            for name in options.rows:
                for copies in options.copies:
                    asked = description(name, copies, seed, train, test, options)
                    if any(row["asked"] == asked for row in rows):
                        continue
                    figures = measured(asked, train, test, dataset, options)
                    rows = [*rows, {"asked": asked, **figures}]
                    with written_beside(options.output) as stream:
                        stream.write(json.dumps(rows, indent=2).encode() + b"\n")
                    print(" ".join(line(rows[-1])), flush=True)
        print("\n".join(table([["row", "train s", *KEPT], *map(line, rows)])))


def description(
    name: str,
    copies: int,
    seed: int,
    train: Documents,
    test: Documents,
    options: argparse.Namespace,
) -> dict[str, Any]:
    """Return what makes a row the one it is."""
    own: dict[str, Any] = {} if name == "tf-idf" else dict(options.settings)
    if name not in ("fine-tuned", "ensemble"):
        for setting in OF_FINE_TUNING:
            own.pop(setting, None)
    if name == "static":
        own["encoder"] = options.table
    elif name in ("frozen", "fine-tuned"):
        own["encoder"] = options.encoder
    elif name == "ensemble":
        of_members = [(options.encoder, "both"), (options.encoder, "label-text")]
        own["ensemble"] = [list(one) for one in (*of_members, (options.table, "tf-idf"))]
    if name == "frozen":
        own["finetuning"] = "none"
    own |= {} if copies > 1 else {"rounds": 0}
    return {
        "data": options.data.name,
        "row": name,
        "copies": copies,
        "seed": seed,
        "n_documents": train.n_rows,
        "n_test_documents": test.n_rows,
        "ordering": options.ordering,
        "settings": own,
    }


def measured(
    asked: dict[str, Any],
    train: Documents,
    test: Documents,
    dataset: datasets.Dataset,
    options: argparse.Namespace,
) -> dict[str, Any]:
    """Train and measure one row."""
    how = {
        **asked["settings"],
        "copies": asked["copies"],
        "ordering": asked["ordering"],
        "senses": "none",
        "random_state": asked["seed"],
        "n_jobs": options.threads,
    }
    reads_texts = asked["row"] != "tf-idf"
    if reads_texts:
        how["work_folder"] = str(options.work)
    model = XTransformer(**how) if reads_texts else XRLinear(**how)
    X, X_test = (part if reads_texts else part.sparse for part in (train, test))
    assert dataset.Y_test is not None
    Y, Y_test = dataset.Y_train, dataset.Y_test[: test.n_rows]
    began = time.perf_counter()
    model.fit(X, Y, label_names=names_of(dataset))
    trained = time.perf_counter()
    if isinstance(model, XTransformer):  # other rows need the same embeddings
        for one in model.members_ or [model]:
            one.features_.of(test, Run(n_threads=options.threads), keep=True)
    found, _ = model.predict_top_k(X_test, 5)
    predicted = time.perf_counter()
    weights = metrics.propensities(Y.sum(axis=0), Y.shape[0])
    figures = metrics.evaluate(found, Y_test, ks=(1, 3, 5), propensities=weights)
    return {
        "threads": options.threads,
        "train_seconds": round(trained - began, 1),
        "test_seconds": round(predicted - trained, 1),
        "phase_seconds": {name: round(taken, 1) for name, taken in model.phase_seconds_.items()},
        "finetuning": getattr(model, "finetuning_", []),
        **({"members": model.member_figures(test, Y_test)} if asked["row"] == "ensemble" else {}),
        **{name: round(float(figures[name]), 2) for name in KEPT},
    }


def part_of(dataset: datasets.Dataset, n: int | None) -> datasets.Dataset:
    """Return the same with some training documents, drawn by chance: a part like the whole."""
    n_all = dataset.Y_train.shape[0]
    if n is None or n >= n_all:
        return dataset
    rows = np.sort(np.random.default_rng(0).permutation(n_all)[:n])
    drawn = replace(dataset, X_train=dataset.X_train[rows], Y_train=dataset.Y_train[rows])
    texts = dataset.train_texts
    if texts is not None:  # read already: their file has all of them
        vars(drawn)["train_texts"] = [texts[row] for row in rows]
    return drawn


def names_of(dataset: datasets.Dataset) -> list[str] | None:
    """Return the names of labels, with their column where two have the same."""
    names = dataset.label_names
    if names is None:
        return None
    count = Counter(names)
    return [name if count[name] == 1 else f"{name} ({i})" for i, name in enumerate(names)]


def first(documents: Documents, n: int | None) -> Documents:
    """Return the first documents, or all."""
    return documents.rows(0, min(n or documents.n_rows, documents.n_rows))


def line(row: dict[str, Any]) -> list[str]:
    """Return a row as the table shows it."""
    asked = row["asked"]
    name = f"{asked['row']}, {asked['copies']} cop{'y' if asked['copies'] == 1 else 'ies'}"
    name += f", {asked['n_documents']:,} documents, seed {asked['seed']}"
    return [name, str(row["train_seconds"]), *(f"{row[kept]:.2f}" for kept in KEPT)]


def rows_of(file: Path) -> list[dict[str, Any]]:
    """Return the rows that were measured before."""
    if not file.exists():
        return []
    try:
        rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
        _ = [row["asked"] for row in rows]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{file} is damaged; move it away to begin anew") from None
    return rows


def parse_options(words: list[str] | None) -> argparse.Namespace:
    """Read the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.neural", description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="a folder with matrices and texts"
    )
    parser.add_argument("--encoder", default="encoders/minilm", help="folder of a transformer")
    parser.add_argument("--table", default="encoders/wordllama", help="folder of a static table")
    parser.add_argument("--documents", type=count, help="so many, drawn by chance; all by default")
    parser.add_argument(
        "--test-documents", type=count, help="only the first so many of the test part"
    )
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=ROWS)
    parser.add_argument("--copies", nargs="+", type=count, default=[1, 2])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--ordering", choices=("product", "learned"), default="product")
    parser.add_argument(
        "--settings", type=settings, default={}, help="JSON, of XTransformer, for all its rows"
    )
    parser.add_argument("--threads", type=count, default=2)
    parser.add_argument("--work", type=Path, default=Path("build/neural"), help="work folder")
    parser.add_argument(
        "--output", type=Path, default=Path("benchmarks/results/neural.json"), help="JSON file"
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
