"""One trial: settings are trained on a sample of the documents and measured on held-out ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.cost.estimate import estimate_training
from polyseme.cost.of_senses import NUMBERS_PER_JUDGED, judged_sizes
from polyseme.cost.samples import arrays_of
from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.progress import Progress
from polyseme.metrics import Propensities, propensities
from polyseme.tuning.candidates import Parameters, with_parameters
from polyseme.tuning.metric import Metric

__all__ = ["Laboratory", "Measured", "OutOfTimeError", "sample_sizes"]

FEWEST_DOCUMENTS = 20  # of fewer, none can be spared
MOST_HELD_OUT = 10_000
SAMPLES = (27, 9, 3, 1)  # one of so many training documents
SMALLEST_SAMPLE = 3000


class OutOfTimeError(Exception):
    """A trial that was stopped because it took too long."""


@dataclass(frozen=True)
class Measured:
    """What a trial found, or an estimate.

    Attributes
    ----------
    score : float or None
        In percent; None of a trial that was stopped, and of an estimate.
    model_bytes : int or None
        Of the model that was trained; None where the backbone cannot be saved.
    peak_bytes : int or None
        Memory that training on all documents takes; only an estimate knows.
    """

    score: float | None = None
    model_bytes: int | None = None
    peak_bytes: int | None = None


@dataclass(frozen=True, eq=False)
class Laboratory:
    """Documents, apart from those that are held out, and how settings are tried on them.

    Attributes
    ----------
    estimator : PartitionedClassifier
        Parameters that are not tuned are as in it.
    documents : Documents
    labels : SparsePattern, shape (n_documents, n_labels)
    metric : Metric
    held_out : float
        Share of the documents that all trials are measured on.
    seed : int
        Chooses these, and the samples.
    a, b : float
        Constants of the propensities.
    """

    estimator: PartitionedClassifier
    documents: Documents
    labels: SparsePattern
    metric: Metric
    held_out: float
    seed: int
    a: float
    b: float

    @property
    def n_held_out(self) -> int:
        """Number of documents that all trials are measured on."""
        return min(max(1, round(self.held_out * self.documents.n_rows)), MOST_HELD_OUT)

    @property
    def n_training(self) -> int:
        """Number of the others."""
        return self.documents.n_rows - self.n_held_out

    def try_out(
        self, parameters: Parameters, n_documents: int, is_late: Callable[[], bool]
    ) -> Measured:
        """Train on so many documents and measure.

        Samples are nested, and labels without a document in one stay labels of the model: the tree
        is as large as that of all documents.

        Parameters
        ----------
        is_late : callable
            Is asked now and then; if it is, the training ends.

        Raises
        ------
        OutOfTimeError
        """
        rows = np.sort(self._order[self.n_held_out : self.n_held_out + n_documents])
        # Senses cost time and change no prediction.
        quiet = {"senses": "none", "verbose": 0}
        known = self.estimator.get_params(deep=False)
        silenced = {name: value for name, value in quiet.items() if name in known}
        model = with_parameters(self.estimator, {**parameters, **silenced})
        model._learn(self.documents.take(rows), self.labels.take(rows), _Stoppable(is_late))
        X, Y = self._held_out
        top_labels, _ = model.predict_top_k(X, self.metric.k)
        score = self.metric(top_labels, Y, self._propensities)
        return Measured(score, self._model_bytes(model))

    def estimate(self, parameters: Parameters) -> Measured:
        """Estimate the memory that training on all documents would take."""
        model = with_parameters(self.estimator, parameters)
        peak = estimate_training(model, self.documents, self.labels).peak_bytes
        return Measured(peak_bytes=None if peak is None else int(peak.about))

    def fingerprint(self) -> str:
        """Return a number that other features or labels would hardly have."""
        digest = hashlib.blake2b(digest_size=16)
        labels, sparse, dense = self.labels, self.documents.sparse, self.documents.dense
        arrays: list[npt.NDArray[Any]] = [labels.starts, labels.columns]
        if sparse is not None:
            arrays += [sparse.starts, sparse.columns, sparse.values]
        if dense is not None:
            arrays.append(dense)
        digest.update(repr([labels.shape, self.documents.layout]).encode())
        for array in arrays:
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def _model_bytes(self, model: PartitionedClassifier) -> int | None:
        arrays = arrays_of(model)
        if not arrays:
            return None
        n_bytes = sum(array.nbytes for array in arrays.values())
        # Held-out documents come on top in the end.
        return int(n_bytes * self.documents.n_rows / self.n_training + self._sense_bytes)

    @cached_property
    def _sense_bytes(self) -> float:
        if getattr(self.estimator, "senses", "none") == "none":
            return 0.0
        return 4 * NUMBERS_PER_JUDGED * judged_sizes(np.bincount(self.labels.columns))["n_judged"]

    @cached_property
    def _order(self) -> npt.NDArray[np.int64]:
        """All documents, the held-out ones first."""
        return np.random.default_rng(self.seed).permutation(self.documents.n_rows)

    @cached_property
    def _held_out(self) -> tuple[Documents, Any]:
        rows = np.sort(self._order[: self.n_held_out])
        return self.documents.take(rows), self.labels.take(rows).to_scipy()

    @cached_property
    def _propensities(self) -> Propensities:
        # Of all training documents, also where a sample is tried: which labels are rare is a
        # matter of the data.
        Y = self.labels.take(self._order[self.n_held_out :])
        counts = np.bincount(Y.columns, minlength=Y.n_columns)
        return propensities(counts, Y.n_rows, a=self.a, b=self.b)


def sample_sizes(n_training: int) -> list[int]:
    """Return how many documents trials are made with, in turn; all of them are last."""
    sizes = [n_training // parts for parts in SAMPLES]
    return [size for size in sizes if size >= SMALLEST_SAMPLE or size == n_training]


class _Stoppable(Progress):
    """Ends a training by an exception when it is late."""

    def __init__(self, is_late: Callable[[], bool]) -> None:
        super().__init__(enabled=False)
        self._is_late = is_late

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Time a phase that may be stopped."""

        def step(done: int) -> None:
            if self._is_late():
                raise OutOfTimeError

        with super().phase(name, total):
            step(0)
            yield step
