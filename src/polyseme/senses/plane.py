"""Labels in the plane: those that words speak for alike lie near each other.

The weights of labels are taken to the whitened space of senses. Frequent labels are landmarks,
laid out by t-SNE; each other label lies among the landmarks that are most similar to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from polyseme.backbones.protocols import Weighs
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.run import Run
from polyseme.senses.layer import SHOWN_FROM, SenseLayer
from polyseme.senses.space import whitened, with_unit_rows

if TYPE_CHECKING:
    from polyseme.estimators.partitioned import PartitionedClassifier as Model

__all__ = ["Plane", "plane_of"]

N_LANDMARKS = 1000
N_NEIGHBOURS = 12  # that a landmark is drawn to
N_STEPS = 300
N_NEAREST = 4  # landmarks that a label lies among
SHARPNESS = 12.0  # how much more the most similar one counts
SPREAD = 0.35  # of the distance between landmarks; else labels would lie on lines between them
N_TOGETHER = 4096  # rows that are compared with all landmarks at a time

Floats = npt.NDArray[np.float32]
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Plane:
    """Where labels and senses lie.

    Attributes
    ----------
    labels : ndarray of int64, shape (n_labels,)
        Those with most documents first.
    positions : ndarray of float32, shape (n_labels, 2)
        From 0 to 1.
    senses : ndarray of int64, shape (n_senses,)
        Senses of labels that are shown with several, numbered as in the layer.
    sense_positions : ndarray of float32, shape (n_senses, 2)
    """

    labels: Whole
    positions: Floats
    senses: Whole
    sense_positions: Floats


def plane_of(model: Model, n_labels: int, run: Run) -> Plane | None:
    """Return where the most frequent labels lie; None where the model has no weights to tell.

    Parameters
    ----------
    n_labels : int
        At most so many.
    """
    if not isinstance(model.ranker_, Weighs):
        return None
    labels = np.argsort(-model.label_counts_, kind="stable")[:n_labels]
    senses = _shown_senses(model)
    layer, rows, own = model.senses_, [_weights_of(model, labels)], np.full(len(labels), -1)
    if layer is not None and len(senses):
        rows.append(layer.words.take(senses))
    space = whitened(Documents(SparseRows.stack(rows)), run)
    if layer is not None and len(senses):
        own = np.append(own, _draw_to_labels_beside(space, layer, labels, senses))
    n_landmarks = min(N_LANDMARKS, len(labels))
    placed = _placed(space, _laid_out(space[:n_landmarks], run), own, run)
    return Plane(labels, placed[: len(labels)], senses, placed[len(labels) :])


def _shown_senses(model: Model) -> Whole:
    layer = model.senses_
    if layer is None:
        return np.zeros(0, dtype=np.int64)
    is_shown = np.repeat(layer.probabilities >= SHOWN_FROM, np.diff(layer.starts))
    return np.flatnonzero(is_shown)


def _weights_of(model: Model, labels: Whole) -> SparseRows:
    """Return the weights of labels, summed over their slots, shape (n_labels, n_features)."""
    assert isinstance(model.ranker_, Weighs)
    weights = model.ranker_.all_weights().to_scipy()  # features x slots
    clusters = model.clusters_
    place = np.full(clusters.n_labels, -1)
    place[labels] = np.arange(len(labels))
    slots = np.flatnonzero(place[clusters.labels] >= 0)
    ones = np.ones(len(slots), dtype=np.float32)
    shape = (len(labels), clusters.n_slots)
    of_label = sp.csr_array((ones, (place[clusters.labels[slots]], slots)), shape=shape)
    return SparseRows.from_scipy(of_label @ weights.T.tocsr())


def _draw_to_labels_beside(
    space: Floats, layer: SenseLayer, labels: Whole, senses: Whole
) -> Whole:
    """Draw senses, the last rows, half-way to the labels beside them: words like "the" mislead.

    Returns
    -------
    ndarray of int64, shape (n_senses,)
        The row of each sense's own label; -1 where it is not among `labels`.
    """
    place = np.full(layer.beside.n_columns, -1)
    place[labels] = np.arange(len(labels))
    beside = layer.beside.take(senses).to_scipy().tocsr()[:, labels]
    middle = with_unit_rows(beside @ space[: len(labels)])
    space[len(labels) :] = with_unit_rows(space[len(labels) :] + middle)
    own: Whole = place[layer.labels_of(senses)]
    return own


def _laid_out(landmarks: Floats, run: Run) -> Floats:
    """Return landmarks in the plane, shape (n_landmarks, 2): t-SNE of their nearest neighbours.

    Written out here: scikit-learn's takes 9 s for a thousand landmarks, this one 3 s.
    """
    n = len(landmarks)
    if n < 4:  # too few for a neighbourhood
        turns = 2 * np.pi * np.arange(n) / max(1, n)
        return np.stack([np.cos(turns), np.sin(turns)], axis=1).astype(np.float32)
    rng = np.random.default_rng([run.seed, n])
    with threadpool_limits(limits=1):  # sums must not depend on the number of threads
        wanted = _neighbours(landmarks)
        places = 1e-2 * rng.standard_normal((n, 2)).astype(np.float32)
        speed, gains = np.zeros_like(places), np.ones_like(places)
        for step in range(N_STEPS):
            is_early = step < N_STEPS // 4  # groups form first, then they spread
            squares = (places**2).sum(axis=1)
            near = 1 / (1 + np.maximum(squares[:, None] + squares - 2 * places @ places.T, 0))
            np.fill_diagonal(near, 0)
            pull = ((12 if is_early else 1) * wanted - near / near.sum()) * near
            slope = pull.sum(axis=1)[:, None] * places - pull @ places
            gains = np.maximum(
                0.01, np.where((slope > 0) == (speed > 0), 0.8 * gains, gains + 0.2)
            )
            speed = (0.5 if is_early else 0.8) * speed - max(n / 3, 50) * gains * slope
            places += speed
            places -= places.mean(axis=0)
    found: Floats = places.astype(np.float32)
    return found


def _neighbours(rows: Floats) -> Floats:
    """Return how much each row belongs with each other one; all sums to 1."""
    likeness = rows @ rows.T
    np.fill_diagonal(likeness, -np.inf)
    n_nearest = min(N_NEIGHBOURS, len(rows) - 1)
    nearest = np.argpartition(-likeness, n_nearest - 1, axis=1)[:, :n_nearest]
    found = np.zeros(likeness.shape, dtype=np.float32)
    np.put_along_axis(found, nearest, 1.0, axis=1)
    found += found.T
    together: Floats = found / found.sum()
    return together


def _placed(space: Floats, landmarks: Floats, own: Whole, run: Run) -> Floats:
    """Return all rows in the plane, from 0 to 1; the first are the landmarks themselves.

    A sense goes where it leads, not to its `own` label.
    """
    n_landmarks = len(landmarks)
    low, high = landmarks.min(axis=0), landmarks.max(axis=0)
    known = (landmarks - low) / np.maximum(high - low, 1e-9)
    placed = np.empty((len(space), 2), dtype=np.float32)
    placed[:n_landmarks] = known
    rng = np.random.default_rng([run.seed, n_landmarks])
    apart = SPREAD / np.sqrt(max(1, n_landmarks))
    n_nearest = min(N_NEAREST, n_landmarks)
    is_landmark = (own >= 0) & (own < n_landmarks)
    for first in range(n_landmarks, len(space), N_TOGETHER):
        block = space[first : first + N_TOGETHER]
        likeness = block @ space[:n_landmarks].T
        (has_own,) = np.nonzero(is_landmark[first : first + N_TOGETHER])
        likeness[has_own, own[first + has_own]] = -2.0  # below all others
        nearest = np.argpartition(-likeness, n_nearest - 1, axis=1)[:, :n_nearest]
        close = np.take_along_axis(likeness, nearest, axis=1)
        weights = np.exp(SHARPNESS * (close - close.max(axis=1, keepdims=True)))
        weights /= weights.sum(axis=1, keepdims=True)
        middle = np.einsum("ij,ijk->ik", weights, known[nearest])
        beside = apart * rng.standard_normal((len(block), 2)).astype(np.float32)
        placed[first : first + N_TOGETHER] = middle + beside
    low, high = placed.min(axis=0), placed.max(axis=0)
    spread: Floats = (placed - low) / np.maximum(high - low, 1e-9)
    return spread
