"""A program for `torchrun`: every process fine-tunes an encoder with the others, and says how.

    torchrun --nproc_per_node 2 -m tests.together ENCODER FOLDER

Each process writes what it came to into a file of its own; models and checkpoints go to FOLDER.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from polyseme import XTransformer
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.processes import count_processes, is_main_process

N = 90
N_LABELS = 24


def corpus() -> tuple[list[str], list[list[int]]]:
    """Return texts whose label is told by two words, among one that tells nothing."""
    chance = np.random.default_rng(0)
    labels = chance.integers(0, N_LABELS, size=N)
    texts = [
        f"coarse{label // 4} fine{label % 4} noise{chance.integers(0, 20)}" for label in labels
    ]
    return texts, [[int(label)] for label in labels]


def fitted(encoder: Path, work: Path) -> XTransformer:
    texts, labels = corpus()
    columns = np.eye(N_LABELS, dtype=np.float32)[[one[0] for one in labels]]
    documents = Documents(SparseRows.from_dense(columns), texts=texts)
    model = XTransformer(
        str(encoder),
        n_steps=3,
        batch_size=16,
        learning_rate=1e-3,
        finetuning_leaf_size=2,
        ordering="product",
        senses="none",
        copies=1,
        work_folder=str(work),
        device="cpu",
        verbose=0,
    )
    return model.fit(documents, labels)


def weights_of(model: XTransformer) -> dict[str, np.ndarray]:
    network = model.features_.encoder.network
    found = {name: value.numpy() for name, value in network.state_dict().items()}
    return {**found, "losses": np.array([level["loss"] for level in model.finetuning_])}


if __name__ == "__main__":
    encoder, folder = Path(sys.argv[1]), Path(sys.argv[2])
    model = fitted(encoder, folder / "work")
    who = "main" if is_main_process() else "other"
    model.save(folder / f"model-{who}")
    texts, _ = corpus()
    np.savez(
        folder / f"{who}.npz",
        n_processes=count_processes(),
        embeddings=model.features_.store.embed(texts, model._run(), keep=False),
        **weights_of(model),
    )
