"""Open a saved model, whatever its kind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from polyseme.estimators.parameters import RENAMED, knows_old_names
from polyseme.estimators.xr_linear import XRLinear
from polyseme.files.classifier_files import restore
from polyseme.files.model_folder import open_model
from polyseme.machine.threads import count_jobs

if TYPE_CHECKING:
    from polyseme.text.model import TextModel

__all__ = ["load"]


@knows_old_names("load", {"n_threads": RENAMED["n_threads"]})
def load(path: str | os.PathLike[str], *, n_jobs: int | None = None) -> XRLinear | TextModel:
    """Load a model that was saved with ``model.save``.

    Weights are memory-mapped. Everything is checked first: a file that does not fit is refused
    with a sentence that says why, and is never run.

    Parameters
    ----------
    path : path of the model's folder
    n_jobs : int, optional
        Threads for prediction; by default, and with -1, one for each core.

    Returns
    -------
    XRLinear or TextModel
        Whichever was saved.
    """
    count_jobs(n_jobs)  # a wrong number is not the model's fault
    stored = open_model(path)
    if stored.description.get("kind") == "TextModel":
        # Imported here: who has no texts does not wait for scikit-learn's text parts.
        from polyseme.text import text_model_files
        from polyseme.text.model import TextModel

        model = TextModel()
        text_model_files.restore(model, stored, n_jobs)
        return model
    classifier = XRLinear(n_jobs=n_jobs)
    restore(classifier, stored)
    return classifier
