"""`python -m benchmarks.neural_serving --data FOLDER`: what it takes to serve an encoder on a CPU.

Four models of the same documents: TF-IDF alone, and TF-IDF beside an encoder that torch computes,
that ONNX Runtime computes in floats, and in int8. They are trained where `--models` does not have
them (`--only make`). Then P@k is measured on the first test documents (`--only accuracy`), and
what one text takes, in this process and over HTTP (`--only latency`), by models that take turns.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

import polyseme
from benchmarks.__main__ import describe_machine, say
from benchmarks.datasets import read_matrix
from benchmarks.options import add_peers, count, plain_errors
from benchmarks.report import table
from benchmarks.serving.servers import running
from polyseme import TextModel, XRLinear, XTransformer
from polyseme.files.whole_files import written_beside
from polyseme.text.corpora.records import Record

STEPS = ("make", "accuracy", "latency")
MODELS = ("tf-idf", "torch", "onnx-float32", "onnx-int8")
KEPT = ("P@1", "P@3", "P@5")
PACKAGES = ("torch", "transformers", "onnx", "onnxruntime")
N_WARM = 3


def main(words: list[str] | None = None) -> None:
    """Do the steps that were asked for, and keep what came out."""
    options = parse_options(words)
    with plain_errors("benchmarks.neural_serving"):
        folders = {name: options.models / name for name in MODELS}
        if "make" in options.only:
            make(folders, options)
        results: dict[str, Any] = {}
        if "accuracy" in options.only:
            results["accuracy"] = accuracy(folders, options)
        if "latency" in options.only:
            results |= latency(folders, options)
        if results:
            keep(options, results)


def records_of(data: Path, part: str, n: int) -> list[Record]:
    """Return the first texts of a part of a data folder, with the names of their labels."""
    names = (data / "labels.txt").read_text(encoding="utf-8").splitlines()
    Y = read_matrix(data, f"Y.{part}")
    with (data / f"X.{part}.txt").open(encoding="utf-8") as lines:
        texts = [line.rstrip("\n") for line in islice(lines, n)]
    parts = [Y.indices[Y.indptr[row] : Y.indptr[row + 1]] for row in range(len(texts))]
    labels = [tuple(names[i] for i in part) for part in parts]
    return [Record(text, own) for text, own in zip(texts, labels, strict=True)]


def make(folders: dict[str, Path], options: argparse.Namespace) -> None:
    """Train, and quantize, what is not there yet."""
    how = {"copies": options.copies, "senses": "none", "n_jobs": options.threads}
    of_encoder = {
        "encoder": options.encoder,
        "finetuning": "none",
        "work_folder": str(options.models / "work"),
    }
    for name in ("tf-idf", "torch"):
        if not folders[name].exists():
            say(f"training {name}")
            records = records_of(options.data, "trn", options.documents)
            classifier = XRLinear(**how) if name == "tf-idf" else XTransformer(**of_encoder, **how)
            model = TextModel(classifier=classifier, held_out=0, examples=0)
            model.fit_records(records).save(folders[name])
    for name in MODELS[2:]:
        if not folders[name].exists():
            say(f"making {name}")
            precision = name.removeprefix("onnx-")
            polyseme.quantize(polyseme.load(folders["torch"]), precision).save(folders[name])


def accuracy(folders: dict[str, Path], options: argparse.Namespace) -> dict[str, Any]:
    """Return P@k of each model on the same documents, in percent."""
    records = records_of(options.data, "tst", options.test_documents)
    found: dict[str, Any] = {"n_documents": options.documents, "n_test_documents": len(records)}
    for name in options.models_measured:
        say(f"measuring {name}")
        report = polyseme.load(folders[name], n_jobs=options.threads).evaluate(records)
        n_bytes = sum(file.stat().st_size for file in folders[name].iterdir())
        figures = {one: round(float(report["accuracy"][one]), 2) for one in KEPT}
        found[name] = {**figures, "disk_mb": round(n_bytes / 1e6, 1)}
    rows = [
        [name, *(f"{found[name][one]:.2f}" for one in KEPT)] for name in options.models_measured
    ]
    print("\n".join(table([["model", *KEPT], *rows])))
    return found


def latency(folders: dict[str, Path], options: argparse.Namespace) -> dict[str, Any]:
    """Return milliseconds of single texts, in this process and through a server."""
    texts = [one.text for one in records_of(options.data, "tst", options.texts)]
    short = [" ".join(text.split()[: options.short_words]) for text in texts]
    parts = {"whole texts": texts, f"first {options.short_words} words": short}
    found: dict[str, Any] = {part: {} for part in parts}
    names = options.models_measured
    models = {name: polyseme.load(folders[name], n_jobs=options.threads) for name in names}
    for part, own in parts.items():
        asks = {name: asking(models[name]) for name in names}
        for name, taken in in_turns(asks, own, options.rounds).items():
            busy = {"processor_ms": round(1000 * taken.processor / len(taken.texts), 2)}
            found[part][name] = {"in process": {**described(taken.texts), **busy}}
    models.clear()
    with ExitStack() as stack:
        urls = {
            name: stack.enter_context(
                running(
                    "polyseme",
                    folders[name],
                    python=Path(sys.executable),
                    n_threads=options.threads,
                    log=options.models / f"{name}.log",
                )
            ).url
            for name in names
        }
        for part, own in parts.items():
            for n_clients in options.clients:
                asks = {name: asking_over_http(url, n_clients) for name, url in urls.items()}
                for name, taken in in_turns(asks, own, options.rounds).items():
                    clients = f"{n_clients} client{'' if n_clients == 1 else 's'}"
                    found[part][name][f"HTTP, {clients}"] = described(taken.texts)
    for part, of_part in found.items():
        ways = list(next(iter(of_part.values())))
        rows = [
            [name, *(f"{own[way]['p50_ms']:.1f} / {own[way]['p99_ms']:.1f}" for way in ways)]
            for name, own in of_part.items()
        ]
        print("\n".join([part, *table([["p50 / p99 ms", *ways], *rows])]))
    return {"latency": found, "texts": {"n": options.texts, "rounds": options.rounds}}


Asking = Callable[[Sequence[str]], list[float]]


@dataclass
class Taken:
    """Seconds of each text, and of this process' processors for all of them."""

    texts: list[float] = field(default_factory=list)
    processor: float = 0.0


