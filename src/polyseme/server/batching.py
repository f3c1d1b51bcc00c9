"""Answers questions that arrive together in one go.

Nothing ever waits for company: the first question starts at once, and those that come while it
is being answered make up the next batch. A lone client sees no delay; with many, what a call
costs whatever its size (a change of threads, the set-up of TF-IDF) is shared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Generic, TypeVar

__all__ = ["Batcher"]

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Batcher(Generic[Question, Answer]):
    """Asks `answer_all` about all waiting questions whenever it is free.

    Parameters
    ----------
    answer_all : callable
        Runs in a thread of the pool, one batch at a time; one answer for each question.
    max_size : int
        Most questions of a batch.
    """

    def __init__(
        self,
        answer_all: Callable[[Sequence[Question]], Sequence[Answer]],
        pool: Executor,
        *,
        max_size: int = 64,
        on_batch: Callable[[int], object] = lambda size: None,
    ) -> None:
        self._answer_all, self._pool = answer_all, pool
        self._max_size, self._on_batch = max_size, on_batch
        self._waiting: list[tuple[Question, asyncio.Future[Answer]]] = []
        self._is_busy = False

    async def ask(self, question: Question) -> Answer:
        """Return the answer to one question."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, answer))
        if not self._is_busy:
            self._start()
        return await answer

    def _start(self) -> None:
        # Who went away meanwhile is not waited for.
        waiting = [pair for pair in self._waiting if not pair[1].done()]
        batch, self._waiting = waiting[: self._max_size], waiting[self._max_size :]
        if not batch:
            return
        self._is_busy = True
        self._on_batch(len(batch))
        questions = [question for question, _ in batch]
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(self._pool, self._answer_all, questions)
        done.add_done_callback(partial(self._finish, [answer for _, answer in batch]))

    def _finish(
        self, waiting: list[asyncio.Future[Answer]], done: asyncio.Future[Sequence[Answer]]
    ) -> None:
        self._is_busy = False
        error = asyncio.CancelledError() if done.cancelled() else done.exception()
        answers = [None] * len(waiting) if error else done.result()
        for future, answer in zip(waiting, answers, strict=True):
            if future.done():
                continue
            if error:
                future.set_exception(error)
            else:
                future.set_result(answer)  # type: ignore[arg-type]
        self._start()
