"""The training of a network, whatever it is: steps, checks, checkpoints, and when to stop."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.neural.batches import LengthBuckets
from polyseme.backbones.neural.checkpoints import below, read_checkpoint, write_checkpoint
from polyseme.backbones.neural.device import mixed_precision
from polyseme.backbones.neural.library import needed_library
from polyseme.backbones.neural.optimizer import Optimizer
from polyseme.backbones.neural.side_by_side import PIECE, Apply, side_by_side
from polyseme.backbones.neural.together import agreed, own_part, same_weights, summed
from polyseme.machine.processes import is_main_process
from polyseme.machine.run import Run

__all__ = ["Outcome", "TrainingPlan", "is_lack_of_memory", "train"]

Integers = npt.NDArray[np.int64]
SECONDS_BETWEEN_WORDS = 0.5


@dataclass(frozen=True)
class TrainingPlan:
    """How a network is trained.

    Attributes
    ----------
    n_steps : int
        Steps of the optimiser (AdamW).
    batch_size : int
        Documents that a step learns from.
    at_once : int or None
        Documents that are computed at once; the gradients of a batch add up. By default all of
        the batch, and 8 on a CPU. Halved, with a warning, when memory runs out.
    side_by_side : bool
        Whether threads of a CPU may compute pieces of a batch side by side. The network is then
        the same for any number of them, if the loss takes its chance from the seed it is given.
    learning_rate, weight_decay : float
    warm_up : float
        Share of the steps in which the learning rate grows; it falls to 0 in the others.
    longest_gradient : float
        Longer ones are cut to this length.
    check_every : int
        Steps between two looks at the held-out recall; 0 for none.
    patience : int
        Looks without a better recall after which training stops.
    precision : str
        See `mixed_precision`.
    save_every : float
        Seconds between two checkpoints, if there is a place for them.
    """

    n_steps: int
    batch_size: int = 32
    at_once: int | None = None
    side_by_side: bool = True
    learning_rate: float = 5e-5
    weight_decay: float = 0.01
    warm_up: float = 0.1
    longest_gradient: float = 1.0
    check_every: int = 0
    patience: int = 3
    precision: str = "auto"
    save_every: float = 120.0

    def rate_at(self, step: int) -> float:
        """Return the share of the learning rate that a step has."""
        n_warm = max(1, round(self.warm_up * self.n_steps))
        if step < n_warm:
            return (step + 1) / n_warm
        return max(0.0, (self.n_steps - step) / max(1, self.n_steps - n_warm))


@dataclass
class Outcome:
    """What came of a training.

    Attributes
    ----------
    n_steps : int
        Steps that were taken.
    loss : float
        Of the last steps, on average.
    recall : float or None
        The best held-out recall; the network is as it was then. None if nobody looked.
    at_once : int
        Documents computed at once in the end.
    recalls : list of (int, float)
        Each look: the step and the recall.
    """

    n_steps: int = 0
    loss: float = 0.0
    recall: float | None = None
    at_once: int = 0
    recalls: list[tuple[int, float]] = field(default_factory=list)


def train(
    network: Any,
    loss_of: Callable[[Integers, int], Any],
    lengths: Integers,
    plan: TrainingPlan,
    run: Run,
    *,
    recall: Callable[[], float] | None = None,
    checkpoint: Path | None = None,
    parameters: Any = None,
) -> Outcome:
    """Train a network in place; call it within `settled`.

    From the same checkpoint, or from none, a training on a CPU comes to the same end, however
    often it is stopped on its way. Of several processes (see `together`) each computes a part of
    every batch; all end with the same network, which but for rounding is that of one process.

    Parameters
    ----------
    network : torch.nn.Module
        On the device that it is to be trained on.
    loss_of : callable
        From numbers of documents, and a seed for what is random, to the mean loss over these.
    lengths : ndarray of int64, shape (n_documents,)
        Tokens of each document, to put documents of like length together.
    plan : TrainingPlan
    run : Run
        Progress counts steps of the plan; in words it is told the loss, the recall, documents a
        second and the time left.
    recall : callable, optional
        The held-out recall of clusters, 0 to 1, of the network as it is.
    checkpoint : Path, optional
        A file to go on from, if there is one, and to keep the state in on the way. It is removed
        by nobody: that is up to the caller.
    parameters : list of dict, optional
        What the optimiser is to move, in groups as `torch.optim` takes them; by default all that
        can be. A group with ``sparse=True`` has gradients of a few rows.
    """
    with _interruptible(network):
        training = _Training(network, loss_of, lengths, plan, run, recall, checkpoint, parameters)
        with side_by_side(training.n_threads) as training.apply:
            return training.go()


class _Training:
    apply: Apply = map

    def __init__(
        self,
        network: Any,
        loss_of: Callable[[Integers, int], Any],
        lengths: Integers,
        plan: TrainingPlan,
        run: Run,
        recall: Callable[[], float] | None,
        checkpoint: Path | None,
        parameters: Any,
    ) -> None:
        self.torch = needed_library()
        self.network, self.loss_of, self.plan, self.run = network, loss_of, plan, run
        self.recall = recall if plan.check_every > 0 else None
        self.checkpoint = checkpoint
        self.batches = LengthBuckets(lengths, min(plan.batch_size, len(lengths)), run.seed)
        if parameters is None:
            parameters = [{"params": [p for p in network.parameters() if p.requires_grad]}]
        self.moved = [parameter for group in parameters for parameter in group["params"]]
        self.optimizer = Optimizer(parameters, plan.learning_rate, plan.weight_decay)
        self.chance = self.torch.initial_seed()
        self.device = next(network.parameters()).device
        on_cpu = self.device.type == "cpu"
        at_once = plan.at_once or (PIECE if on_cpu else plan.batch_size)
        self.n_threads = run.n_threads if on_cpu and plan.side_by_side else 1
        self.outcome = Outcome(at_once=min(at_once, plan.batch_size))
        self.best: dict[str, Any] = {}
        self.n_worse = 0
        self.last_words = 0.0
        self.last_saved = time.monotonic()

    def go(self) -> Outcome:
        same_weights(self.network)
        self._resume()
        outcome, plan = self.outcome, self.plan
        began, first = time.monotonic(), outcome.n_steps
        self.network.train()
        while outcome.n_steps < plan.n_steps and not self._is_enough():
            self.optimizer.slow_down_to(plan.rate_at(outcome.n_steps))
            loss = self._step(self.batches[outcome.n_steps])
            n_before = min(outcome.n_steps, 50)
            outcome.loss = (outcome.loss * n_before + loss) / (n_before + 1)
            outcome.n_steps += 1
            if self.recall is not None and (
                outcome.n_steps % plan.check_every == 0 or outcome.n_steps == plan.n_steps
            ):
                self._look()
            self._tell(began, first)
            is_due = time.monotonic() - self.last_saved > plan.save_every
            if self.checkpoint and is_due and is_main_process():
                self._save()
        if self.best:
            self.network.load_state_dict(self.best, strict=False)
        self.network.eval()
        if self.run.progress is not None:
            self.run.progress(plan.n_steps)
        return outcome

    def _is_enough(self) -> bool:
        return self.recall is not None and self.n_worse >= self.plan.patience

    def _step(self, rows: Integers) -> float:
        """Take one step; when memory runs out, the same once more in smaller pieces."""
        while True:
            try:
                loss = self._gradients(rows)
                break
            except (RuntimeError, MemoryError) as error:
                if not is_lack_of_memory(error) or self.outcome.at_once == 1:
                    raise
            self.outcome.at_once = max(1, self.outcome.at_once // 2)
            if self.device.type == "cuda":
                self.torch.cuda.empty_cache()
            warnings.warn(
                "memory ran out in training; from now on "
                f"{self.outcome.at_once} documents are computed at once.",
                stacklevel=2,
            )
        loss = float(summed(self.torch.tensor(loss, dtype=self.torch.float64)))
        if not np.isfinite(loss):
            raise ValueError(
                "the loss went beyond what numbers can hold; lower the learning rate."
            )
        self.optimizer.step(self.plan.longest_gradient)
        return loss

    def _gradients(self, rows: Integers) -> float:
        """Compute this process' part of a batch, piece by piece."""
        self.optimizer.forget_gradients()
        own, total = own_part(len(rows)), 0.0

        def compute(first: int) -> tuple[float, tuple[Any, ...]]:
            piece = rows[first : min(first + self.outcome.at_once, own.stop)]
            # Chance belongs to a place in the training, whoever computes it and after what.
            seed = hash((self.chance, self.outcome.n_steps, first)) % 2**63
            with mixed_precision(self.device, self.plan.precision):
                loss = self.loss_of(piece, seed) * (len(piece) / len(rows))
            gradients = self.torch.autograd.grad(loss, self.moved, allow_unused=True)
            return float(loss.detach()), gradients

        firsts = range(own.start, own.stop, self.outcome.at_once)
        for loss, gradients in self.apply(compute, firsts):  # added up in one order
            total += loss
            _add_up(self.moved, gradients)
        return total

    def _look(self) -> None:
        """Measure the held-out recall, and keep the network if it is the best so far."""
        assert self.recall is not None
        self.network.eval()
        with self.torch.no_grad():
            found = agreed(float(self.recall()))
        self.network.train()
        outcome = self.outcome
        outcome.recalls.append((outcome.n_steps, found))
        if outcome.recall is None or found > outcome.recall:
            outcome.recall, self.n_worse = found, 0
            self.best = {name: value.clone() for name, value in self._learned().items()}
        else:
            self.n_worse += 1

    def _learned(self) -> dict[str, Any]:
        """Return what training changes: parameters that are moved, and buffers."""
        still = {name for name, p in self.network.named_parameters() if not p.requires_grad}
        found = self.network.state_dict()
        return {name: value for name, value in found.items() if name not in still}

    def _tell(self, began: float, first: int) -> None:
        outcome, now = self.outcome, time.monotonic()
        if self.run.progress is not None:
            self.run.progress(outcome.n_steps)
        if self.run.tell is None or now - self.last_words < SECONDS_BETWEEN_WORDS:
            return
        self.last_words = now
        a_step = (now - began) / (outcome.n_steps - first)
        words = [f"loss {outcome.loss:.3f}"]
        if outcome.recalls:
            words.append(f"recall {outcome.recalls[-1][1]:.1%}")
        words.append(f"{self.batches.batch_size / a_step:.0f} documents per second")
        words.append(f"{(self.plan.n_steps - outcome.n_steps) * a_step / 60:.0f} min left")
        self.run.tell(", ".join(words))

    # Checkpoints

    def _save(self) -> None:
        assert self.checkpoint is not None
        tensors = {f"network.{name}": value for name, value in self._learned().items()}
        tensors |= {f"best.{name}": value for name, value in self.best.items()}
        tensors |= self.optimizer.to_tensors()
        state = {"plan": self._identity(), "n_worse": self.n_worse, **asdict(self.outcome)}
        write_checkpoint(self.checkpoint, tensors, state)
        self.last_saved = time.monotonic()

    def _resume(self) -> None:
        found = None if self.checkpoint is None else read_checkpoint(self.checkpoint)
        if found is None:
            return
        tensors, state = found
        if state.pop("plan") != self._identity():
            raise ValueError(
                f"{self.checkpoint} is of a training with other documents or settings; remove it "
                "to begin anew."
            )
        self.n_worse = state.pop("n_worse")
        state["recalls"] = [(step, value) for step, value in state["recalls"]]
        self.outcome = Outcome(**state)
        self.network.load_state_dict(below("network.", tensors), strict=False)
        self.best = below("best.", tensors)
        self.optimizer.restore(tensors)

    def _identity(self) -> dict[str, Any]:
        """Return what a checkpoint must be of, as JSON has it."""
        how = asdict(self.plan)
        del how["save_every"], how["at_once"], how["side_by_side"]
        lengths = self.batches.lengths
        return {
            **how,
            "seed": self.run.seed,
            "n_documents": len(lengths),
            "n_tokens": int(lengths.sum()),
        }


def _add_up(parameters: list[Any], gradients: tuple[Any, ...]) -> None:
    """Add gradients to those that parameters have already."""
    for parameter, gradient in zip(parameters, gradients, strict=True):
        if gradient is None:
            continue
        if parameter.grad is None:
            parameter.grad = gradient
        elif gradient.is_sparse:
            parameter.grad = parameter.grad + gradient
        else:
            parameter.grad += gradient


@contextmanager
def _interruptible(network: Any) -> Iterator[None]:
    """Let Ctrl-C be heard on the way back through the network, which else is one long call.

    Python sees to signals wherever it is called, so it is called, to do nothing, for each module.
    """

    def listen(module: Any, given: Any, output: Any) -> None:
        if hasattr(output, "register_hook") and output.requires_grad:
            output.register_hook(lambda gradient: None)

    leaves = [module for module in network.modules() if not any(True for _ in module.children())]
    hooks = [module.register_forward_hook(listen) for module in leaves]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def is_lack_of_memory(error: BaseException) -> bool:
    """Tell an error that smaller pieces may avoid from all others."""
    words = str(error).lower()
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "out of memory" in words
        or "can't allocate memory" in words
        or "not enough memory" in words
    )
