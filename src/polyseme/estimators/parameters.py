"""Checks of an estimator's parameters, done in `fit` as scikit-learn wants it."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from polyseme.partition.assignment import METHODS
from polyseme.partition.merging import MERGES
from polyseme.partition.training_rows import TRAINING_ROWS

__all__ = ["check_parameters"]

_WHOLE_FROM = {
    "copies": 1,
    "beam_size": 1,
    "rounds": 0,
    "branching": 2,
    "max_leaf_size": 1,
    "max_iter": 1,
    "seed": 0,
}
_OPTIONAL_WHOLE_FROM = {"max_cluster_size": 1, "max_weights_per_label": 1, "n_threads": 1}
_ZERO_OR_WHOLE_FROM = {"match_folds": 2}
_LARGEST = float(np.finfo(np.float32).max)
_POSITIVE = ("cost", "tolerance")
_NOT_NEGATIVE = ("threshold", "bias")
_TRUE_OR_FALSE = ("finetune_matcher", "sense_positives")
_CHOICES: dict[str, tuple[str | int, ...]] = {
    "weight_bits": (8, 32),
    "assignment": tuple(METHODS),
    "loss": ("squared-hinge", "logistic"),
    "training_rows": TRAINING_ROWS,
    "activation": ("l3-hinge", "sigmoid", "none"),
    "merge": MERGES,
}


def check_parameters(estimator: Any) -> None:
    """Refuse a parameter that makes no sense, by name and with what would."""
    for name, value in estimator.get_params(deep=False).items():
        if name in _WHOLE_FROM:
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
