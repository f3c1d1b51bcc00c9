"""A matcher that takes a document to the clusters whose documents lie nearest (SLICE)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.nearest.index import NeighbourIndex, needed_library
from polyseme.backbones.nearest.space import DocumentSpace, unit_rows
from polyseme.backbones.protocols import ModelShape
from polyseme.backbones.tasks import MatchingTask
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.run import Run

__all__ = ["NearestClusterMatcher"]

ROWS_AT_ONCE = 4096
LEAST_SCORE = 1e-6  # scores multiply, and what was visited must not vanish


@dataclass
class NearestClusterMatcher:
    """Clusters as vectors, the sums of their documents; a graph leads to those near a document.

    Parameters
    ----------
    n_dimensions : int
        Directions that sparse features are projected to; dense features stay as they are.
    """

    n_dimensions: int = 256
    space: DocumentSpace | None = None
    index: NeighbourIndex | None = None

    def fit(self, documents: Documents, task: MatchingTask, run: Run) -> NearestClusterMatcher:
        """Sum the documents of each cluster; those that did not change keep their vectors."""
        needed_library()  # before the work begins
        earlier: NearestClusterMatcher | None = None if task.changed is None else task.start_from
        self.space = (
            DocumentSpace.of(documents, self.n_dimensions, run)
            if earlier is None
            else earlier.trained[0]
        )
        vectors = unit_rows(task.targets.to_scipy().T @ self.space.place(documents, run))
        if task.changed is not None and earlier is not None:
            vectors = np.where(task.changed[:, None], vectors, earlier.trained[1].vectors)
        self.index = NeighbourIndex.of(vectors)
        if run.progress is not None:
            run.progress(task.tree.n_nodes_below_root)
        return self

    @property
    def trained(self) -> tuple[DocumentSpace, NeighbourIndex]:
        """The space and the index; a matcher without them is refused."""
        if self.space is None or self.index is None:
            raise ValueError("this matcher has not been trained; call fit first")
        return self.space, self.index

    def match(self, documents: Documents, beam_size: int, run: Run) -> SparseRows:
        """Return the nearest clusters; scores are above 0 and at most 1, one half at right angles.

        Returns
        -------
        SparseRows, shape (n_documents, n_clusters)
        """
        space, index = self.trained
        parts = []
        for block in documents.blocks(ROWS_AT_ONCE):
            ids, similar = index.nearest(space.place(block, run), beam_size, run)
            scores = ((1 + similar) / 2).clip(LEAST_SCORE, 1).astype(np.float32)
            parts.append(_rows(ids, scores, len(index.vectors)))
            if run.progress is not None:
                run.progress(sum(part.n_rows for part in parts))
        return SparseRows.stack(parts)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return directions, vectors and links."""
        space, index = self.trained
        return {**space.to_arrays(), **index.to_arrays()}

    def restore(self, stored: StoredModel, shape: ModelShape) -> None:
        """Take over the arrays of a saved matcher."""
        self.space = DocumentSpace.restored(stored, shape.n_sparse, shape.n_dense)
        self.index = NeighbourIndex.restored(
            stored, shape.tree.n_clusters, self.space.n_dimensions
        )


def _rows(
    ids: npt.NDArray[np.int64], scores: npt.NDArray[np.float32], n_columns: int
) -> SparseRows:
    """Return what was found, -1 left out, as rows with ascending columns."""
    order = np.argsort(ids, axis=1, kind="stable")
    ids, scores = np.take_along_axis(ids, order, axis=1), np.take_along_axis(scores, order, axis=1)
    is_found = ids >= 0
    starts = np.concatenate([[0], np.cumsum(is_found.sum(axis=1))]).astype(np.int64)
    return SparseRows(starts, ids[is_found].astype(np.int32), scores[is_found], n_columns)
