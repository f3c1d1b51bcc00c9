"""What an experiment is: methods to run, figures to show."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polyseme.experiments.measuring import Figures, fit_and_measure
from polyseme.experiments.problem import Problem, all_parameters
from polyseme.experiments.run_names import name_of_run
from polyseme.experiments.tables import Column, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from polyseme.experiments.cells import Results

__all__ = ["Experiment", "Method", "Run"]


@dataclass(frozen=True)
class Method:
    """One row of an experiment.

    Attributes
    ----------
    name : str
        Its name in tables; no other method of the experiment has it.
    parameters : mapping
        Of `polyseme.XRLinear`, but for seed, threads and progress.
    options : mapping
        Whatever else `run` wants to know, in forms that JSON has.
    run : callable
        From (problem, method, seed) to the figures of a cell; named by `run_named`.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    run: Run = fit_and_measure

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides a cell but data and seed; defaults are spelled out, as they change."""
        settings: dict[str, Any] = {
            "run": name_of_run(self.run),
            "parameters": all_parameters(self.parameters),
            "options": dict(self.options),
        }
        settings = json.loads(json.dumps(settings))  # as they come back from a file
        return settings


Run = Callable[[Problem, Method, int], Figures]


@dataclass(frozen=True)
class Experiment:
    """A question, as methods to compare.

    Attributes
    ----------
    name, summary : str
        For the command line.
    methods : callable
        From a problem to its methods; what depends on the sizes of the data can look there.
    columns : mapping of str to sequence of Column
        The tables by title.
    baseline : str or None
        The method that all others are compared with.
    paper : sequence of Table
        What the paper reports on its own data.
    notes : str
        What a reader should know, in a sentence or two.
    is_timed : bool
        Its times are compared, so its cells are never taken over from another experiment.
    sections : callable or None
        From results to tables and paragraphs that come after the usual ones.
    draw : callable or None
        From results to a matplotlib figure.
    """

    name: str
    summary: str
    methods: Callable[[Problem], Sequence[Method]]
    columns: Mapping[str, Sequence[Column]] = field(default_factory=dict)
    baseline: str | None = None
    paper: Sequence[Table] = ()
    notes: str = ""
    is_timed: bool = False
    sections: Callable[[Results], Sequence[Table | str]] | None = None
    draw: Callable[[Results], Figure] | None = None
