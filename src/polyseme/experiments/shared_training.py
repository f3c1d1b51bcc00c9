"""Cells that differ only in prediction share one training."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from polyseme.estimators.xr_linear import XRLinear
from polyseme.experiments.measuring import Figures, measure
from polyseme.experiments.problem import Problem, all_parameters
from polyseme.experiments.run_names import run_named

if TYPE_CHECKING:
    from polyseme.experiments.definition import Method

__all__ = ["fit_once", "fit_once_and_measure"]

# What was trained last, and from what. One model at most: they may be large.
_last: list[tuple[Problem, str, XRLinear]] = []


@run_named("measure, training shared")
def fit_once_and_measure(problem: Problem, method: Method, seed: int) -> Figures:
    """Train unless that was just done, then measure prediction with ``options['predict']``.

    That may hold 'merge' and 'beam_size'. The training seconds are those of the one training.
    """
    model = fit_once(problem, method.parameters, seed)
    wanted = {**all_parameters(method.parameters), **method.options["predict"]}
    model.set_params(merge=wanted["merge"], beam_size=wanted["beam_size"])
    return measure(model, problem)


def fit_once(problem: Problem, parameters: Mapping[str, Any], seed: int) -> XRLinear:
    """Return the model of these parameters and seed; trained unless it was the last one."""
    key = json.dumps([dict(parameters), seed], sort_keys=True)
    if not (_last and _last[0][0] is problem and _last[0][1] == key):
        _last.clear()
        _last.append((problem, key, problem.fit(parameters, seed)))
    return _last[0][2]
