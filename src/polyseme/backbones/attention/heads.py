"""The training of one network, for all outputs or for those that are candidates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.attention.pieces import in_pieces
from polyseme.backbones.attention.reading import Reader, Reading
from polyseme.backbones.attention.words import WordRows
from polyseme.backbones.neural.device import settled
from polyseme.backbones.neural.library import needed_library
from polyseme.backbones.neural.losses import binary_cross_entropy
from polyseme.backbones.neural.training import TrainingPlan, train
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.run import Run

__all__ = ["Outputs", "learn_outputs"]

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

    def _candidates(self, row: int, luck: float) -> tuple[Integers, npt.NDArray[np.bool_]]:
        assert self.parents is not None
        assert self.starts is not None
        parents = self.parents.row(row)
        outputs = np.concatenate(
            [np.arange(self.starts[parent], self.starts[parent + 1]) for parent in parents]
        )
        is_true = np.isin(outputs, self.targets.row(row))
        wrong = np.flatnonzero(~is_true)
        if len(wrong) > MOST_WRONG:
            chosen = np.random.default_rng(int(luck * 2**53)).permutation(wrong)[:MOST_WRONG]
            kept = np.sort(np.concatenate([np.flatnonzero(is_true), chosen]))
            return outputs[kept], is_true[kept]
        return outputs, is_true


def learn_outputs(
    make: Callable[[], Reader],
    words_of: Callable[[Reader], WordRows],
    outputs: Outputs,
    how: Reading,
    share: float,
    run: Run,
    stream: int,
) -> Reader:
    """Make a network and train it; the same comes out for any number of threads.

    Parameters
    ----------
    make : callable
        Gives the network to begin with; what is random in it belongs to this training.
    words_of : callable
        From what it gives to the words of the documents.
    outputs : Outputs
    how : Reading
    share : float
        Of the epochs, 0 to 1.
    run : Run
        Progress counts outputs.
    stream : int
        What random numbers serve, with the run's seed.
    """
    torch = needed_library()
    # Threads work on documents side by side; within torch each is alone.
    with settled(replace(run, n_threads=1), stream):
        reader = make()
        network = reader.network
        with torch.no_grad():
            network.bias.copy_(torch.from_numpy(outputs.log_odds()))
        documents = outputs.to_learn_from()
        if len(documents) == 0:
            network.eval()
            return reader
        words = words_of(reader)
        batch_size = min(how.batch_size, len(documents))
        n_steps = math.ceil(share * how.n_epochs * len(documents) / batch_size)
        plan = TrainingPlan(
            n_steps=max(how.least_steps, n_steps),
            batch_size=batch_size,
            at_once=batch_size,
            learning_rate=how.learning_rate,
            weight_decay=0.0,
            longest_gradient=5.0,
            precision="float32",
        )
        device = network.bias.device

        def loss_of(rows: Integers, chance: npt.NDArray[np.float64]) -> Any:
            candidates, targets, is_candidate = outputs.of(rows, chance)
            on_device = [
                None if array is None else torch.from_numpy(array).to(device)
                for array in (words.padded(rows), candidates, targets, is_candidate)
            ]
            logits = network(on_device[0], on_device[1], seed=int(chance[0] * 2**53))
            return binary_cross_entropy(logits, on_device[2], on_device[3])

        with in_pieces(network, loss_of, run.n_threads) as loss_of_batch:
            train(
                network,
                lambda rows: loss_of_batch(documents[rows]),
                words.lengths[documents],
                plan,
                _counting_outputs(run, outputs.n_outputs, plan.n_steps),
            )
    return reader


def _counting_outputs(run: Run, n_outputs: int, n_steps: int) -> Run:
    report = run.progress
    if report is None:
        return run
    return replace(run, progress=lambda step: report(n_outputs * step // n_steps))
