"""`python -m benchmarks.neural_overhead --data FOLDER`: what two copies cost beside an encoder.

The paper says that on top of X-Transformer they take 1.1% more training and 21.1% more inference
(Amazon-3M). Here a fine-tuned encoder with plain linear parts is trained from nothing. What it
made, the encoder and the embeddings, is kept; on it the linear parts are trained again and again,
plain and with copies, in turns, since all else is the same work for both. Seconds are those of the
processor, of one thread, so that other programs of the machine hardly count.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.__main__ import say
from benchmarks.neural import first
from benchmarks.options import count, plain_errors, settings
from benchmarks.report import table
from polyseme import XTransformer, datasets
from polyseme.files.whole_files import written_beside
from polyseme.inputs.documents import Documents
from polyseme.machine.run import Run

KINDS = {"plain": {"copies": 1, "rounds": 0}, "copies": {"copies": 2}}
BARE = {"ordering": "product", "senses": "none", "n_jobs": 1, "verbose": 0}
RUN = Run(n_threads=1)


def main(words: list[str] | None = None) -> None:
    """Measure, print and keep it."""
    options = parse_options(words)
    with plain_errors("benchmarks.neural_overhead"):
        dataset = datasets.load(options.data)
        train = first(dataset.train_documents(with_texts=True), options.documents)
        test = first(dataset.test_documents(with_texts=True), options.test_documents)
        with tempfile.TemporaryDirectory() as work:
            figures = measured(train, dataset.Y_train[: train.n_rows], test, work, options)
    asked = {
        "data": options.data.name,
        "encoder": Path(options.encoder).name,
        "n_documents": train.n_rows,
        "n_test_documents": test.n_rows,
        "threads": 1,
        "rounds": options.rounds,
        "settings": options.settings,
    }
    with written_beside(options.output) as stream:
        stream.write(json.dumps({"asked": asked, **figures}, indent=1).encode() + b"\n")
    rows = [[name, f"{value:.4g}"] for name, value in figures.items() if name != "finetuning"]
    print("\n".join(table([["", ""], *rows])))


def measured(
    train: Documents, Y: Any, test: Documents, work: str, options: argparse.Namespace
) -> dict[str, Any]:
    """Return seconds of training and milliseconds of inference, and what copies add to them."""

    def fitted(kind: str) -> XTransformer:
        how: dict[str, Any] = {**BARE, **KINDS[kind], **options.settings, "work_folder": work}
        return XTransformer(options.encoder, **how).fit(train, Y)

    say("training all of it")
    whole, model = seconds_of(partial(fitted, "plain"))
    models: dict[str, XTransformer] = {}
    linear: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for i in range(options.rounds):
        say(f"training linear parts, round {i + 1} of {options.rounds}")
        for kind in KINDS:
            taken, models[kind] = seconds_of(partial(fitted, kind))
            linear[kind].append(taken)
    say("encoding test documents")
    encoder = model.features_.encoder
    assert test.texts is not None
    encoding, _ = seconds_of(partial(encoder.embed, test.texts, RUN))
    seen = model.features_.of(test, RUN, keep=True)
    walking: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(options.rounds):
        for kind, one in models.items():
            walking[kind].append(seconds_of(partial(walked, one, seen))[0])
    ms = 1000 / test.n_rows
    extra = median(linear["copies"]) - median(linear["plain"])
    later = ms * (median(walking["copies"]) - median(walking["plain"]))
    found = {
        "train_seconds_plain": whole,
        "linear_seconds_plain": median(linear["plain"]),
        "linear_seconds_copies": median(linear["copies"]),
        "more_training_percent": 100 * extra / whole,
        "encoding_ms": ms * encoding,
        "linear_ms_plain": ms * median(walking["plain"]),
        "linear_ms_copies": ms * median(walking["copies"]),
        "more_inference_percent": 100 * later / (ms * (encoding + median(walking["plain"]))),
    }
    return {**{name: round(value, 4) for name, value in found.items()}} | {
        "finetuning": model.finetuning_
    }


def walked(model: XTransformer, seen: Documents) -> Any:
    """Predict for documents that are encoded already."""
    assert model._walk is not None
    return model._walk.top_k(seen, model.beam_of_all_trees, 5, model.merge, RUN)


def seconds_of(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor's seconds, and what came out."""
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def parse_options(words: list[str] | None) -> argparse.Namespace:
    """Read the options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.neural_overhead", description=__doc__
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="a folder with matrices and texts"
    )
    parser.add_argument("--encoder", default="encoders/minilm", help="folder of a transformer")
    parser.add_argument("--documents", type=count, default=5000, help="the first so many")
    parser.add_argument("--test-documents", type=count, default=500, help="the same of the test")
    parser.add_argument("--rounds", type=count, default=5, help="medians are reported")
    parser.add_argument("--settings", type=settings, default={}, help="JSON, of XTransformer")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("benchmarks/results/neural-overhead.json"),
        help="JSON file",
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