def asking(model: TextModel) -> Asking:
    """Return what asks a model in this process, and says what each text took."""

    def ask(texts: Sequence[str]) -> list[float]:
        taken = []
        for text in texts:
            began = time.perf_counter()
            model.suggest([text])
            taken.append(time.perf_counter() - began)
        return taken

    return ask


def asking_over_http(url: str, n_clients: int) -> Asking:
    """Return what asks a server over so many connections, each of which waits for its answer."""
    place = urlsplit(url).netloc

    def ask_some(texts: Sequence[str]) -> list[float]:
        connection, taken = http.client.HTTPConnection(place, timeout=60), []
        for text in texts:
            body = json.dumps({"text": text}).encode()
            began = time.perf_counter()
            connection.request("POST", "/v1/suggest", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            taken.append(time.perf_counter() - began)
            if answer.status != 200:
                raise ValueError(f"the server answered {answer.status}")
        connection.close()
        return taken

    def ask(texts: Sequence[str]) -> list[float]:
        with ThreadPoolExecutor(n_clients) as pool:
            parts = [texts[i::n_clients] for i in range(n_clients)]
            return [one for taken in pool.map(ask_some, parts) for one in taken]

    return ask


def in_turns(asks: Mapping[str, Asking], texts: Sequence[str], n_rounds: int) -> dict[str, Taken]:
    """Ask all models about a part of the texts, then about the next: a slow moment hits each."""
    taken = {name: Taken() for name in asks}
    for part in np.array_split(np.arange(len(texts)), n_rounds):
        own = [texts[i] for i in part]
        for name, ask in asks.items():
            ask(own[-N_WARM:])  # not counted, and not the first to be asked about
            began = time.process_time()
            taken[name].texts += ask(own)
            taken[name].processor += time.process_time() - began
    return taken


def described(seconds: Sequence[float]) -> dict[str, float]:
    """Return percentiles in milliseconds."""
    return {
        f"p{percent}_ms": round(1000 * float(np.percentile(seconds, percent)), 2)
        for percent in (50, 99)
    }


def keep(options: argparse.Namespace, results: dict[str, Any]) -> None:
    """Write what was measured into the file; what else it has stays."""
    earlier = json.loads(options.output.read_text()) if options.output.exists() else {}
    about = {
        "data": options.data.name,
        "machine": describe_machine(options),
        "packages": {name: version(name) for name in PACKAGES},
        "threads": options.threads,
        "copies": options.copies,
        "encoder": Path(options.encoder).name,
    }
    with written_beside(options.output) as stream:
        stream.write(json.dumps({**earlier, **about, **results}, indent=1).encode() + b"\n")


def parse_options(words: list[str] | None) -> argparse.Namespace:
    """Read the options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.neural_serving", description=__doc__
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder with texts and labels")
    parser.add_argument("--encoder", default="encoders/minilm", help="folder of a transformer")
    parser.add_argument("--documents", type=count, default=5000, help="to learn from, the first")
    parser.add_argument("--test-documents", type=count, default=1000, help="to measure P@k on")
    parser.add_argument("--texts", type=count, default=200, help="to measure latency with")
    parser.add_argument("--short-words", type=count, default=12, help="words of a short text")
    parser.add_argument("--rounds", type=count, default=4)
    parser.add_argument("--clients", type=count, nargs="+", default=[1, 8])
    parser.add_argument("--copies", type=count, default=2)
    parser.add_argument("--threads", type=count, default=2)
    parser.add_argument("--only", nargs="+", choices=STEPS, default=STEPS)
    parser.add_argument(
        "--measure", dest="models_measured", nargs="+", choices=MODELS, default=MODELS
    )
    parser.add_argument("--models", type=Path, default=Path("build/neural-serving"))
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("benchmarks/results/neural-serving.json"),
        help="JSON file",
    )
    add_peers(parser)
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
