"""Checks of an estimator's parameters, done in `fit` as scikit-learn wants it."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from polyseme.machine.threads import count_jobs
from polyseme.partition.assignment import METHODS
from polyseme.partition.merging import MERGES
from polyseme.partition.training_rows import TRAINING_ROWS

__all__ = ["RENAMED", "check_parameters", "knows_old_names", "refuse_old_names"]

Function = TypeVar("Function", bound=Callable[..., Any])

# What parameters were called before they were called as in scikit-learn.
RENAMED = {
    "seed": "random_state",
    "n_threads": "n_jobs",
    "cost": "C",
    "tolerance": "tol",
    "threshold": "min_weight",
}

_WHOLE_FROM = {
    "copies": 1,
    "beam_size": 1,
    "rounds": 0,
    "branching": 2,
    "max_leaf_size": 1,
    "max_iter": 1,
}
_OPTIONAL_WHOLE_FROM = {"max_cluster_size": 1, "max_weights_per_label": 1}
_ZERO_OR_WHOLE_FROM = {"match_folds": 2}
_LARGEST = float(np.finfo(np.float32).max)
_POSITIVE = ("C", "tol")
_NOT_NEGATIVE = ("min_weight", "bias")
_TRUE_OR_FALSE = ("finetune_matcher", "sense_positives")
_CHOICES: dict[str, tuple[str | int, ...]] = {
    "weight_bits": (8, 32),
    "verbose": (0, 1),
    "assignment": tuple(METHODS),
    "loss": ("squared-hinge", "logistic"),
    "training_rows": TRAINING_ROWS,
    "activation": ("l3-hinge", "sigmoid", "none"),
    "merge": MERGES,
}


def check_parameters(estimator: Any) -> None:
    """Refuse a parameter that makes no sense, by name and with what would."""
    for name, value in estimator.get_params(deep=False).items():
        if name == "n_jobs":
            count_jobs(value)
        elif name == "random_state":
            _check_random_state(value)
        elif name in _WHOLE_FROM:
            _check_whole(name, value, _WHOLE_FROM[name])
        elif name in _OPTIONAL_WHOLE_FROM and value is not None:
            _check_whole(name, value, _OPTIONAL_WHOLE_FROM[name], "None or ")
        elif name in _ZERO_OR_WHOLE_FROM and not (_is_whole(value) and value == 0):
            _check_whole(name, value, _ZERO_OR_WHOLE_FROM[name], "0 or ")
        elif name in _POSITIVE and not (_is_number(value) and value > 0):
            raise ValueError(
                f"{name} must be a number above 0 that float32 can hold, not {value!r}."
            )
        elif name in _NOT_NEGATIVE and not (_is_number(value) and value >= 0):
            raise ValueError(
                f"{name} must be a number of at least 0 that float32 can hold, not {value!r}."
            )
        elif name in _TRUE_OR_FALSE and not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} must be True or False, not {value!r}.")
        elif name in _CHOICES and not (isinstance(value, str | int) and value in _CHOICES[name]):
            choices = ", ".join(repr(choice) for choice in _CHOICES[name])
            raise ValueError(f"{name} must be one of {choices}, not {value!r}.")


def refuse_old_names(owner: str, given: Iterable[str], old_names: Mapping[str, str]) -> None:
    """Refuse a name of before with a TypeError that tells the new one."""
    for name in given:
        if name in old_names:
            raise TypeError(f"{owner} has no parameter {name!r}; it is called {old_names[name]}.")


def knows_old_names(owner: str, old_names: Mapping[str, str]) -> Callable[[Function], Function]:
    """Let a function tell what the parameters that it had before are called now."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)  # which also keeps the signature
        def checked(*args: Any, **kwargs: Any) -> Any:
            refuse_old_names(owner, kwargs, old_names)
            return function(*args, **kwargs)

        return checked  # type: ignore[return-value]

    return decorate


def _check_random_state(value: Any) -> None:
    if value is None:
        raise ValueError(
            "random_state must be a whole number, not None: the same number gives the same model."
        )
    _check_whole("random_state", value, 0)


def _is_number(value: Any) -> bool:
    # What float32 cannot hold would be infinite inside.
    is_real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return is_real and bool(abs(value) <= _LARGEST)


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _check_whole(name: str, value: Any, least: int, before: str = "") -> None:
    if not _is_whole(value) or not least <= value < 2**31:
        raise ValueError(
            f"{name} must be {before}a whole number from {least} to {2**31 - 1}, not {value!r}."
        )
