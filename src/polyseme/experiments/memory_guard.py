"""Refuses a cell that would not fit into memory, before it begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from polyseme.cost.estimate import Range, estimate_training
from polyseme.cost.memory import available_memory
from polyseme.experiments.problem import Problem, all_parameters

__all__ = ["MemoryGuard"]

# An estimate takes seconds. Data as small as this beside the memory are not worth them.
PLENTY = 50
# What memory depends on; other parameters, and the seed, share an estimate.
RELEVANT = (
    "copies",
    "rounds",
    "assignment",
    "match_folds",
    "max_cluster_size",
    "branching",
    "max_leaf_size",
    "min_weight",
    "max_weights_per_label",
    "weight_bits",
    "training_rows",
    "beam_size",
)


@dataclass
class MemoryGuard:
    """Compares what training would take with what there is."""

    problem: Problem
    _peaks: dict[tuple[Any, ...], Range | None] = field(default_factory=dict)

    def objection(self, parameters: Mapping[str, Any]) -> str | None:
        """Return why a training should not be begun, or None."""
        available = available_memory()
        if available is None or PLENTY * self._data_bytes() <= available:
            return None
        peak = self._peak(parameters)
        if peak is None or peak.about <= available:
            return None
        return (
            f"would need about {peak.about / 2**30:.1f} GiB of memory, and "
            f"{available / 2**30:.1f} GiB are available"
        )

    def _data_bytes(self) -> int:
        parts = (self.problem.X_train, self.problem.Y_train)
        return int(sum(part.data.nbytes + part.indices.nbytes for part in parts))

    def _peak(self, parameters: Mapping[str, Any]) -> Range | None:
        filled = all_parameters(parameters)
        key = tuple(filled[name] for name in RELEVANT)
        if key not in self._peaks:
            model = self.problem.estimator(parameters)
            estimate = estimate_training(model, self.problem.X_train, self.problem.Y_train)
            self._peaks[key] = estimate.peak_bytes
        return self._peaks[key]
