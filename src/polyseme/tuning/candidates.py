"""Which settings are tried: the given ones, some known to be good, and random ones near these."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from polyseme.estimators.partitioned import PartitionedClassifier

__all__ = ["Parameters", "draw_candidates", "space_of"]

Parameters = dict[str, Any]
MOST_CHANGED = 3  # parameters that a random candidate has drawn anew
DRAWS_A_CANDIDATE = 50  # in vain, before the space counts as exhausted


def space_of(
    estimator: PartitionedClassifier,
    space: Mapping[str, Sequence[Any]] | None,
    fixed: Collection[str],
) -> dict[str, list[Any]]:
    """Return the values to try of each parameter: `space`, or what the estimator's class says.

    Every value is checked as `fit` would check it.
    """
    known = estimator.get_params(deep=False)
    if space is not None and not isinstance(space, Mapping):
        raise ValueError(f"space must be a dict of lists by parameter, not {space!r}.")
    if isinstance(fixed, str) or not isinstance(fixed, Iterable):
        raise ValueError(f"fixed must be a list of parameters, not {fixed!r}.")
    for name, tried in (space or {}).items():
        if isinstance(tried, str) or not isinstance(tried, Iterable):
            raise ValueError(f"the space of {name} must be a list of values, not {tried!r}.")
    for name in (*(space or ()), *fixed):
        if name not in known:
            raise ValueError(f"{type(estimator).__name__} has no parameter {name!r} to tune.")
    given = estimator.tuned_values if space is None else space
    found = {
        name: [value.item() if isinstance(value, np.generic) else value for value in values]
        for name, values in given.items()
        if name in known and name not in fixed
    }
    for name, values in found.items():
        if not values:
            raise ValueError(f"the space of {name} must be a list of values, not {given[name]!r}.")
        for value in values:
            if not isinstance(value, str | int | float | None):
                raise ValueError(f"a value of {name} must be a number or a text, not {value!r}.")
            with_parameters(estimator, {name: value}).check_parameters()
    if not any(set(map(repr, values)) - {repr(known[name])} for name, values in found.items()):
        raise ValueError(
            "there is nothing to tune: every parameter is fixed, or has the one value it may have."
        )
    return found


def draw_candidates(
    estimator: PartitionedClassifier,
    space: Mapping[str, Sequence[Any]],
    n_candidates: int,
    seed: int,
) -> list[Parameters]:
    """Return at most so many different settings, each with a value for every parameter tuned.

    The first are those of the estimator, then those that its class knows to be good. Each further
    one is one of these with one to three parameters drawn anew.
    """
    own = estimator.get_params(deep=False)
    baseline = {name: own[name] for name in space}
    known = [baseline]
    for good in estimator.tuned_first:
        candidate = baseline | {
            name: value for name, value in good.items() if value in space.get(name, ())
        }
        if candidate not in known:
            known.append(candidate)
    found = known[:n_candidates]
    rng = np.random.default_rng(seed)
    names = list(space)
    for _ in range(DRAWS_A_CANDIDATE * n_candidates):
        if len(found) == n_candidates:
            break
        drawn = dict(known[rng.integers(len(known))])
        n_changed = min(len(names), int(rng.integers(1, MOST_CHANGED + 1)))
        for i in rng.permutation(len(names))[:n_changed]:
            values = space[names[i]]
            drawn[names[i]] = values[int(rng.integers(len(values)))]
        if drawn not in found:
            found.append(drawn)
    return found


def with_parameters(
    estimator: PartitionedClassifier, parameters: Parameters
) -> PartitionedClassifier:
    """Return an untrained copy with other parameters."""
    changed: PartitionedClassifier = clone(estimator).set_params(**parameters)
    return changed
