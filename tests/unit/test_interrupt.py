"""Ctrl-C ends every phase within a second, as KeyboardInterrupt."""

import signal
import subprocess
import sys
import time

import pytest

# Trains until the phase begins that is asked for, says so, and says when the interrupt arrived.
PROGRAM = """
import signal, sys, time
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp

from polyseme import XRLinear
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.progress import Progress
from polyseme.machine.run import Run
from polyseme.senses.induce import induce_senses
from polyseme.senses.splits import SenseSpace

# What a script starts in the background would be deaf to it.
signal.signal(signal.SIGINT, signal.default_int_handler)
wanted, n_documents, n_labels, parameters = {wanted!r}, {n_documents}, {n_labels}, {parameters!r}
phase = Progress.phase


@contextmanager
def announced(self, name, total=None):
    with phase(self, name, total) as step:
        if name == wanted:
            print("begin", flush=True)
        yield step


Progress.phase = announced
rng = np.random.default_rng(0)


def random_rows(n_columns, n_stored):
    # Each of the stored columns from a range of its own: sorted, no duplicates.
    width = n_columns // n_stored
    columns = rng.integers(width, size=(n_documents, n_stored)) + width * np.arange(n_stored)
    values = np.ones(columns.size, dtype=np.float32)
    starts = np.arange(n_documents + 1) * n_stored
    return sp.csr_array((values, columns.ravel(), starts), shape=(n_documents, n_columns))


X, Y = random_rows(4000, 40), random_rows(n_labels, 3)
try:
    if wanted == "Predicting":
        model = XRLinear(n_jobs=2, **parameters).fit(X[:2000], Y[:2000])
        print("begin", flush=True)
        model.predict_top_k(X)
    elif wanted in ("Finding senses", "Splitting labels"):  # without the training before them
        if wanted == "Splitting labels":
            split, said = SenseSpace.split, []

            def announced_split(*given):
                if not said:  # labels are split several times, pairs that were fused too
                    said.append(print("begin", flush=True))
                return split(*given)

            SenseSpace.split = announced_split
        documents, labels = Documents(SparseRows.from_scipy(X)), SparsePattern.from_scipy(Y)
        if wanted == "Finding senses":
            print("begin", flush=True)
        induce_senses(documents, labels, Run(0, 2))
    else:
        XRLinear(n_jobs=2, **parameters).fit(X, Y)
except KeyboardInterrupt:
    print(time.time(), flush=True)
"""
FOREVER = {"tol": 1e-30, "max_iter": 10**9}
QUICK = {"tol": 1e9, "max_iter": 1}
# Documents, labels, and parameters that make just this phase a long one.
PHASES = {
    "Label tree": (200_000, 200_000, {"max_leaf_size": 2}),
    "Label tree, k-means": (200_000, 200_000, {"tree": "k-means"}),
    "Training the matcher": (20_000, 2_000, FOREVER | {"match_folds": 0}),
    "Cross-matching": (40_000, 2_000, FOREVER | {"match_folds": 2}),
    "Matching": (
        50_000,
        2_000,
        QUICK | {"max_leaf_size": 2, "beam_size": 50, "match_folds": 0},
    ),
    "Training the ranker": (20_000, 2_000, FOREVER | {"max_leaf_size": 2_000, "rounds": 0}),
    "Finding senses": (40_000, 1_500, {}),
    "Splitting labels": (40_000, 1_500, {}),
    "Predicting": (100_000, 2_000, QUICK | {"max_leaf_size": 2, "beam_size": 50}),
}


@pytest.mark.timed
@pytest.mark.parametrize("phase", PHASES)
def test_an_interrupt_ends_the_phase_within_a_second(phase):
    n_documents, n_labels, parameters = PHASES[phase]
    program = PROGRAM.format(
        wanted=phase.partition(",")[0],
        n_documents=n_documents,
        n_labels=n_labels,
        parameters=parameters,
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "begin\n"
            time.sleep(0.3)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            sent = time.time()
            answer = process.stdout.readline()
            process.wait(10)
        finally:
            process.kill()
    assert answer, "the phase was over before the interrupt"
    assert float(answer) - sent < 1
    assert process.returncode == 0
