"""What was tried, kept in a file that is whole at any time."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from polyseme.files.whole_files import written_beside
from polyseme.machine.quantities import spoken_bytes
from polyseme.tuning.candidates import Parameters

__all__ = ["Journal", "Limits", "Trial"]

FORMAT = 1
MOST_DOCUMENTS = 2**31
MOST_PERCENT = 100.001


@dataclass(frozen=True)
class Trial:
    """Settings that were tried on some of the documents.

    Attributes
    ----------
    parameters : dict
        Of those that are tuned.
    n_documents : int
        That it was trained on; 0 of a mere estimate.
    seconds : float
        What it took, measuring included.
    score : float or None
        On the held-out documents, in percent; None of an estimate, and of a trial that was stopped
        because it took too long.
    model_bytes, peak_bytes : int or None
        What a model of all documents takes on disk, scaled from samples as the first settings'
        models grow, and training it in memory, as far as known.
    """

    parameters: Parameters
    n_documents: int
    seconds: float
    score: float | None = None
    model_bytes: int | None = None
    peak_bytes: int | None = None

    @classmethod
    def read(cls, given: Any) -> Trial:
        """Return the trial that a file tells of, checked."""
        trial = cls(**given)
        counts = (trial.n_documents, trial.model_bytes, trial.peak_bytes)
        numbers = (trial.seconds, 0 if trial.score is None else trial.score)
        if (
            not isinstance(trial.parameters, dict)
            or type(trial.n_documents) is not int
            or trial.n_documents > MOST_DOCUMENTS
            or (trial.score is not None and trial.score > MOST_PERCENT)
            or not all(count is None or (type(count) is int and count >= 0) for count in counts)
            or not all(type(number) in (int, float) for number in numbers)
            or not all(math.isfinite(number) and number >= 0 for number in numbers)
        ):
            raise ValueError("a trial is not as it was written")
        return trial


@dataclass(frozen=True)
class Limits:
    """What settings may take at most; None for no limit."""

    memory: int | None = None
    model_size: int | None = None

    def objection(self, trial: Trial) -> str:
        """Return why settings are out, or nothing."""
        if self.memory is not None and (trial.peak_bytes or 0) > self.memory:
            return f"takes {spoken_bytes(trial.peak_bytes or 0)} of memory"
        if self.model_size is not None and (trial.model_bytes or 0) > self.model_size:
            return f"takes {spoken_bytes(trial.model_bytes or 0)} on disk"
        return ""


class Journal:
    """The trials of a search.

    Parameters
    ----------
    path : Path or None
        File to keep them in; what it has is read.
    about : dict
        What the trials depend on, by the word that a message calls it.
    space : dict of str to list, optional
        The values that trials may have of each parameter; trials that have others are refused.
    """

    def __init__(
        self,
        path: Path | None,
        about: Mapping[str, Any],
        space: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        self._path, self._space = path, space
        self._about = json.loads(json.dumps(about))  # as it would be read
        self.trials: list[Trial] = []
        if path is None:
            return
        if path.exists():
            self._read(path)
        self._write()  # what cannot be written is known before the work begins

    @property
    def seconds(self) -> float:
        """What all trials took."""
        return sum(trial.seconds for trial in self.trials)

    def find(self, parameters: Parameters, n_documents: int) -> Trial | None:
        """Return the last trial of these settings on so many documents."""
        wanted = [
            trial
            for trial in self.trials
            if trial.n_documents == n_documents and trial.parameters == parameters
        ]
        return wanted[-1] if wanted else None

    def add(self, trial: Trial) -> None:
        """Keep a trial."""
        self.trials.append(trial)
        self._write()

    def _read(self, path: Path) -> None:
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            version, about = kept["format"], dict(kept["about"])
            is_ours = version == FORMAT and all(
                about.get(word) == value for word, value in self._about.items()
            )
            self.trials = [self._checked(trial) for trial in kept["trials"]] if is_ours else []
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ValueError(
                f"{path} is damaged, or no state of a tuning; delete it to begin anew, or name "
                "another file."
            ) from error
        if version != FORMAT:
            raise ValueError(f"{path} is of another polyseme; delete it, or name another file.")
        for word, value in self._about.items():
            if about.get(word) != value:
                raise ValueError(
                    f"{path} is the state of a tuning with another {word}; delete it to begin "
                    "anew, or name another file."
                )

    def _checked(self, given: Any) -> Trial:
        trial, space = Trial.read(given), self._space
        if space is not None and (
            set(trial.parameters) != set(space)
            or any(value not in space[name] for name, value in trial.parameters.items())
        ):
            raise ValueError("a trial is of other parameters")
        return trial

    def _write(self) -> None:
        if self._path is None:
            return
        kept = {
            "format": FORMAT,
            "about": self._about,
            "trials": [asdict(trial) for trial in self.trials],
        }
        with written_beside(self._path) as stream:
            stream.write(json.dumps(kept, indent=1, ensure_ascii=False).encode())
