"""A program that finds the plane of a saved model and writes it to stdout; see `planes`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import polyseme
from polyseme.machine.run import Run
from polyseme.senses.plane import Plane, plane_of
from polyseme.server.kept_planes import fingerprint_of, to_bytes
from polyseme.tagger import tagger_for

__all__ = ["laid_out", "main"]

MOST_LABELS = 200_000  # a browser draws no more of them smoothly
POLITENESS = 5  # see os.nice; more, and whoever waits for a map on a busy machine waits for long


def laid_out(classifier: Any) -> Plane | None:
    """Find where the labels of a model lie; one thread, many seconds for a large model."""
    return plane_of(classifier, MOST_LABELS, Run(0, 1))


def main(folder: Path, fingerprint: str) -> None:
    """Lay out a saved model, which must still be the one with this fingerprint."""
    if hasattr(os, "nice"):
        os.nice(POLITENESS)
    plane = laid_out(tagger_for(polyseme.load(folder, n_jobs=1)).classifier)
    if fingerprint_of(folder) != fingerprint:
        sys.exit("the model was replaced meanwhile")
    sys.stdout.buffer.write(to_bytes(plane))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
