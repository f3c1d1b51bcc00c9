"""Which clusters a loss is over: a document's own, and those that are mistaken for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polyseme.inputs.sparse_rows import SparsePattern

__all__ = ["Candidates", "LevelCandidates"]

Integers = npt.NDArray[np.int64]
STREAM = 0xCA4D


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates of a few documents, padded with node 0.

    Attributes
    ----------
    nodes : ndarray of int64, shape (n_documents, n_candidates)
    targets : ndarray of float32, shape (n_documents, n_candidates)
        1 for the true ones.
    is_real : ndarray of bool, shape (n_documents, n_candidates)
        False for padding.
    """

    nodes: Integers
    targets: npt.NDArray[np.float32]
    is_real: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LevelCandidates:
    """Chooses candidates on a level of the tree.

    These are the children of the true nodes above (teacher-forcing) and of those that the network
    takes for true (matcher-aware). Of too many, some are left out at random, true ones never.

    Attributes
    ----------
    targets : SparsePattern, shape (n_documents, n_nodes)
        The true nodes of the level.
    starts : ndarray of int64, shape (n_nodes_above + 1,), or None
        Where the children of the nodes above start; None if all nodes are candidates.
    most : int
        Candidates of a document.
    seed : int
    """

    targets: SparsePattern
    starts: Integers | None
    most: int
    seed: int = 0

    @property
    def are_all(self) -> bool:
        """Whether every node is a candidate of every document."""
        return self.starts is None or self.targets.n_columns <= self.most

    def of(self, rows: Integers, mistaken: Integers | None) -> Candidates:
        """Return the candidates of some documents.

        Parameters
        ----------
        rows : ndarray of int64, shape (n_rows,)
        mistaken : ndarray of int64, shape (n_rows, beam_size), or None
            Nodes above that the network finds best now; needed unless all nodes are candidates.
        """
        true = [self.targets.row(int(row)) for row in rows]
        if self.are_all:
            n_nodes = self.targets.n_columns
            nodes = np.broadcast_to(np.arange(n_nodes), (len(rows), n_nodes))
            targets = np.zeros((len(rows), n_nodes), dtype=np.float32)
            for place, own in enumerate(true):
                targets[place, own] = 1
            return Candidates(nodes, targets, np.ones(targets.shape, dtype=np.bool_))
        assert mistaken is not None
        chosen = [
            self._of_one(int(row), own, wrong)
            for row, own, wrong in zip(rows, true, mistaken, strict=True)
        ]
        width = max(len(one) for one in chosen)
        nodes = np.zeros((len(rows), width), dtype=np.int64)
        targets = np.zeros((len(rows), width), dtype=np.float32)
        is_real = np.zeros((len(rows), width), dtype=np.bool_)
        for place, (one, own) in enumerate(zip(chosen, true, strict=True)):
            nodes[place, : len(one)] = one
            targets[place, : len(own)] = 1
            is_real[place, : len(one)] = True
        return Candidates(nodes, targets, is_real)

    def _of_one(
        self, row: int, true: npt.NDArray[np.int32], mistaken: Integers
    ) -> npt.NDArray[np.int64]:
        """Return the candidates of a document, the true ones first."""
        assert self.starts is not None
        above = np.searchsorted(self.starts, true, side="right") - 1
        parents = np.union1d(above, mistaken)
        others = np.concatenate(
            [np.arange(self.starts[p], self.starts[p + 1]) for p in parents.tolist()]
        )
        others = np.setdiff1d(others, true, assume_unique=True)
        room = max(1, self.most - len(true))
        if len(others) > room:
            chance = np.random.default_rng([STREAM, self.seed, row])
            others = chance.choice(others, room, replace=False)
        return np.concatenate([true.astype(np.int64), others])
