"""What a saved linear model consists of, and how it is brought back to life."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.linear.weights import LinearWeights
from polyseme.estimators.parameters import RENAMED, check_parameters
from polyseme.files.stored_model import (
    StoredModel,
    require_array,
    require_finite,
    require_range,
    require_starts,
)
from polyseme.inputs.names import Names
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree

if TYPE_CHECKING:
    from polyseme.estimators.xr_linear import XRLinear

__all__ = ["contents_of", "restore"]

Contents = tuple[dict[str, Any], dict[str, npt.NDArray[Any]], dict[str, Names]]

# How to use a machine belongs to the machine, not to the model.
_NOT_STORED = ("n_jobs", "verbose")
_DTYPES: dict[str, tuple[Any, ...]] = {
    "slot_starts": (np.int64,),
    "record_sizes": (np.uint16, np.uint32),
    "bytes": (np.uint8,),
    "scales": (np.float32,),
    "bias": (np.float32,),
}


def contents_of(model: XRLinear) -> Contents:
    """Return the description, the arrays and the names that make up a trained model."""
    ranker = model.ranker_.weights
    assert ranker is not None
    parameters = {
        name: value for name, value in model.get_params().items() if name not in _NOT_STORED
    }
    description = {
        "kind": "XRLinear",
        "parameters": parameters,
        "n_labels": model.n_labels_,
        "n_features": model.n_features_in_,
        "n_documents": model.n_documents_,
        "fan_outs": list(model.tree_.fan_outs),
        "assignments": model.assignments_,
        "phase_seconds": model.phase_seconds_,
        "updates": model.updates_,
    }
    arrays: dict[str, npt.NDArray[Any]] = {
        "clusters.starts": model.clusters_.starts,
        "clusters.labels": model.clusters_.labels,
        "label_counts": model.label_counts_,
        "slot_documents": model.slot_documents_,
    }
    parts = {f"matcher.{i}": level for i, level in enumerate(model.matcher_.levels)}
    for part, weights in {**parts, "ranker": ranker}.items():
        # The ranker's slots are the clusters; those of a tree level follow from its shape.
        stored = {name: a for name, a in weights.to_arrays().items() if name != "slot_starts"}
        arrays.update({f"{part}.{name}": array for name, array in stored.items()})
    names = {"labels": model.label_names_, "features": model.feature_names_}
    return description, arrays, {key: value for key, value in names.items() if value is not None}


def restore(model: XRLinear, stored: StoredModel) -> None:
    """Fill a fresh estimator with what was saved, after checking all of it."""
    facts = _checked_description(stored)
    _set_parameters(model, stored)
    model.n_labels_ = facts["n_labels"]
    model.n_features_in_ = facts["n_features"]
    model.n_documents_ = facts["n_documents"]
    model.assignments_ = _of_type(stored, "assignments", list)
    model.phase_seconds_ = _of_type(stored, "phase_seconds", dict)
    model.updates_ = _updates(stored)
    model.tree_ = _tree(stored)
    model.clusters_ = _clusters(stored, model.n_labels_, model.tree_.n_clusters)
    n_slots = model.clusters_.n_slots
    model.label_counts_ = _document_counts(stored, "label_counts", model.n_labels_)
    model.slot_documents_ = _document_counts(stored, "slot_documents", n_slots)
    model.label_names_ = _names(stored, "labels", model.n_labels_)
    model.feature_names_ = _names(stored, "features", model.n_features_in_)

    matcher, ranker = model._make_matcher(), model._make_ranker()
    matcher.n_features = model.n_features_in_
    matcher.levels = [
        _weights(stored, f"matcher.{level}", model.tree_.child_starts(level), model.n_features_in_)
        for level in range(model.tree_.n_levels)
    ]
    ranker.weights = _weights(stored, "ranker", model.clusters_.starts, model.n_features_in_)
    model.matcher_, model.ranker_ = matcher, ranker
    model._after_fit()
    _ = model._walk.predictor  # which checks the arrays


def _damaged(stored: StoredModel, what: str) -> ValueError:
    return ValueError(f"the model {stored.path} is damaged: {what}")


def _checked_description(stored: StoredModel) -> dict[str, int]:
    if stored.description.get("kind") != "XRLinear":
        raise ValueError(
            f"the model {stored.path} is a {stored.description.get('kind')!r}, which this version "
            "of polyseme does not know; upgrade polyseme"
        )
    facts = {}
    for name, least in (("n_labels", 1), ("n_features", 1), ("n_documents", 0)):
        value = stored.description.get(name)
        if type(value) is not int or not least <= value < 2**31:
            raise _damaged(stored, f"{name} is {value!r}")
        facts[name] = value
    return facts


def _of_type(stored: StoredModel, name: str, kind: type) -> Any:
    value = stored.description.get(name, kind())
    if not isinstance(value, kind):
        raise _damaged(stored, f"{name} is {value!r}")
    return value


def _updates(stored: StoredModel) -> list[dict[str, int]]:
    updates: list[dict[str, int]] = _of_type(stored, "updates", list)
    for update in updates:
        if not isinstance(update, dict) or any(
            type(update.get(name)) is not int or update[name] < 0
            for name in ("n_documents", "n_labels")
        ):
            raise _damaged(stored, f"one of its updates is {update!r}")
    return updates


def _document_counts(stored: StoredModel, name: str, n: int) -> npt.NDArray[np.int64]:
    counts = require_array(stored, name, np.int64, (n,))
    require_range(stored, name, 0, stored.description["n_documents"] + 1)
    return counts


def _set_parameters(model: XRLinear, stored: StoredModel) -> None:
    parameters = stored.description.get("parameters")
    known = set(inspect.signature(type(model).__init__).parameters) - set(_NOT_STORED)
    if isinstance(parameters, dict):  # of an older model, perhaps
        parameters = {RENAMED.get(name, name): value for name, value in parameters.items()}
    if not isinstance(parameters, dict) or not set(parameters) <= known:
        raise _damaged(stored, "its parameters are not those of an XRLinear")
    model.set_params(**parameters)
    try:
        check_parameters(model)
    except ValueError as error:
        raise _damaged(stored, str(error)) from None


def _tree(stored: StoredModel) -> LabelTree:
    fan_outs = stored.description.get("fan_outs")
    if isinstance(fan_outs, list) and all(type(n) is int and n >= 1 for n in fan_outs):
        tree = LabelTree(tuple(fan_outs))
        if tree.n_clusters < 2**31:
            return tree
    raise _damaged(stored, f"fan_outs is {fan_outs!r}")


def _clusters(stored: StoredModel, n_labels: int, n_clusters: int) -> LabelClusters:
    labels = require_array(stored, "clusters.labels", np.int32, (None,))
    starts = require_starts(stored, "clusters.starts", last=len(labels), length=n_clusters + 1)
    require_range(stored, "clusters.labels", 0, n_labels)
    clusters = LabelClusters(n_labels, starts, labels)
    if clusters.copies.min() == 0:
        raise _damaged(stored, f"label {int(clusters.copies.argmin())} is in no cluster")
    return clusters


def _names(stored: StoredModel, kind: str, n_wanted: int) -> Names | None:
    names = stored.names.get(kind)
    if names is not None and len(names) != n_wanted:
        raise _damaged(stored, f"it has {len(names)} names for {n_wanted} {kind}")
    return names


def _weights(
    stored: StoredModel, part: str, slot_starts: npt.NDArray[np.int64], n_features: int
) -> LinearWeights:
    arrays: dict[str, npt.NDArray[Any]] = {"slot_starts": slot_starts}
    for name, dtypes in _DTYPES.items():
        if name == "slot_starts":
            continue
        array = stored.arrays.get(f"{part}.{name}")
        dtype = array.dtype if array is not None and array.dtype in dtypes else dtypes[0]
        arrays[name] = require_array(stored, f"{part}.{name}", dtype, (None,))
    for name in ("scales", "bias"):
        require_finite(stored, f"{part}.{name}")
    weights = LinearWeights.from_arrays(arrays, n_features)
    try:
        _ = weights.level  # the native side checks everything that could lead outside an array
    except ValueError as error:
        raise _damaged(stored, f"in its {part}, {error}") from None
    except TypeError:
        raise _damaged(stored, f"the types of arrays in its {part} do not fit") from None
    return weights
