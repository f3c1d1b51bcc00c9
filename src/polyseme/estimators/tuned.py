"""What `polyseme.tune` tries of the parameters that all estimators share.

A class adds its own in `tuned_values` and `tuned_first`; a parameter more is a line more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["TUNED_FIRST", "TUNED_VALUES"]

TUNED_VALUES: Mapping[str, Sequence[Any]] = {
    "copies": (1, 2, 3, 4),
    "beam_size": (5, 10, 20),
    "max_leaf_size": (50, 100, 200, 400),
    "training_rows": ("teacher-forcing", "both"),
    "favour_rare": (0.0, 0.25, 0.5, 1.0),
    "merge": ("sum", "mean"),
}
# Settings that are known to be good, tried before random ones.
TUNED_FIRST: Sequence[Mapping[str, Any]] = (
    {"favour_rare": 0.5},
    {"training_rows": "both"},
    {"copies": 2},
    {"max_leaf_size": 200},
    {"max_leaf_size": 400, "beam_size": 5},
    {"copies": 1},
)
