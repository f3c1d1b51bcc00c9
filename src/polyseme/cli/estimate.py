"""``polyseme train --estimate``: what training would take, before it begins."""

from __future__ import annotations

import dataclasses
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from polyseme import datasets
from polyseme.cli.shared import console, plain_table, print_json
from polyseme.cost.estimate import Range, TrainingEstimate, estimate_training
from polyseme.cost.memory import available_memory
from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.machine.progress import Progress
from polyseme.machine.quantities import spoken_bytes, spoken_seconds
from polyseme.machine.threads import count_jobs
from polyseme.partition.trees.given import LabelHierarchy

__all__ = ["estimate_on_matrices", "print_estimate"]

READING = "Reading the data"


def estimate_on_matrices(
    model: PartitionedClassifier,
    data: Path,
    as_json: bool,
    hierarchy: LabelHierarchy | None = None,
) -> None:
    """Read the data as `train` does, try samples of it, and print what the whole would take."""
    data = datasets.resolve_dataset(data)
    smallest, available = _least_memory(data), available_memory()
    if available is not None and smallest > available:
        _refuse_data(data, smallest, available, as_json)
        return
    progress = Progress()
    with progress:
        with progress.phase(READING):
            dataset = datasets.load(data, n_threads=count_jobs(model.n_jobs))
        with progress.phase("Training on samples"):
            found = estimate_training(
                model,
                dataset.train_documents(with_texts=model.reads_texts),
                dataset.Y_train,
                label_names=dataset.label_names,
                hierarchy=hierarchy,
            )
    reading = Range.exactly(progress.seconds[READING])
    print_estimate(
        model,
        dataclasses.replace(
            found,
            seconds={READING: reading, **found.seconds},
            total_seconds=found.total_seconds + reading,
        ),
        data,
        as_json,
    )


def print_estimate(
    model: PartitionedClassifier, found: TrainingEstimate, data: Path, as_json: bool
) -> None:
    """Print times, sizes, and whether it fits."""
    if as_json:
        print_json(
            {
                "data": str(data),
                **dataclasses.asdict(found),
                "fits": found.fits,
                "advice": advice(model, found),
            }
        )
        return
    out = console()
    rows = [(phase, *_cells(seconds, spoken_seconds)) for phase, seconds in found.seconds.items()]
    rows.append(("Total", *_cells(found.total_seconds, spoken_seconds)))
    out.print(plain_table(("Phase", "about", "from", "to"), rows, numbers=range(1, 4)))
    out.print()
    rows = [("Model on disk", *_cells(found.model_bytes, spoken_bytes))]
    if found.peak_bytes is not None:
        rows.insert(0, ("Peak memory", *_cells(found.peak_bytes, spoken_bytes)))
    rows.append(("Prediction, per document", *_cells(found.microseconds_per_document, _micro)))
    out.print(plain_table(("Size and speed", "about", "from", "to"), rows, numbers=range(1, 4)))
    out.print()
    sampled = f"From training on {found.n_sampled:,} of {found.n_documents:,} documents."
    out.print(sampled, markup=False, soft_wrap=True)
    out.print(verdict(model, found), markup=False, soft_wrap=True)


def verdict(model: PartitionedClassifier, found: TrainingEstimate) -> str:
    """Say whether the job fits, and if not, what to change."""
    if found.peak_bytes is None or found.available_bytes is None:
        return "This system does not tell how much memory is used; whether it fits is unknown."
    have = spoken_bytes(found.available_bytes)
    if found.peak_bytes.high <= found.available_bytes:
        return f"Fits: {have} of memory are available."
    if found.fits:
        return (
            f"Probably fits, with little to spare: {have} of memory are available. If not: "
            f"{advice(model, found)}"
        )
    return (
        f"Does NOT fit: about {spoken_bytes(found.peak_bytes.about)} are needed, and {have} of "
        f"memory are available. {advice(model, found)}"
    )


def advice(model: PartitionedClassifier, found: TrainingEstimate) -> str:
    """Say what makes the phase with the highest peak smaller; nothing if all fits easily."""
    if (
        found.peak_bytes is None
        or found.available_bytes is None
        or found.peak_bytes.high <= found.available_bytes
    ):
        return ""
    ways = {
        "Training the ranker": ["a higher --min-weight", "--max-weights-per-label"],
        "Training the matcher": ["fewer --threads"],
        "Training the matcher again": ["fewer --threads"],
        "Matching": ["a smaller --beam-size"],
        "Cross-matching": ["--match-folds 0", "fewer --threads"],
        "Assigning labels": ["a smaller --beam-size"],
    }.get(found.peak_phase, [])
    if model.copies > 1 and found.peak_phase != "Label tree":
        ways = [f"fewer --copies than {model.copies}", *ways]
    ways.append("fewer documents, or fewer features per document")
    return f"{found.peak_phase} needs most; try {', or '.join(ways)}."


def _least_memory(data: Path) -> int:
    """Return what the matrices of a data folder take at least, without reading them.

    0 for other data, and for what is missing or damaged: reading it will say so.
    """
    n_bytes = 0
    for file in data.glob("[XY].t[rs][nt].npz") if data.is_dir() else []:
        with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(file) as arrays:
            n_bytes += sum(array.file_size for array in arrays.infolist())
    return n_bytes


def _refuse_data(data: Path, smallest: int, available: int, as_json: bool) -> None:
    sentence = (
        f"Does NOT fit: the data alone need about {spoken_bytes(smallest)}, and "
        f"{spoken_bytes(available)} of memory are available. Train on fewer documents, or on "
        "fewer features per document."
    )
    if as_json:
        print_json(
            {
                "data": str(data),
                "fits": False,
                "available_bytes": available,
                "data_bytes": smallest,
                "advice": sentence,
            }
        )
        return
    console().print(sentence, markup=False, soft_wrap=True)


def _cells(figure: Range, form: Callable[[float], str]) -> list[str]:
    return [form(value) for value in (figure.about, figure.low, figure.high)]


def _micro(microseconds: float) -> str:
    return f"{microseconds:.3g} us" if microseconds < 10_000 else f"{microseconds / 1000:.3g} ms"
