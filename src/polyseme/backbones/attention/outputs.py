"""What a network learns to find: all outputs, or those that are candidates of a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.inputs.sparse_rows import SparsePattern

__all__ = ["Outputs"]

MOST_WRONG = 200  # wrong candidates of a document in a step; others take their turn by chance

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Outputs:
    """What documents have, and among which outputs that is to be found.

    Attributes
    ----------
    targets : SparsePattern, shape (n_documents, n_outputs)
    parents : SparsePattern, shape (n_documents, n_parents), or None
        The outputs below these are candidates of a document; None: all outputs are.
    starts : ndarray of int64, shape (n_parents + 1,), or None
        The outputs below parent ``j`` are ``starts[j]`` to ``starts[j + 1]``.
    """

    targets: SparsePattern
    parents: SparsePattern | None = None
    starts: Integers | None = None

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.targets.n_columns

    def to_learn_from(self) -> Integers:
        """Return the documents that have candidates."""
        if self.parents is None or self.starts is None:
            return np.arange(self.targets.n_rows)
        sizes = np.append(0, np.cumsum(np.diff(self.starts)[self.parents.columns]))
        return np.flatnonzero(np.diff(sizes[self.parents.starts]))

    def log_odds(self) -> npt.NDArray[np.float32]:
        """Return what is known of outputs before anything is read, shape (n_outputs,)."""
        n_true = np.bincount(self.targets.columns, minlength=self.n_outputs)
        n_asked: Any = self.targets.n_rows
        if self.parents is not None and self.starts is not None:
            of_parents = np.bincount(self.parents.columns, minlength=self.parents.n_columns)
            n_asked = np.repeat(of_parents, np.diff(self.starts))
        n_wrong = np.maximum(n_asked - n_true, 0)
        odds: npt.NDArray[np.float32] = np.log((n_true + 0.5) / (n_wrong + 0.5)).astype(np.float32)
        return odds

    def of(
        self, rows: Integers, chance: npt.NDArray[np.float64]
    ) -> tuple[Integers | None, npt.NDArray[np.float32], npt.NDArray[np.bool_] | None]:
        """Return the candidates of some documents, side by side.

        Parameters
        ----------
        rows : ndarray of int64, shape (n_rows,)
        chance : ndarray of float64, shape (n_rows,)
            From 0 to 1; decides which wrong candidates are left out where there are many.

        Returns
        -------
        candidates : ndarray of int64, shape (n_rows, n_candidates), or None for all outputs
        targets : ndarray of float32, shape (n_rows, n_candidates)
        is_candidate : ndarray of bool, shape (n_rows, n_candidates), or None
            False where a row is padded.
        """
        if self.parents is None or self.starts is None:
            targets = np.zeros((len(rows), self.n_outputs), dtype=np.float32)
            for i, row in enumerate(rows.tolist()):
                targets[i, self.targets.row(row)] = 1
            return None, targets, None
        found = [
            self._candidates(row, luck)
            for row, luck in zip(rows.tolist(), chance.tolist(), strict=True)
        ]
        shape = len(rows), max(len(outputs) for outputs, _ in found)
        candidates, targets = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.float32)
        is_candidate = np.zeros(shape, dtype=np.bool_)
        for i, (outputs, is_true) in enumerate(found):
            candidates[i, : len(outputs)] = outputs
            targets[i, : len(outputs)] = is_true
            is_candidate[i, : len(outputs)] = True
        return candidates, targets, is_candidate

    def asked(self, row: int) -> Integers:
        """Return all candidates of a document."""
        if self.parents is None or self.starts is None:
            return np.arange(self.n_outputs)
        starts = self.starts
        below = [np.arange(starts[i], starts[i + 1]) for i in self.parents.row(row)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *below])

    def _candidates(self, row: int, luck: float) -> tuple[Integers, npt.NDArray[np.bool_]]:
        outputs = self.asked(row)
        is_true = np.isin(outputs, self.targets.row(row))
        wrong = np.flatnonzero(~is_true)
        if len(wrong) > MOST_WRONG:
            chosen = np.random.default_rng(int(luck * 2**53)).permutation(wrong)[:MOST_WRONG]
            kept = np.sort(np.concatenate([np.flatnonzero(is_true), chosen]))
            return outputs[kept], is_true[kept]
        return outputs, is_true
