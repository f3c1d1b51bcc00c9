"""The nearest of many vectors: a graph of neighbours, by faiss (extra ``neighbours``)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.files.stored_model import StoredModel
from polyseme.machine.extras import how_to_install
from polyseme.machine.run import Run

__all__ = ["NeighbourIndex", "needed_library"]

FEW = 1000  # vectors that are compared one by one; a graph would be no quicker
N_LINKS = 16  # of a vector on each level of the graph; twice as many on the lowest
EFFORT_OF_BUILDING = 100
LEAST_EFFORT = 64  # vectors that a search keeps an eye on

Floats = npt.NDArray[np.float32]
Whole = npt.NDArray[np.int32]


def needed_library() -> Any:
    """Return faiss, or say how to get it."""
    try:
        with warnings.catch_warnings():  # what SWIG writes warns in newer Pythons
            warnings.simplefilter("ignore", DeprecationWarning)
            import faiss
    except ImportError as error:
        raise ValueError(
            f"methods of nearest neighbours need faiss; {how_to_install('neighbours')}."
        ) from error
    return faiss


@dataclass(frozen=True, eq=False)
class NeighbourIndex:
    """Vectors of unit length, and a graph that leads to the nearest ones of any other.

    The graph (HNSW) is built by one thread, so that it is the same on any number of them. Few
    vectors have none.

    Attributes
    ----------
    vectors : ndarray of float32, shape (n, n_dimensions)
    graph : faiss.IndexHNSWFlat or None
    """

    vectors: Floats
    graph: Any = None

    @classmethod
    def of(cls, vectors: Floats) -> NeighbourIndex:
        """Index vectors of unit length, or of zeros."""
        faiss = needed_library()
        if len(vectors) <= FEW:
            return cls(vectors)
        graph = _empty_graph(faiss, vectors.shape[1])
        with _Threads(faiss, 1):
            graph.add(vectors)
        return cls(vectors, graph)

    def nearest(
        self, asked: Floats, k: int, run: Run
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return the k nearest vectors of each that is asked for, nearest first.

        Returns
        -------
        ids : ndarray of int64, shape (n_asked, k')
            ``k'`` is at most k; -1 where the graph led to fewer.
        similarities : ndarray of float64, shape (n_asked, k')
            Cosines, -1 to 1.
        """
        k = min(k, len(self.vectors))
        if self.graph is None or len(asked) == 0 or k == 0:
            return self._compared_with_all(asked, k)
        faiss = needed_library()
        how = faiss.SearchParametersHNSW(efSearch=max(LEAST_EFFORT, k + k // 2))
        with _Threads(faiss, run.n_threads):
            found, ids = self.graph.search(np.ascontiguousarray(asked), k, params=how)
        found = np.where(ids >= 0, found.astype(np.float64), -1)
        return ids.astype(np.int64), found.clip(-1, 1)

    def _compared_with_all(
        self, asked: Floats, k: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        ids = np.empty((len(asked), k), dtype=np.int64)
        found = np.empty((len(asked), k))
        for i, one in enumerate(asked):  # one by one: a sum must not depend on the others
            similar = np.einsum("ij,j->i", self.vectors, one)
            ids[i] = np.argsort(-similar, kind="stable")[:k]
            found[i] = similar[ids[i]]
        return ids, found.clip(-1, 1)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the vectors and the links of the graph."""
        arrays: dict[str, npt.NDArray[Any]] = {"vectors": self.vectors}
        if self.graph is not None:
            faiss, hnsw = needed_library(), self.graph.hnsw
            arrays["levels"] = faiss.vector_to_array(hnsw.levels)
            arrays["links"] = faiss.vector_to_array(hnsw.neighbors)
            arrays["entry"] = np.array([hnsw.entry_point], dtype=np.int32)
        return arrays

    @classmethod
    def restored(cls, stored: StoredModel, n: int, n_dimensions: int) -> NeighbourIndex:
        """Return a saved index after checking that no search can leave it."""
        vectors = stored.array("vectors", np.float32, (n, n_dimensions))
        stored.finite("vectors")
        if n <= FEW:
            return cls(vectors)
        faiss = needed_library()
        graph = _empty_graph(faiss, n_dimensions)
        # How many links come before those of a level, in the row of one vector.
        before = faiss.vector_to_array(graph.hnsw.cum_nneighbor_per_level).astype(np.int64)
        levels = stored.array("levels", np.int32, (n,))
        stored.in_range("levels", 1, len(before))
        starts = np.concatenate([[0], np.cumsum(before[levels])])
        links = stored.array("links", np.int32, (int(starts[-1]),))
        stored.in_range("links", -1, n)
        entry = int(stored.array("entry", np.int32, (1,))[0])
        if not 0 <= entry < n or levels[entry] != levels.max():
            raise stored.damaged("its graph of neighbours is entered at a wrong vector")
        level_of_link = _levels_of_links(levels, before, starts)
        if (levels[np.maximum(links, 0)] < level_of_link)[links >= 0].any():
            raise stored.damaged("its graph of neighbours leads to a level that is not there")
        graph.storage.add(np.ascontiguousarray(vectors))
        graph.ntotal = n
        hnsw = graph.hnsw
        faiss.copy_array_to_vector(np.array(levels), hnsw.levels)
        faiss.copy_array_to_vector(starts.astype(np.uint64), hnsw.offsets)
        faiss.copy_array_to_vector(np.array(links), hnsw.neighbors)
        hnsw.entry_point, hnsw.max_level = entry, int(levels.max()) - 1
        return cls(vectors, graph)


def _empty_graph(faiss: Any, n_dimensions: int) -> Any:
    graph = faiss.IndexHNSWFlat(n_dimensions, N_LINKS, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = EFFORT_OF_BUILDING
    return graph


def _levels_of_links(
    levels: Whole, before: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the level of each link, from 1 on the lowest, as `levels` counts."""
    place = np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts))
    return np.searchsorted(before, place, side="right")


class _Threads:
    """So many threads of faiss, and after that as many as before."""

    def __init__(self, faiss: Any, n: int) -> None:
        self._faiss, self._n, self._before = faiss, n, faiss.omp_get_max_threads()

    def __enter__(self) -> None:
        self._faiss.omp_set_num_threads(self._n)

    def __exit__(self, *what: object) -> None:
        self._faiss.omp_set_num_threads(self._before)
