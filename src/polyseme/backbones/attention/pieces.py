"""Batches in pieces that threads work on side by side, with the same sums for any number of them.

torch divides single products among threads, which rounds their sums otherwise with every number of
threads, and makes each step of an LSTM wait for the slowest. Here a thread has some documents for
itself. The pieces of a batch are always the same, and their gradients are added in one order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from polyseme.backbones.neural.device import computing
from polyseme.backbones.neural.library import needed_library
from polyseme.machine.run import Run

__all__ = ["in_pieces", "one_by_one"]

PIECE = 8  # documents

Integers = npt.NDArray[np.int64]
Chance = npt.NDArray[np.float64]
Answer = TypeVar("Answer")


def one_by_one(n_documents: int, ask: Callable[[int], Answer], run: Run) -> list[Answer]:
    """Ask a network about each document on its own, so that no answer depends on others.

    Parameters
    ----------
    n_documents : int
    ask : callable
        From the number of a document to the answer.
    run : Run
        Progress counts documents.
    """
    torch = needed_library()

    def ask_some(first: int) -> list[Answer]:
        with torch.inference_mode():
            return [ask(i) for i in range(first, min(first + PIECE, n_documents))]

    answers: list[Answer] = []
    firsts = range(0, n_documents, PIECE)
    with (
        computing(replace(run, n_threads=1)),
        _side_by_side(min(run.n_threads, len(firsts))) as pool,
    ):
        for part in map(ask_some, firsts) if pool is None else pool.map(ask_some, firsts):
            answers += part
            if run.progress is not None:
                run.progress(len(answers))
    return answers


@contextmanager
def _side_by_side(n_threads: int) -> Iterator[ThreadPoolExecutor | None]:
    """Open threads in each of which torch is alone; what waits is given up if anything fails."""
    torch = needed_library()
    if n_threads < 2:
        yield None  # there is one already
        return
    pool = ThreadPoolExecutor(n_threads, "polyseme-reading", lambda: torch.set_num_threads(1))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def in_pieces(
    network: Any, loss_of: Callable[[Integers, Chance], Any], n_threads: int
) -> Iterator[Callable[[Integers], Any]]:
    """Yield a function from documents to their mean loss, to be used as any other loss.

    Parameters
    ----------
    network : torch.nn.Module
    loss_of : callable
        From some documents, and a random number for each, to their mean loss.
    n_threads : int
    """
    torch = needed_library()
    moved = [parameter for parameter in network.parameters() if parameter.requires_grad]
    size = PIECE if network.bias.device.type == "cpu" else 2**31

    class Gathered(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """A loss whose gradients are known already."""

        @staticmethod
        def forward(ctx: Any, loss: Any, gradients: Any, *parameters: Any) -> Any:
            ctx.gradients = gradients
            return loss

        @staticmethod
        def backward(ctx: Any, *outer: Any) -> Any:
            return None, None, *(outer[0] * gradient for gradient in ctx.gradients)

    def learn(rows: Integers, chance: Chance, share: float) -> tuple[Any, tuple[Any, ...]]:
        with torch.enable_grad():
            loss = loss_of(rows, chance) * share
            return loss.detach(), torch.autograd.grad(loss, moved)

    with _side_by_side(n_threads) as pool:

        def gathered(rows: Integers) -> Any:
            # Drawn here, where there is one thread; a checkpoint keeps this generator's state.
            chance = torch.rand(len(rows), dtype=torch.float64).numpy()
            parts = [slice(i, i + size) for i in range(0, len(rows), size)]
            apply = map if pool is None else pool.map
            found = list(
                apply(
                    lambda part: learn(rows[part], chance[part], len(rows[part]) / len(rows)),
                    parts,
                )
            )
            loss, gradients = found[0][0], list(found[0][1])
            for part, others in found[1:]:
                loss = loss + part
                gradients = [one + more for one, more in zip(gradients, others, strict=True)]
            return Gathered.apply(loss, gradients, *moved)

        yield gathered
