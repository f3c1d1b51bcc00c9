"""The training of one network, in the loop that all networks share."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.attention.outputs import Outputs
from polyseme.backbones.attention.reading import Reader, Reading
from polyseme.backbones.attention.start import start_below
from polyseme.backbones.attention.words import WordRows
from polyseme.backbones.neural.checkpoints import read_checkpoint, write_checkpoint
from polyseme.backbones.neural.device import settled
from polyseme.backbones.neural.library import needed_library
from polyseme.backbones.neural.losses import binary_cross_entropy
from polyseme.backbones.neural.side_by_side import one_by_one
from polyseme.backbones.neural.together import agreed
from polyseme.backbones.neural.training import TrainingPlan, train
from polyseme.machine.processes import is_main_process
from polyseme.machine.run import Run

__all__ = ["learn_outputs"]

FEWEST_TO_HOLD_OUT_OF = 1000  # documents; of fewer, all are needed to learn from
HELD_OUT_SHARE, MOST_HELD_OUT = 0.03, 400
HELD_OUT_STREAM = 0x4E1D
N_LOOKS = 8  # at the recall of held-out documents
N_BEST = 5  # outputs of a document among which the true ones should be

Integers = npt.NDArray[np.int64]


def learn_outputs(
    make: Callable[[], Reader],
    words_of: Callable[[Reader], WordRows],
    outputs: Outputs,
    how: Reading,
    share: float,
    run: Run,
    stream: int,
    above: Reader | None = None,
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
    above : Reader, optional
        Whose outputs are the parents of these; they begin with what it knows.
    """
    torch = needed_library()
    # Threads work on documents side by side; within torch each is alone.
    with settled(replace(run, n_threads=1), stream):
        reader = make()
        with torch.no_grad():
            reader.network.bias.copy_(torch.from_numpy(outputs.log_odds()))
        documents = outputs.to_learn_from()
        if len(documents):
            _Learning(reader, words_of(reader), outputs, documents, how, share, run).go(above)
        reader.network.eval()
    return reader


