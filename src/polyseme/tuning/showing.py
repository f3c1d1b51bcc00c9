"""How a search looks: a table of its best trials, or a line for each."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from polyseme.machine.live_table import LiveTable
from polyseme.machine.quantities import spoken_bytes, spoken_seconds
from polyseme.tuning.candidates import Parameters
from polyseme.tuning.journal import Limits, Trial

__all__ = ["Showing", "difference", "trial_columns", "trial_rows"]

N_SHOWN = 12


def trial_columns(metric: str) -> tuple[str, ...]:
    """Return the heads of the columns of `trial_rows`."""
    return (metric, "Documents", "Seconds", "Model", "Settings")


def trial_rows(
    trials: Iterable[Trial], baseline: Parameters, limits: Limits, most: int = N_SHOWN
) -> list[tuple[str, ...]]:
    """Return the trials as rows of a table, those of most documents and the best first.

    Settings that are out come last, with the reason. The given ones are always among the rows.
    """

    def order(trial: Trial) -> tuple[bool, int, float]:
        is_out = trial.score is None or bool(limits.objection(trial))
        return is_out, -trial.n_documents, -(trial.score or 0.0)

    ranked = sorted(
        (trial for trial in trials if trial.n_documents or limits.objection(trial)), key=order
    )
    shown = ranked[:most]
    if not any(trial.parameters == baseline for trial in shown):
        shown[most - 1 :] = [t for t in ranked[most:] if t.parameters == baseline][:1]
    return [_row(trial, baseline, limits) for trial in shown]


def difference(parameters: Mapping[str, Any], baseline: Mapping[str, Any]) -> str:
    """Say how settings differ from those that were given."""
    changed = [f"{name}={value}" for name, value in parameters.items() if value != baseline[name]]
    return ", ".join(changed) or "as given"


def _row(trial: Trial, baseline: Parameters, limits: Limits) -> tuple[str, ...]:
    settings = difference(trial.parameters, baseline)
    objection = limits.objection(trial)
    if objection:
        settings = f"{settings}: out, {objection}"
    elif trial.score is None:
        settings = f"{settings}: stopped, took too long"
    return (
        "" if trial.score is None else f"{trial.score:.2f}",
        f"{trial.n_documents:,}" if trial.n_documents else "",
        f"{trial.seconds:.1f}",
        "" if trial.model_bytes is None else spoken_bytes(trial.model_bytes),
        settings,
    )


class Showing:
    """Shows a search on stderr: a table on a terminal, a line for each trial elsewhere.

    Parameters
    ----------
    metric : str
    baseline : dict
        Settings are shown as what differs from these.
    limits : Limits
    budget : float
        In seconds.
    enabled : bool
    """

    def __init__(
        self, metric: str, baseline: Parameters, limits: Limits, budget: float, enabled: bool
    ) -> None:
        self._baseline, self._limits, self._budget = baseline, limits, budget
        self._columns = trial_columns(metric)
        self._table = LiveTable(self._columns, self._content, enabled)
        # Without a stderr, print would take stdout.
        self._prints = enabled and sys.stderr is not None and not self._table.is_shown
        self._trials: list[Trial] = []
        self._running, self._spent, self._began = "", 0.0, time.monotonic()

    def __enter__(self) -> Showing:
        self._table.__enter__()
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._table.__exit__(exception_type, exception, traceback)

    def begins(self, parameters: Parameters, n_documents: int, spent: float) -> None:
        """Note what is being tried."""
        what = f"on {n_documents:,} documents" if n_documents else "estimated"
        self._running = f"{what}: {difference(parameters, self._baseline)}"
        self._spent, self._began = spent, time.monotonic()

    def ended(self, trial: Trial) -> None:
        """Show a trial."""
        self._trials.append(trial)
        if self._running and self._prints:
            for score, n, seconds, _, settings in trial_rows(
                [trial], self._baseline, self._limits
            ):
                found = f"{self._columns[0]} {score or '-'} on {n} documents" if n else "estimate"
                print(f"{found}, {seconds} s: {settings}", file=sys.stderr, flush=True)
        self._running = ""

    def _content(self) -> tuple[list[tuple[str, ...]], str]:
        rows = trial_rows(self._trials, self._baseline, self._limits)
        spent = self._spent + time.monotonic() - self._began
        below = f"{len(self._trials)} trials, {spoken_seconds(spent)}"
        below += f" of {spoken_seconds(self._budget)}; now {self._running}"
        return rows, below
