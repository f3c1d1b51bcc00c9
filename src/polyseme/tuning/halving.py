"""Which settings are tried next, and on how many documents: successive halving by the clock.

The first settings are tried on samples that grow up to all documents; that tells what everything
costs. Then many are tried on the smallest sample, the better half of them on the next, and so on.
Samples share half of the time that is left, or less if all documents need more. On all documents
settings are tried in the order of their promise, as far as they fit.

Earlier trials are counted in when their turn comes, with what they took: a search that was stopped
goes on as if it had not been.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from statistics import median
from typing import NoReturn, Protocol

from polyseme.machine.quantities import spoken_seconds
from polyseme.tuning.candidates import Parameters
from polyseme.tuning.journal import Journal, Limits, Trial
from polyseme.tuning.trials import Measured, OutOfTimeError

__all__ = ["Audience", "Search", "TriesOut"]

GRACE = 0.1  # of the budget: what a trial may run over it, before it is stopped
MARGIN = 1.2  # times what a trial is expected to take, if that is not known of its like
PATIENCE = 1.5  # times what a trial had before it was stopped, for it to be tried again


class TriesOut(Protocol):
    """Makes trials; see `Laboratory`."""

    def try_out(
        self, parameters: Parameters, n_documents: int, is_late: Callable[[], bool]
    ) -> Measured:
        """Train and measure, or raise `OutOfTimeError`."""

    def estimate(self, parameters: Parameters) -> Measured:
        """Say what training would take."""


class Audience(Protocol):
    """Is shown what goes on."""

    def begins(self, parameters: Parameters, n_documents: int, spent: float) -> None:
        """Hear that a trial begins; one on 0 documents is an estimate."""

    def ended(self, trial: Trial) -> None:
        """Hear of a trial that was made now, or of an earlier one that is counted in."""


class Search:
    """A search among settings within a budget of time.

    Parameters
    ----------
    candidates : list of dict
        In the order in which they are tried; the first is what others have to be better than.
    sizes : list of int
        Documents of the samples, in ascending order; the last one is all.
    laboratory : TriesOut
    journal : Journal
        Has earlier trials, and keeps those to come.
    limits : Limits
    budget : float
        In seconds.
    clock : callable
        Tells seconds.
    audience : Audience
    """

    def __init__(
        self,
        candidates: Sequence[Parameters],
        sizes: Sequence[int],
        laboratory: TriesOut,
        journal: Journal,
        limits: Limits,
        budget: float,
        clock: Callable[[], float],
        audience: Audience,
    ) -> None:
        self._candidates, self._sizes = candidates, sizes
        self._laboratory, self._journal, self._limits = laboratory, journal, limits
        self._budget, self._clock, self._audience = budget, clock, audience
        self._costs: list[Trial] = []  # the first settings on every sample
        self._estimates: list[float] = []  # seconds that they took
        self._samples_end = 0.0  # when trials on samples are over
        self._spent = 0.0  # on the trials that were asked for, whenever they were made

    def run(self) -> str:
        """Search; return what should be known about how far it got, if anything.

        Raises
        ------
        ValueError
            If not even the first settings fit into the budget, or none into the limits.
        """
        first = self._first_allowed()
        for size in self._sizes:
            self._costs.append(self._first_trial(first, size))
        # Only trials on all documents decide, so half of the time is theirs.
        of_all = MARGIN * self._costs[-1].seconds
        left = self._budget - self._spent
        self._samples_end = self._budget - max(of_all, left / 2)
        queue = [parameters for parameters in self._candidates if parameters != first]
        most = len(queue)
        for place in range(len(self._sizes)):
            tried = self._round(queue, place, most)
            finished = [trial for trial in tried if trial.score is not None]
            finished.sort(key=lambda trial: -(trial.score or 0.0))
            queue = [t.parameters for t in finished if not self._limits.objection(t)]
            most = math.ceil(len(queue) / 2)
        return "" if finished else self._advice()

    @property
    def _left(self) -> float:
        """Seconds that new trials may take."""
        return self._budget - self._journal.seconds

    def _first_allowed(self) -> Parameters:
        for parameters in self._candidates:
            if self._is_allowed(parameters):
                return parameters
            if self._left <= 0:
                break
        raise ValueError(
            "none of the settings that there was time to look at stays within the limits of "
            "memory and model size; allow more."
        )

    def _is_allowed(self, parameters: Parameters) -> bool:
        """Whether settings stay within the limit of memory, by estimate."""
        if self._limits.memory is None:
            return True
        estimate = self._trial(parameters, 0)
        self._estimates.append(estimate.seconds)
        return not self._limits.objection(estimate)

    def _first_trial(self, first: Parameters, size: int) -> Trial:
        """Try the first settings, unless that is known to take too long."""
        if self._costs:
            seconds_each = MARGIN * self._costs[-1].seconds / self._costs[-1].n_documents
            to_come = seconds_each * sum(other for other in self._sizes if other >= size)
            if self._spent + to_come > self._budget:
                of_all = spoken_seconds(seconds_each * self._sizes[-1])
                self._refuse(f"about {of_all}", MARGIN * (self._spent + to_come))
        trial = self._trial(first, size)
        if trial.score is None:
            taken = self._spent * self._sizes[-1] / size
            self._refuse(f"more than {spoken_seconds(taken)}", 2 * taken)
        return trial

    def _refuse(self, takes: str, needed: float) -> NoReturn:
        raise ValueError(
            f"a budget of {spoken_seconds(self._budget)} is too small: the first settings alone "
            f"take {takes} on all {self._sizes[-1]:,} documents; give at least {_budget(needed)}."
        )

    def _round(self, queue: Sequence[Parameters], place: int, most: int) -> list[Trial]:
        """Try at most so many settings on a sample, in their order, in its part of the time."""
        end = self._budget
        n_samples_left = len(self._sizes) - 1 - place
        if n_samples_left:
            end = self._spent + max(0.0, self._samples_end - self._spent) / n_samples_left
        # The smallest sample takes little memory; what fails on it need not be estimated.
        is_estimated = place == min(1, len(self._sizes) - 1)
        tried: list[Trial] = []
        n_passed = 0
        for parameters in queue:
            if len(tried) + n_passed == most:
                break
            expected = self._expected_seconds(parameters, place, tried)
            if is_estimated:
                expected += _mean(self._estimates)
            is_known = self._journal.find(parameters, self._sizes[place]) is not None
            if self._spent + expected > end or (expected > self._left and not is_known):
                n_passed += 1
            elif not is_estimated or self._is_allowed(parameters):
                tried.append(self._trial(parameters, self._sizes[place]))
        return tried

    def _expected_seconds(
        self, parameters: Parameters, place: int, tried: Sequence[Trial]
    ) -> float:
        """Return what a trial will take: by a smaller one of its own, or by others as large."""
        alike = (self._costs[place], *tried)
        if place == 0:
            return _mean([trial.seconds for trial in alike])

        def before(parameters: Parameters) -> float:
            found = self._journal.find(parameters, self._sizes[place - 1])
            return max(found.seconds, 1e-9) if found is not None else math.inf

        growth = median(trial.seconds / before(trial.parameters) for trial in alike)
        return MARGIN * growth * before(parameters)

    def _trial(self, parameters: Parameters, n_documents: int) -> Trial:
        """Return an earlier trial, or make one; either way it counts."""
        found = self._journal.find(parameters, n_documents)
        was_stopped = found is not None and found.score is None and n_documents > 0
        if found is None or (was_stopped and self._left > PATIENCE * found.seconds):
            found = self._new_trial(parameters, n_documents)
        self._spent += found.seconds
        self._audience.ended(found)
        return found

    def _new_trial(self, parameters: Parameters, n_documents: int) -> Trial:
        self._audience.begins(parameters, n_documents, self._journal.seconds)
        began = self._clock()
        deadline = began + self._left + GRACE * self._budget
        try:
            measured = (
                self._laboratory.try_out(parameters, n_documents, lambda: self._clock() > deadline)
                if n_documents
                else self._laboratory.estimate(parameters)
            )
        except OutOfTimeError:
            measured = Measured()
        measured = replace(measured, model_bytes=self._bytes_of_all(measured, n_documents))
        trial = Trial(parameters, n_documents, self._clock() - began, **asdict(measured))
        self._journal.add(trial)
        return trial

    def _bytes_of_all(self, measured: Measured, n_documents: int) -> int | None:
        """Return how large the model of all documents is, if models grow as the first does."""
        if measured.model_bytes is None or len(self._costs) < len(self._sizes) or not n_documents:
            return measured.model_bytes
        same = self._costs[self._sizes.index(n_documents)].model_bytes
        whole = self._costs[-1].model_bytes
        return int(measured.model_bytes * whole / same) if same and whole else None

    def _advice(self) -> str:
        of_all = self._costs[-1].seconds
        needed = sum(trial.seconds for trial in self._costs) + 2 * MARGIN * of_all
        within = "" if self._limits == Limits() else " and the limits"
        return (
            f"Within the budget{within} no other settings were tried on all documents; "
            f"{_budget(max(needed, 1.5 * self._budget))} would give time for some."
        )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _budget(seconds: float) -> str:
    """Return a time as it is given."""
    return f"{math.ceil(seconds)}s" if seconds <= 120 else f"{math.ceil(seconds / 60)}m"
