"""Run the command line inside the test, on small data written for it."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from click.testing import CliRunner, Result

from polyseme.cli import main
from polyseme.demo import make_corpus

N_FEATURES, N_LABELS = 30, 12
SMALL = ("--branching=3", "--max-leaf-size=3", "--beam-size=3", "--threads=2")
SMALL_FOR_TEXTS = ("--max-leaf-size=16", "--beam-size=4", "--threads=2", "--ngrams=1")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def succeed(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exception is None, result.output
    return result.stdout


def refuse(*arguments: object) -> str:
    """Run what must be refused; return the sentence on stderr."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    return result.stderr


def documents(n_documents: int, seed: int) -> tuple[sp.csr_array, sp.csr_array]:
    """Documents whose labels can be read off their features."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n_documents, N_LABELS)) < 0.15).astype(np.float32)
    Y[np.arange(n_documents), np.arange(n_documents) % N_LABELS] = 1
    X = np.repeat(Y, 2, axis=1) + rng.random((n_documents, 2 * N_LABELS)) * 0.2
    X = np.hstack([X, rng.random((n_documents, N_FEATURES - 2 * N_LABELS)) * 0.2])
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y)


def write_data(
    folder: Path,
    train: tuple[sp.csr_array, sp.csr_array],
    test: tuple[sp.csr_array, sp.csr_array] | None = None,
) -> Path:
    folder.mkdir()
    for part, pair in (("trn", train), ("tst", test)):
        if pair is not None:
            sp.save_npz(folder / f"X.{part}.npz", pair[0])
            sp.save_npz(folder / f"Y.{part}.npz", pair[1])
    return folder


def write_csv(path: Path, n_texts: int, seed: int) -> Path:
    corpus = make_corpus(n_texts, seed)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "title", "body", "tags"])
        for i, (text, labels) in enumerate(zip(corpus.texts, corpus.labels, strict=True)):
            start, _, rest = text.partition(". ")
            writer.writerow([i, start, rest, "; ".join(labels)])
    return path
