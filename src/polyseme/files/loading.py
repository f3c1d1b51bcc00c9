"""Open a saved model, whatever its kind."""

from __future__ import annotations

import os
from typing import Any

from polyseme.files.kinds import kind_named
from polyseme.files.model_folder import open_model
from polyseme.machine.old_names import knows_old_names
from polyseme.machine.threads import count_jobs

__all__ = ["load"]


@knows_old_names("load", {"n_threads": "n_jobs"})
def load(path: str | os.PathLike[str], *, n_jobs: int | None = None) -> Any:
    """Load a model that was saved with ``model.save``.

    Weights are memory-mapped. Everything is checked first: a file that does not fit is refused
    with a sentence that says why, and is never run.

    Parameters
    ----------
    path : path of the model's folder
    n_jobs : int, optional
        Threads for prediction; by default one for each core.

    Returns
    -------
    XRLinear, TextModel or another kind
        Whichever was saved.
    """
    count_jobs(n_jobs)  # a wrong number is not the model's fault
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"the path of a model must be a str or a Path, not {path!r:.40}.")
    stored = open_model(path)
    return kind_named(stored.description.get("kind"), stored).restored(stored, n_jobs=n_jobs)
