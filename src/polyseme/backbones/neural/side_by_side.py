"""Threads that work side by side on pieces of documents, with one result for any number of them.

torch divides single products among threads, which rounds their sums otherwise with every number of
threads, and makes each of them wait for the slowest. Here a thread has some documents for itself:
that is also quicker, by far where other programs want the cores too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from polyseme.backbones.neural.device import computing
from polyseme.backbones.neural.library import needed_library
from polyseme.machine.run import Run

__all__ = ["PIECE", "Apply", "asked_in_pieces", "one_by_one", "side_by_side"]

PIECE = 8  # documents; more are no quicker on a CPU, and Ctrl-C waits for as many

Answer = TypeVar("Answer")
Apply = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]


@contextmanager
def side_by_side(n_threads: int) -> Iterator[Apply]:
    """Yield a `map` whose calls run on so many threads, in each of which torch is alone.

    Its results come in order. What waits is given up if anything fails.
    """
    torch = needed_library()
    if n_threads < 2:
        yield map
        return
    pool = ThreadPoolExecutor(n_threads, "polyseme", lambda: torch.set_num_threads(1))
    try:
        yield pool.map
    finally:
        pool.shutdown(cancel_futures=True)


def asked_in_pieces(
    n_documents: int, size: int, ask: Callable[[slice], Answer], run: Run
) -> list[Answer]:
    """Ask a network about documents, piece by piece; returns the answers in order.

    Parameters
    ----------
    n_documents : int
    size : int
        Documents of a piece.
    ask : callable
        From the documents of a piece to the answer.
    run : Run
        Progress counts documents.
    """
    torch = needed_library()
    pieces = [slice(i, min(i + size, n_documents)) for i in range(0, n_documents, size)]

    def answer(piece: slice) -> Answer:
        with torch.inference_mode():
            return ask(piece)

    answers: list[Answer] = []
    alone = replace(run, n_threads=1)
    with computing(alone), side_by_side(min(run.n_threads, len(pieces))) as apply:
        for piece, found in zip(pieces, apply(answer, pieces), strict=True):
            answers.append(found)
            if run.progress is not None:
                run.progress(piece.stop)
    return answers


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

    def ask_some(piece: slice) -> list[Answer]:
        return [ask(i) for i in range(piece.start, piece.stop)]

    return [one for part in asked_in_pieces(n_documents, PIECE, ask_some, run) for one in part]
