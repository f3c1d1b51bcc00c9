"""``polyseme train --tune``: find settings before the training."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from polyseme import tune
from polyseme.cli.errors import note
from polyseme.cli.shared import plain_table
from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.files.whole_files import written_beside
from polyseme.machine.quantities import bytes_from, seconds_from, spoken_bytes
from polyseme.tuning import TuningInterrupted, TuningResult
from polyseme.tuning.metric import Metric
from polyseme.tuning.result import FIRST_WORDS
from polyseme.tuning.showing import trial_columns, trial_rows

__all__ = ["Tuning", "take_tuning", "tuning_from", "tuning_options"]

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS = {
    "tune": click.option(
        "--tune",
        metavar="TIME",
        help="Search settings first, for as long as this, such as 10m; parameters that are given "
        "stay as they are.",
    ),
    "tune_metric": click.option(
        "--tune-metric",
        metavar="NAME",
        help="What to search for: P@k, R@k, F1@k, nDCG@k, PSP@k or PSnDCG@k. [P@5]",
    ),
    "tune_max_memory": click.option(
        "--tune-max-memory",
        metavar="SIZE",
        help="Leave out settings whose training takes more memory, such as 8GB.",
    ),
    "tune_max_model": click.option(
        "--tune-max-model",
        metavar="SIZE",
        help="Leave out settings whose model is larger on disk, such as 500MB.",
    ),
    "tune_toml": click.option(
        "--tune-toml",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Where to write the settings that were found, for --config. [MODEL.toml]",
    ),
    "tune_state": click.option(
        "--tune-state",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Where trials are kept, so that a search goes on. [MODEL.tuning.json]",
    ),
}


def tuning_options(function: Function) -> Function:
    """Add the options of a search."""
    for option in reversed(_OPTIONS.values()):
        function = option(function)
    return function


def take_tuning(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of a search from all those of a command, and return them."""
    return {name: options.pop(name) for name in _OPTIONS}


def tuning_from(
    options: dict[str, Any], output: Path | None, fixed: Collection[str]
) -> Tuning | None:
    """Return the search that the options ask for, if any.

    Parameters
    ----------
    options : dict
        As `take_tuning` returns them.
    output : Path or None
        The model's folder; None if nothing is to be trained.
    fixed : collection of str
        Parameters that stay as they are.
    """
    if options["tune"] is not None:
        if output is None:
            raise click.UsageError("--tune and --estimate exclude each other.")
        return Tuning(options, output, fixed)
    for name, value in options.items():
        if value is not None:
            option = "--" + name.replace("_", "-")
            raise click.UsageError(f"{option} needs --tune with a time, such as --tune 10m.")
    return None


class Tuning:
    """A search to come, and, once it was called, what it found."""

    def __init__(self, options: dict[str, Any], output: Path, fixed: Collection[str]) -> None:
        def size(option: str) -> int | None:
            given = options[f"tune_max_{option}"]
            return None if given is None else bytes_from(given, f"--tune-max-{option}")

        self._output = output
        self._budget = seconds_from(options["tune"], "--tune")
        self._metric = str(Metric.named(options["tune_metric"] or "P@5"))
        self._max_memory, self._max_model_size = size("memory"), size("model")
        self._fixed = fixed
        self._toml = options["tune_toml"] or output.with_name(f"{output.name}.toml")
        self._state = options["tune_state"] or output.with_name(f"{output.name}.tuning.json")
        self._found: TuningResult | None = None
        if self._toml.is_dir():
            raise ValueError(f"{self._toml} is a folder; name another file with --tune-toml.")
        if options["tune_toml"] is not None and not self._toml.parent.is_dir():
            raise FileNotFoundError(f"{self._toml.parent} is not a folder; create it first.")
        if self._toml.is_file() and not self._toml.read_bytes().startswith(FIRST_WORDS.encode()):
            raise ValueError(
                f"{self._toml} is there and no search has written it; name another --tune-toml."
            )

    @property
    def found(self) -> TuningResult:
        """What was found; the search must be over."""
        assert self._found is not None
        return self._found

    def __call__(self, estimator: PartitionedClassifier, X: Any, Y: Any) -> PartitionedClassifier:
        """Search; write the settings and return the estimator to train."""
        self._output.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._found = tune(
                estimator,
                X,
                Y,
                budget=self._budget,
                metric=self._metric,
                fixed=self._fixed,
                max_memory=self._max_memory,
                max_model_size=self._max_model_size,
                state=self._state,
                verbose=estimator.verbose,
            )
        except TuningInterrupted as stop:
            if stop.result is not None:
                self._write(stop.result)
                note(f"{stop.result.summary} {self._toml} has these settings.")
            raise
        self._write(self.found)
        note(f"{self.found.summary} Next is the training on all documents.")
        best: PartitionedClassifier = self.found.best_estimator()
        return best

    def to_dict(self) -> dict[str, Any]:
        """Return what was found, for machines."""
        return {"toml": str(self._toml), **self.found.to_dict()}

    def print(self, out: Console) -> None:
        """Print the best trials and what was gained."""
        found = self.found
        rows = trial_rows(found.trials, found.baseline_parameters, found.limits)
        out.print(plain_table(trial_columns(found.metric), rows, numbers=range(4)))
        for sentence in (found.summary, found.note, f"{self._toml} has the best settings."):
            if sentence:
                out.print(sentence, markup=False, soft_wrap=True)
        out.print()

    def warn_of_size(self) -> None:
        """Say so if the saved model is larger than wanted after all."""
        most = self._max_model_size
        n_bytes = sum(file.stat().st_size for file in self._output.iterdir())
        if most is not None and n_bytes > most:
            note(
                f"{self._output} takes {spoken_bytes(n_bytes)}, more than {spoken_bytes(most)}: "
                "estimates err, and names and texts come on top."
            )

    def _write(self, found: TuningResult) -> None:
        with written_beside(self._toml) as stream:
            stream.write(found.to_toml().encode())
