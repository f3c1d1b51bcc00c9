"""What updates cost and lose: `python -m benchmarks.updates --data D`.

Some training documents come late: a share drawn by chance, or all documents of some labels, which
are new then. The model of the others is updated with them and compared, on the test documents,
with the model that does not know them and with one trained on everything.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.options import count, plain_errors
from benchmarks.report import table
from polyseme import XRLinear, datasets, metrics
from polyseme.training.update import updated

SHARES = (0.0002, 0.001, 0.01, 0.1)
NEW_LABEL_SHARES = (0.001, 0.01)
KS = (1, 3, 5)


def main() -> None:
    """Update with more and more documents; print a table, write JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.updates", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with matrices")
    parser.add_argument(
        "--threads", type=count, default=os.cpu_count(), help="all cores by default"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="of training, and of which come late; %(default)s by default",
    )
    parser.add_argument("--output", type=Path, help="where to write JSON")
    options = parser.parse_args()
    with plain_errors("benchmarks.updates"):
        data = datasets.load(options.data)
    rng = np.random.default_rng(options.seed)
    late_parts = {
        f"{share:.2%} of documents": rng.random(data.X_train.shape[0]) < share for share in SHARES
    }
    late_parts |= {
        f"documents of {share:.1%} of labels": documents_of_labels(data.Y_train, share, rng)
        for share in NEW_LABEL_SHARES
    }
    estimator = XRLinear(n_jobs=options.threads, random_state=options.seed, verbose=0)
    full, full_seconds = timed(lambda: estimator.fit(data.X_train, data.Y_train))
    results = {
        "full": {"seconds": full_seconds, **accuracy(full, data)},
        "updates": {name: compare(data, late, options) for name, late in late_parts.items()},
    }
    print("\n".join(table(rows(results))))
    if options.output:
        options.output.write_text(json.dumps(results, indent=1) + "\n")


def documents_of_labels(Y: sp.csr_array, share: float, rng: np.random.Generator) -> Any:
    """Mark the documents with one of some labels, drawn by chance among those of few documents."""
    counts = np.asarray(Y.sum(axis=0)).ravel()
    few = np.flatnonzero((counts > 1) & (counts <= np.median(counts[counts > 1])))
    chosen = np.zeros(Y.shape[1], dtype=np.float32)
    chosen[rng.choice(few, int(share * len(few)), replace=False)] = 1
    return Y @ chosen > 0


def compare(data: Any, late: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Train without the late documents, then update with them."""
    X_old, Y_old = data.X_train[~late], data.Y_train[~late]
    X_new, Y_new = data.X_train[late], data.Y_train[late]
    n_labels = Y_old.shape[1]
    in_old = np.asarray(Y_old.sum(axis=0)).ravel() > 0
    in_new = np.asarray(Y_new.sum(axis=0)).ravel() > 0
    # Labels without an old document come after the known ones, as they would in a growing set.
    known, new = np.flatnonzero(in_old), np.flatnonzero(in_new & ~in_old)
    order = np.concatenate([known, new])
    estimator = XRLinear(n_jobs=options.threads, random_state=options.seed, verbose=0)
    old, old_seconds = timed(lambda: estimator.fit(X_old, Y_old[:, known]))
    (grown, report), seconds = timed(
        lambda: updated(old, X_old, Y_old[:, known], X_new, Y_new[:, order])
    )
    return {
        "n_documents": int(X_new.shape[0]),
        "n_new_labels": len(new),
        "n_labels": n_labels,
        "changed_clusters": report.n_changed_clusters / report.n_clusters,
        "old_seconds": old_seconds,
        "seconds": seconds,
        "phase_seconds": report.seconds,
        "old_phase_seconds": old.phase_seconds_,
        "full_training_due": list(report.full_training_due),
        "before": accuracy(old, data, known),
        "after": accuracy(grown, data, order),
    }


def accuracy(model: XRLinear, data: Any, label_of: Any = None) -> dict[str, float]:
    """Measure on the test documents, in the numbers of the whole set's labels."""
    top, _ = model.predict_top_k(data.X_test, max(KS))
    if label_of is not None:
        top = np.where(top >= 0, label_of[np.maximum(top, 0)], -1)
    return metrics.evaluate(top, data.Y_test, ks=KS)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Do the work and tell the seconds."""
    began = time.perf_counter()
    done = work()
    return done, time.perf_counter() - began


def rows(results: dict[str, Any]) -> list[list[str]]:
    """Make a line an update: cost against a full training, accuracy before, after and in full."""
    full = results["full"]
    measures = [f"P@{k}" for k in KS]
    lines = [["late", "documents", "new labels", "clusters", "time / full", *measures, "due"]]
    for name, found in results["updates"].items():
        lines.append(
            [
                name,
                f"{found['n_documents']:,}",
                f"{found['n_new_labels']:,}",
                f"{found['changed_clusters']:.0%}",
                f"{found['seconds'] / full['seconds']:.2f}",
                *(f"{found['before'][m]:.2f} > {found['after'][m]:.2f}" for m in measures),
                "yes" if found["full_training_due"] else "no",
            ]
        )
    lines.append(["full training", "", "", "", "1", *(f"{full[m]:.2f}" for m in measures), ""])
    return lines


if __name__ == "__main__":
    main()
