"""What parameters may be, checked in `fit` as scikit-learn wants it, and what they were called.

A class says what its own parameters may be, in a dictionary `_constraints`; nothing here knows any
of them.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyseme.machine.threads import JOB_COUNTS, is_job_count

__all__ = [
    "JOBS",
    "NONE",
    "RENAMED",
    "SEED",
    "TRUE_OR_FALSE",
    "ZERO",
    "Constraint",
    "check_parameters",
    "instance_of",
    "number_above",
    "number_from",
    "one_of",
    "share",
    "whole_from",
]

# What parameters were called before they were called as in scikit-learn.
RENAMED = {
    "seed": "random_state",
    "n_threads": "n_jobs",
    "cost": "C",
    "tolerance": "tol",
    "threshold": "min_weight",
}

_LARGEST = float(np.finfo(np.float32).max)
_MOST = 2**31 - 1


@dataclass(frozen=True)
class Constraint:
    """What a parameter may be.

    Attributes
    ----------
    words : str
        What follows "must be".
    allows : callable
        From a value, which may be anything, to whether it is such.
    """

    words: str
    allows: Callable[[Any], bool]

    def __or__(self, other: Constraint) -> Constraint:
        return Constraint(
            f"{self.words} or {other.words}",
            lambda value: self.allows(value) or other.allows(value),
        )


def check_parameters(estimator: Any) -> None:
    """Refuse a parameter that is not what its class says it may be."""
    constraints: Mapping[str, Constraint] = estimator._constraints
    for name, value in estimator.get_params(deep=False).items():
        if name in constraints and not constraints[name].allows(value):
            raise ValueError(f"{name} must be {constraints[name].words}, not {value!r}.")


def whole_from(least: int) -> Constraint:
    """Allow whole numbers that the native core can count with."""
    return Constraint(
        f"a whole number from {least} to {_MOST}",
        lambda value: _is_whole(value) and least <= value <= _MOST,
    )


def number_above(least: float) -> Constraint:
    """Allow numbers above one."""
    return Constraint(
        f"a number above {least} that float32 can hold",
        lambda value: _is_number(value) and value > least,
    )


def number_from(least: float) -> Constraint:
    """Allow numbers from one on."""
    return Constraint(
        f"a number of at least {least} that float32 can hold",
        lambda value: _is_number(value) and value >= least,
    )


def share(words: str, within: Callable[[float], bool]) -> Constraint:
    """Allow a part of the whole, from 0 to 1 with or without the ends."""
    return Constraint(f"a share {words}", lambda value: _is_number(value) and within(value))


def one_of(*choices: str | int) -> Constraint:
    """Allow a few values."""
    return Constraint(
        f"one of {', '.join(map(repr, choices))}",
        lambda value: isinstance(value, str | numbers.Integral) and value in choices,
    )


def instance_of(kind: type) -> Constraint:
    """Allow objects of a class."""
    return Constraint(f"a {kind.__name__}", lambda value: isinstance(value, kind))


def _is_number(value: Any) -> bool:
    # What float32 cannot hold would be infinite inside.
    is_real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return is_real and bool(abs(value) <= _LARGEST)


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


NONE = Constraint("None", lambda value: value is None)
ZERO = Constraint("0", lambda value: _is_whole(value) and value == 0)
TRUE_OR_FALSE = Constraint("True or False", lambda value: isinstance(value, bool | np.bool_))
JOBS = Constraint(JOB_COUNTS, is_job_count)
SEED = Constraint(
    f"{whole_from(0).words} (the same number gives the same model)", whole_from(0).allows
)
