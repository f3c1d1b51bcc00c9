"""The models that are served: trained where they are missing, and kept."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.datasets import prepare, read_matrix
from benchmarks.processes import MeasurementError, measure


@dataclass(frozen=True)
class Served:
    """A row of the table.

    Attributes
    ----------
    title : str
    kind : {'polyseme', 'libpecos', 'libpecos-1', 'none'}
        See `host.py`.
    system : str or None
        Its name in `benchmarks.systems`, for those that are trained from matrices.
    asks : {'features', 'texts'}
        What clients send.
    """

    title: str
    kind: str
    system: str | None
    asks: str = "features"


SERVED = {
    "polyseme-copies2": Served("polyseme, 2 copies", "polyseme", "polyseme-copies2"),
    "polyseme": Served("polyseme, plain", "polyseme", "polyseme"),
    "libpecos": Served("libpecos", "libpecos", "libpecos"),
    "libpecos-1": Served("libpecos, one thread", "libpecos-1", "libpecos"),
    "none": Served("no model, only the server", "none", None),
    "polyseme-text": Served("polyseme, texts", "polyseme", None, "texts"),
}


def folder_of(name: str, models: Path) -> Path:
    """Return where a model is; what differs only in how it is served shares it."""
    return models / (SERVED[name].system or name)


def ensure_models(
    names: list[str], data: Path, models: Path, *, peers_python: Path, n_threads: int
) -> None:
    """Train those of `names` that are not in the folder `models` yet."""
    matrices = models / "matrices"
    for name in names:
        served, model = SERVED[name], folder_of(name, models)
        if model.exists():
            continue
        print(f"making {model}", file=sys.stderr, flush=True)
        if served.system is not None:
            if not matrices.exists():
                prepare(data, matrices, None, text=False)
            python = peers_python if served.system == "libpecos" else Path(sys.executable)
            arguments = ["train", served.system, "--data", str(matrices), "--model", str(model)]
            arguments += ["--threads", str(n_threads)]
            measure(python, arguments, n_threads, models / f"{name}.training.log")
        elif served.asks == "texts":
            train_text_model(data, model, n_threads)
        else:
            model.mkdir()
            shape = {"n_features": read_matrix(data, "X.tst").shape[1]}
            (model / "shape.json").write_text(json.dumps(shape))


def train_text_model(data: Path, model: Path, n_threads: int) -> None:
    """Train from the texts of a data folder as a user would: with `polyseme train`."""
    corpus = model.with_suffix(".jsonl")
    write_corpus(data, corpus)
    command = [sys.executable, "-m", "polyseme", "train", str(corpus), "-o", str(model)]
    command += ["--threads", str(n_threads), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MeasurementError(f"polyseme train failed: {done.stderr.strip()[-300:]}")


def write_corpus(data: Path, corpus: Path) -> None:
    """Write the training texts with the names of their labels as JSON lines."""
    names = (data / "labels.txt").read_text(encoding="utf-8").splitlines()
    Y = read_matrix(data, "Y.trn")
    parts = np.split(Y.indices, Y.indptr[1:-1])
    with (data / "X.trn.txt").open(encoding="utf-8") as texts, corpus.open("w") as file:
        for text, labels in zip(texts, parts, strict=True):
            # Two labels may have one name; to the text model they are one.
            record = {"text": text.strip(), "labels": sorted({names[i] for i in labels})}
            file.write(json.dumps(record) + "\n")
