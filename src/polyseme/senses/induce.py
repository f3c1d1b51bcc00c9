"""Find the senses of labels in the documents that have them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from polyseme.machine.run import Run
from polyseme.senses.layer import SenseLayer
from polyseme.senses.space import whitened, with_unit_rows

__all__ = ["induce_senses"]

ENOUGH_DOCUMENTS = 20
N_WORDS, N_BESIDE, N_TYPICAL = 300, 100, 5


def induce_senses(documents: Documents, Y: SparsePattern, run: Run) -> SenseLayer:
    """Stand-in: 2-means of text and other labels; probabilities are not calibrated."""
    Z = whitened(documents, run)
    X, labels = documents.to_scipy(), Y.to_scipy()
    counts = np.bincount(Y.columns, minlength=Y.n_columns)
    idf = np.log(Y.n_rows / np.maximum(1, counts)).astype(np.float32)
    of_label = with_unit_rows(labels.T @ Z)
    weighted = sp.csr_array(labels.multiply(idf[None, :]))
    everything = weighted @ of_label
    by_label = Y.transpose()
    judged, probabilities, sizes, words, beside, typical = [], [], [], [], [], []
    for label in np.flatnonzero(counts >= ENOUGH_DOCUMENTS).tolist():
        rows = by_label.row(label)
        others = everything[rows] - idf[label] * of_label[label]
        has = np.linalg.norm(others, axis=1, keepdims=True) > 1e-4
        others = with_unit_rows(np.where(has, others, Z[rows]))
        R = with_unit_rows(np.hstack([0.5 * Z[rows], others]))
        rng = np.random.default_rng([run.seed, label])
        best, best_fit = np.zeros(len(rows), dtype=int), -np.inf
        for _ in range(8):
            M = R[rng.choice(len(R), 2, replace=False)]
            for _ in range(20):
                s = (R @ M.T).argmax(1)
                M = with_unit_rows(np.stack([R[s == j].sum(0) for j in (0, 1)]))
            fit = float((R @ M.T).max(1).sum())
            if fit > best_fit and 0 < s.sum() < len(s):
                best, best_fit = s, fit
        n = np.bincount(best, minlength=2)
        if n.min() == 0:
            continue
        best = best if n[0] >= n[1] else 1 - best
        n = np.sort(n)[::-1]
        M = with_unit_rows(np.stack([others[best == j].sum(0) for j in (0, 1)]))
        judged.append(label)
        p = n[1] / n.sum()
        probabilities.append(np.clip(4 * p * (1 - p) * (1 - float(M[0] @ M[1])), 0, 1))
        for j in (0, 1):
            own = rows[best == j]
            sizes.append(len(own))
            words.append(_summed(X, own, N_WORDS))
            beside.append(_summed(weighted, own, N_BESIDE, without=label))
            order = own[np.argsort(-(R[best == j] @ R[best == j].sum(0)), kind="stable")]
            typical.append([*order[:N_TYPICAL], *[-1] * (N_TYPICAL - len(order[:N_TYPICAL]))])
    starts = 2 * np.arange(len(judged) + 1, dtype=np.int64)
    return SenseLayer(
        labels=np.array(judged, dtype=np.int32),
        probabilities=np.array(probabilities, dtype=np.float32),
        starts=starts,
        counts=np.array(sizes, dtype=np.int64),
        words=_stacked(words, documents.n_features),
        beside=_stacked(beside, Y.n_columns),
        typical=np.array(typical, dtype=np.int64).reshape(-1, N_TYPICAL),
    )


def _summed(
    matrix: sp.csr_array, rows: npt.NDArray[np.int32], n: int, without: int = -1
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    total = np.asarray(matrix[rows].sum(axis=0)).ravel()
    if without >= 0:
        total[without] = 0
    columns = np.sort(np.argsort(-total, kind="stable")[:n])
    columns = columns[total[columns] > 0]
    values = total[columns] / max(1e-12, float(np.linalg.norm(total[columns])))
    return columns.astype(np.int32), values.astype(np.float32)


def _stacked(
    rows: list[tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]], n_columns: int
) -> SparseRows:
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(columns) for columns, _ in rows], out=starts[1:])
    columns = [c for c, _ in rows] or [np.zeros(0, np.int32)]
    values = [v for _, v in rows] or [np.zeros(0, np.float32)]
    return SparseRows(starts, np.concatenate(columns), np.concatenate(values), n_columns)
