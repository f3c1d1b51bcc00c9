"""Outputs of a network that begin where the linear solver would end, not by chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.linear.weights import LinearTraining, LinearWeights
from polyseme.backbones.neural.library import needed_library
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.run import Run

__all__ = ["empty_head", "start_of_head"]

Floats = npt.NDArray[np.float32]


def empty_head(n_nodes: int, n_dimensions: int) -> Any:
    """Return a linear layer of zeros."""
    torch = needed_library()
    head = torch.nn.Linear(n_dimensions, n_nodes)
    with torch.no_grad():
        head.weight.zero_()
        head.bias.zero_()
    return head


def start_of_head(vectors: Floats, targets: SparsePattern, run: Run) -> tuple[Floats, Floats]:
    """Find a linear classifier for each node, by the solver of XR-Linear.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n_documents, n_dimensions)
    targets : SparsePattern, shape (n_documents, n_nodes)

    Returns
    -------
    weights : ndarray of float32, shape (n_nodes, n_dimensions)
    bias : ndarray of float32, shape (n_nodes,)
    """
    n_documents, n_nodes = targets.shape
    everyone = SparsePattern(
        np.arange(n_documents + 1, dtype=np.int64), np.zeros(n_documents, dtype=np.int32), 1
    )
    trained, _ = LinearWeights.train(
        Documents(dense=np.ascontiguousarray(vectors)),
        everyone,
        np.array([0, n_nodes], dtype=np.int64),
        np.arange(n_nodes, dtype=np.int32),
        targets,
        LinearTraining(),
        run.reporting_to(None),
    )
    weights = trained.to_rows().to_scipy().toarray().T
    return np.ascontiguousarray(weights, dtype=np.float32), trained.bias.astype(np.float32)