class _Learning:
    def __init__(
        self,
        reader: Reader,
        words: WordRows,
        outputs: Outputs,
        documents: Integers,
        how: Reading,
        share: float,
        run: Run,
    ) -> None:
        self.torch = needed_library()
        self.network, self.words, self.outputs, self.how = reader.network, words, outputs, how
        self.run = run
        self.known, self.looked_at = _apart(documents, run.seed)
        batch_size = min(how.batch_size, len(self.known))
        n_steps = math.ceil(share * how.n_epochs * len(self.known) / batch_size)
        n_steps = max(how.least_steps, n_steps)
        self.plan = TrainingPlan(
            n_steps=n_steps,
            batch_size=batch_size,
            learning_rate=how.learning_rate,
            weight_decay=0.0,
            longest_gradient=5.0,
            check_every=max(1, n_steps // N_LOOKS) if len(self.looked_at) else 0,
            precision="float32",
        )

    def go(self, above: Reader | None) -> None:
        """Train the network, or read what an earlier run came to."""
        finished, partial = self._files()
        found = None if finished is None else read_checkpoint(finished)
        if found is not None:
            self.network.load_state_dict(found[0])
            return
        if above is not None and not (partial is not None and agreed(partial.exists())):
            start_below(
                self.network, above.network, self.words, self.outputs, self.known, self.run
            )
        outcome = train(
            self.network,
            self.loss_of,
            self.words.lengths[self.known],
            self.plan,
            _counting_outputs(self.run, self.outputs.n_outputs, self.plan.n_steps),
            recall=self.recall if len(self.looked_at) else None,
            checkpoint=partial,
            parameters=self._groups(),
        )
        if finished is not None:
            write_checkpoint(finished, self.network.state_dict(), asdict(outcome))
        if partial is not None and is_main_process():
            partial.unlink(missing_ok=True)

    def loss_of(self, places: Integers, seed: int) -> Any:
        """Return the mean loss of some of the known documents."""
        device, rows = self.network.bias.device, self.known[places]
        chance = np.random.default_rng(seed).random(len(rows))
        words, candidates, targets, is_candidate = (
            None if array is None else self.torch.from_numpy(array).to(device)
            for array in (self.words.padded(rows), *self.outputs.of(rows, chance))
        )
        logits = self.network(words, candidates, seed=seed)
        return binary_cross_entropy(logits, targets, is_candidate)

    def recall(self) -> float:
        """Return how many true outputs of held-out documents are among the best few."""
        torch, outputs, device = self.torch, self.outputs, self.network.bias.device

        def ask(place: int) -> int:
            document = self.looked_at[place]
            words = torch.from_numpy(self.words.padded(np.array([document]))).to(device)
            asked = outputs.asked(int(document))
            candidates = None
            if outputs.parents is not None:
                candidates = torch.from_numpy(asked[np.newaxis]).to(device)
            logits = self.network(words, candidates)[0].cpu().numpy()
            best = asked[np.argsort(-logits, kind="stable")[:N_BEST]]
            return int(np.isin(outputs.targets.row(int(document)), best).sum())

        n_found = sum(one_by_one(len(self.looked_at), ask, self.run.reporting_to(None)))
        return n_found / max(1, outputs.targets.take(self.looked_at).n_stored)

    def _groups(self) -> list[dict[str, Any]]:
        """Return what is moved: tables of which a step sees a few rows apart from all else."""
        tables = [self.network.vectors.weight]
        if self.outputs.parents is not None:
            tables.append(self.network.own)
        numbers = {id(table) for table in tables}
        others = [p for p in self.network.parameters() if id(p) not in numbers]
        return [{"params": others}, {"params": tables, "sparse": True}]

    def _files(self) -> tuple[Path, Path] | tuple[None, None]:
        """Return where the finished network and the unfinished one are kept, if anywhere."""
        if self.how.work_folder is None:
            return None, None
        folder = Path(self.how.work_folder).expanduser() / "networks"
        name = self._identity()
        return folder / f"{name}.safetensors", folder / f"{name}.partial.safetensors"

    def _identity(self) -> str:
        """Return what a run that may go on must have in common with the one that was stopped."""
        how = {**asdict(self.how), "device": None, "work_folder": None}
        digest = hashlib.sha256(json.dumps([how, asdict(self.plan), self.run.seed]).encode())
        digest.update(str(self.torch.initial_seed()).encode())
        outputs = self.outputs
        arrays: list[npt.NDArray[Any]] = [self.words.starts, self.words.words]
        arrays += [self.known, self.looked_at]
        arrays += [outputs.targets.starts, outputs.targets.columns]
        if outputs.parents is not None and outputs.starts is not None:
            arrays += [outputs.parents.starts, outputs.parents.columns, outputs.starts]
        for array in arrays:
            digest.update(np.ascontiguousarray(array).tobytes())
        for weights in self.network.state_dict().values():  # what it goes on from
            digest.update(weights.cpu().numpy().tobytes())
        return digest.hexdigest()[:24]


def _apart(documents: Integers, seed: int) -> tuple[Integers, Integers]:
    """Return the documents to learn from, and those that are only looked at."""
    if len(documents) < FEWEST_TO_HOLD_OUT_OF:
        return documents, documents[:0]
    n_held_out = min(MOST_HELD_OUT, int(HELD_OUT_SHARE * len(documents)))
    # The same ones in all networks of a model: none that goes on from another has seen them.
    order = np.random.default_rng([HELD_OUT_STREAM, seed]).permutation(int(documents.max()) + 1)
    chosen = order[np.isin(order, documents)][:n_held_out]
    is_held_out = np.isin(documents, chosen)
    return documents[~is_held_out], documents[is_held_out]


def _counting_outputs(run: Run, n_outputs: int, n_steps: int) -> Run:
    report = run.progress
    if report is None:
        return run
    return replace(run, progress=lambda step: report(n_outputs * step // n_steps))
