"""The space in which senses are told apart: documents, fully whitened.

Its directions all count alike, however much of the documents they explain: the strongest ones of a
corpus are those of language and kind of text, which say nothing about senses.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from polyseme.inputs.documents import Documents
from polyseme.machine.run import Run

__all__ = ["whitened", "with_unit_rows"]

N_DIMENSIONS = 128
N_MORE = 10  # directions that are looked for besides, so that those kept are found well
N_SAMPLED = 10_000  # documents that the space is learned from
N_ITERATIONS = 3

Floats = npt.NDArray[np.float32]


def whitened(documents: Documents, run: Run) -> Floats:
    """Return documents in the whitened space, shape (n_documents, n_dimensions), rows of unit length.

    The space is that of the leading singular vectors of a sample, each divided by its singular
    value. They are found by subspace iteration among the sampled documents.
    """
    rng = np.random.default_rng([run.seed, 11])
    n_documents, n_features = documents.shape
    rows = np.sort(rng.permutation(n_documents)[:N_SAMPLED])
    X = documents.take(rows).to_scipy()
    n_wanted = min(N_DIMENSIONS + N_MORE, *X.shape)
    basis = rng.standard_normal((len(rows), n_wanted), dtype=np.float32)
    with threadpool_limits(1):  # the same sums for any number of threads
        for _ in range(N_ITERATIONS):
            basis = np.linalg.qr(X @ (X.T @ basis))[0]
        inner = X.T @ basis  # n_features x n_wanted
        values, vectors = np.linalg.eigh(inner.T @ inner)
        order = np.argsort(-values)[:N_DIMENSIONS]
        kept = order[values[order] > 1e-6 * max(1e-12, values.max())]
        projection = (inner @ (vectors[:, kept] / values[kept])).astype(np.float32)
    return with_unit_rows(documents.to_scipy() @ projection)


def with_unit_rows(rows: npt.NDArray[np.floating]) -> Floats:
    """Return rows of unit length; those of zeros stay."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
