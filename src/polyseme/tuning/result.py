"""What a search found."""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict, dataclass
from typing import Any

from sklearn.base import clone

from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.machine.quantities import spoken_seconds
from polyseme.text.model import TextModel
from polyseme.tuning.candidates import Parameters
from polyseme.tuning.journal import Limits, Trial
from polyseme.tuning.showing import difference, trial_columns, trial_rows

__all__ = ["FIRST_WORDS", "TuningResult", "classifier_of"]

FIRST_WORDS = "# Found by polyseme.tune"  # of a file of settings
OF_THE_MACHINE = ("n_jobs", "verbose")  # parameters that have to do with no model


@dataclass(frozen=True, eq=False, repr=False)
class TuningResult:
    """The best settings that were found, and all that were tried.

    Attributes
    ----------
    estimator : estimator
        As it was given.
    metric : str
    best_parameters : dict
        Of those that were tuned.
    best_score : float
        Of the best settings on the held-out documents, trained on all others, in percent.
    baseline_parameters : dict
        The same of the given estimator.
    baseline_score : float or None
        Its score; None if it was not tried, being beyond the limit of memory.
    trials : tuple of Trial
        In the order in which they were made.
    n_documents, n_held_out : int
        Documents to train on, and to measure on.
    seconds : float
        What the trials took.
    random_state : int
    note : str
        What should be known about how far the search got, if anything.
    limits : Limits
    """

    estimator: Any
    metric: str
    best_parameters: Parameters
    best_score: float
    baseline_parameters: Parameters
    baseline_score: float | None
    trials: tuple[Trial, ...]
    n_documents: int
    n_held_out: int
    seconds: float
    random_state: int
    note: str
    limits: Limits

    @property
    def gain(self) -> float:
        """How much better the best settings are than the given ones, in points."""
        return 0.0 if self.baseline_score is None else self.best_score - self.baseline_score

    @property
    def summary(self) -> str:
        """What was gained, in a sentence."""
        where = f"on {self.n_held_out:,} held-out documents"
        out = [trial.parameters for trial in self.trials if self.limits.objection(trial)]
        n_out = len({repr(parameters) for parameters in out})
        took = f"{len(self.trials)} trials took {spoken_seconds(self.seconds)}"
        took += f"; beyond the limits: {n_out} settings" if n_out else ""
        found = f"{self.metric} {self.best_score:.2f} {where}"
        if self.baseline_score is None:
            return f"{found}; the given settings are beyond the limits. {took}."
        if self.best_parameters == self.baseline_parameters:
            return f"{found}: nothing was better than the given settings. {took}."
        given = (
            "of the given ones, which are beyond the limits"
            if self.baseline_parameters in out
            else "as given"
        )
        return f"{found}, {self.gain:+.2f} against {self.baseline_score:.2f} {given}. {took}."

    def best_estimator(self) -> Any:
        """Return an untrained copy of the given estimator with the best parameters."""
        prefix = "classifier__" if isinstance(self.estimator, TextModel) else ""
        best = {f"{prefix}{name}": value for name, value in self.best_parameters.items()}
        return clone(self.estimator).set_params(**best)

    def to_toml(self) -> str:
        """Return the settings as TOML, as `polyseme train --config` reads it.

        It has the parameters that were tuned, and others that are not the defaults.
        """
        classifier = classifier_of(self.best_estimator())
        known = inspect.signature(type(classifier)).parameters
        settings = {
            name: value
            for name, value in classifier.get_params(deep=False).items()
            if name in self.best_parameters or value != known[name].default
        }
        lines = [f"{FIRST_WORDS}, seed {self.random_state}.", f"# {self.summary}"]
        lines += [
            f"{name} = {json.dumps(value)}"
            for name, value in settings.items()
            if value is not None and name not in OF_THE_MACHINE
        ]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return all of it in plain Python types."""
        trials = [
            asdict(trial) | {"out": self.limits.objection(trial) or None} for trial in self.trials
        ]
        return {
            "metric": self.metric,
            "best_parameters": self.best_parameters,
            "best_score": self.best_score,
            "baseline_parameters": self.baseline_parameters,
            "baseline_score": self.baseline_score,
            "gain": self.gain,
            "n_documents": self.n_documents,
            "n_held_out": self.n_held_out,
            "seconds": self.seconds,
            "random_state": self.random_state,
            "note": self.note,
            "trials": trials,
        }

    def __repr__(self) -> str:
        found = difference(self.best_parameters, self.baseline_parameters)
        return f"<TuningResult: {found}. {self.summary}>"

    def __str__(self) -> str:
        rows = trial_rows(self.trials, self.baseline_parameters, self.limits)
        rows.insert(0, trial_columns(self.metric))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                [*(f"{cell:>{n}}" for cell, n in zip(row[:-1], widths, strict=False)), row[-1]]
            )
            for row in rows
        ]
        return "\n".join([*lines, "", *filter(None, [self.summary, self.note])])


def classifier_of(estimator: Any) -> PartitionedClassifier:
    """Return the untrained classifier of a text model, or the estimator itself."""
    return estimator.untrained_parts()[1] if isinstance(estimator, TextModel) else estimator
