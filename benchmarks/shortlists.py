"""How many true labels are near a document: `python -m benchmarks.shortlists --data D`.

A label is the sum of its documents, as in `NearestLabels`. An exact search asks for the labels
that are nearest to each test document; what an index finds can only be less. Vectors are compared
that are made in different ways.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from benchmarks.options import count, make_folder, plain_errors
from benchmarks.report import table
from polyseme import datasets
from polyseme.backbones.nearest.space import DocumentSpace, unit_rows
from polyseme.inputs.documents import Documents
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels
from polyseme.machine.run import Run

SEED = 0
N_DIMENSIONS = 256  # what NearestLabels has by default
SIZES = (100, 300, 1000)  # of a shortlist
ROWS_AT_ONCE = 100  # so that similarities to all labels need little memory


def main() -> None:
    """Compare vectors on every data set; print a table, write a file of JSON per data set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shortlists", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, nargs="+")
    parser.add_argument("--documents", type=count, default=1000, help="%(default)s by default")
    parser.add_argument("--threads", type=count, default=2, help="%(default)s by default")
    parser.add_argument("--results", type=Path, default=Path("build/benchmark"))
    options = parser.parse_args()
    with plain_errors("benchmarks.shortlists"):
        make_folder(options.results, "--results")
        for folder in options.data:
            data = datasets.load(folder)
            if data.X_test is None or data.Y_test is None:
                raise ValueError(f"{folder} has no test documents; give one with X.tst.npz.")
            asked = check_features(data.X_test[: options.documents])
            truth = sp.csr_array(data.Y_test[: options.documents])
            run = Run(seed=SEED, n_threads=options.threads)
            found = {
                name: share_found(labels, documents, truth)
                for name, labels, documents in vectors(data, asked, run)
            }
            file = options.results / f"shortlists-{folder.resolve().name}.json"
            about = {"n_documents": asked.n_rows, "n_dimensions": N_DIMENSIONS, "found": found}
            file.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
            rows = [[name, *(f"{x:.1%}" for x in of.values())] for name, of in found.items()]
            print("\n".join([str(file), *table([["", *map(str, SIZES)], *rows])]))


def vectors(data: datasets.Dataset, asked: Documents, run: Run) -> Iterator[tuple[str, Any, Any]]:
    """Yield vectors of labels and of the documents that are asked for, all of unit length."""
    known = check_features(data.X_train)
    pattern, _ = check_labels(data.Y_train, known.n_rows)
    Y = pattern.to_scipy()
    space = DocumentSpace.of(known, N_DIMENSIONS, run)
    placed, asked_placed = space.place(known, run), space.place(asked, run)
    yield "directions", unit_rows(Y.T @ placed), asked_placed
    spread = placed.std(axis=0)
    for name, power in (("by the root of the spread", 0.5), ("by the spread", 1.0)):
        even = spread**-power
        yield name, unit_rows(Y.T @ unit_rows(placed * even)), unit_rows(asked_placed * even)
    space = DocumentSpace.of(known, N_DIMENSIONS, run, pattern)
    yield (
        "directions learned with labels",
        unit_rows(Y.T @ space.place(known, run)),
        space.place(asked, run),
    )
    words = normalize(known.all_sparse().to_scipy())
    yield (
        "all words",
        normalize(sp.csr_array(Y.T @ words)),
        normalize(asked.all_sparse().to_scipy()),
    )


def share_found(labels: Any, documents: Any, truth: sp.csr_array) -> dict[str, float]:
    """Return which share of the true labels is among so many nearest ones."""
    found = dict.fromkeys(SIZES, 0)
    for start in range(0, documents.shape[0], ROWS_AT_ONCE):
        block = documents[start : start + ROWS_AT_ONCE] @ labels.T
        similar = block.toarray() if sp.issparse(block) else block
        nearest = np.argsort(-similar, axis=1, kind="stable")[:, : max(SIZES)]
        is_true = truth[start : start + ROWS_AT_ONCE].toarray() > 0
        hits = np.take_along_axis(is_true, nearest, axis=1)
        for size in SIZES:
            found[size] += int(hits[:, :size].sum())
    return {str(size): hits / truth.nnz for size, hits in found.items()}


if __name__ == "__main__":
    main()
