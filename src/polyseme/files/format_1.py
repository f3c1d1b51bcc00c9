"""Models of format 1, in the words of format 2.

Format 1 had one backbone, uniform trees given by fan-outs, and other names of some parameters.
A text model had the arrays of its classifier beside its own.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from polyseme.files.stored_model import StoredModel

__all__ = ["from_format_1"]

RENAMED_PARAMETERS = {
    "cost": "C",
    "tolerance": "tol",
    "threshold": "min_weight",
    "seed": "random_state",
}
_OF_TEXTS = ("features.", "calibration.", "examples.", "training.")
_NAMES_OF_TEXTS = ("uris", "examples")
# What reach was called.
_REACHED = {
    "objective_before": "reached_before",
    "objective_after": "reached_after",
    "beam_coverage": "reach",
}


def from_format_1(stored: StoredModel) -> StoredModel:
    """Return a model of format 1 as format 2 would have it; what is wrong stays wrong."""
    if stored.description.get("kind") == "TextModel":
        return _text_model(stored)
    return _classifier(stored)


def _text_model(stored: StoredModel) -> StoredModel:
    description = dict(stored.description)
    if isinstance(description.get("report"), dict):
        report = description["report"]
        description["report"] = {_REACHED.get(name, name): part for name, part in report.items()}
    inner = description.pop("classifier", None)
    if not isinstance(inner, dict):
        raise stored.damaged("it has no classifier")
    inside = _classifier(
        StoredModel(
            stored.path,
            inner,
            {k: v for k, v in stored.arrays.items() if not k.startswith(_OF_TEXTS)},
            {k: v for k, v in stored.names.items() if k not in _NAMES_OF_TEXTS},
        )
    )
    own_arrays = {k: v for k, v in stored.arrays.items() if k.startswith(_OF_TEXTS)}
    own_names = {k: v for k, v in stored.names.items() if k in _NAMES_OF_TEXTS}
    return StoredModel(
        stored.path,
        {**description, "kind": "text", "parts": {"classifier": inside.description}},
        {**own_arrays, **{f"classifier/{k}": v for k, v in inside.arrays.items()}},
        {**own_names, **{f"classifier/{k}": v for k, v in inside.names.items()}},
    )


def _classifier(stored: StoredModel) -> StoredModel:
    description = dict(stored.description)
    if description.get("kind") != "XRLinear":
        raise stored.damaged(f"its kind is {str(description.get('kind'))[:80]!r}")
    fan_outs = description.pop("fan_outs", None)
    parameters = stored.value("parameters", dict)
    description.update(
        kind="xr-linear",
        n_sparse=description.pop("n_features", None),
        n_dense=0,
        n_sparse_seen=stored.description.get("n_features"),
        n_dense_seen=0,
        n_levels=len(fan_outs) if isinstance(fan_outs, list) else None,
        parameters={RENAMED_PARAMETERS.get(k, k): v for k, v in parameters.items()},
        updates=description.get("updates", []),
        assignments=_renamed_reach(description.get("assignments", [])),
        phase_seconds=description.get("phase_seconds", {}),
    )
    tree = _levels(stored, fan_outs)
    return replace(stored, description=description, arrays={**stored.arrays, **tree})


def _levels(stored: StoredModel, fan_outs: Any) -> dict[str, Any]:
    starts = stored.arrays.get("clusters.starts")
    n_clusters = -1 if starts is None else len(starts) - 1
    if (
        not isinstance(fan_outs, list)
        or not all(type(n) is int and 2 <= n < 2**31 for n in fan_outs)
        or math.prod(fan_outs) != n_clusters
    ):
        raise stored.damaged(f"fan_outs is {str(fan_outs)[:80]}")
    return {
        f"tree.{level}": np.arange(math.prod(fan_outs[:level]) + 1, dtype=np.int64) * fan_out
        for level, fan_out in enumerate(fan_outs)
    }


def _renamed_reach(assignments: Any) -> Any:
    if not isinstance(assignments, list):
        return assignments
    return [
        {_REACHED.get(k, k): v for k, v in made.items()} if isinstance(made, dict) else made
        for made in assignments
    ]
