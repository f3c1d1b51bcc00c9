"""Methods of others, to which several copies of a label are an addition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polyseme.training.disentangle import TrainingPlan

__all__ = ["OneCopyIsPlain"]


class OneCopyIsPlain:
    """With one copy, labels stay where the tree put them, whatever `rounds` says."""

    copies: int

    def _plan(self, *args: Any, **kwargs: Any) -> TrainingPlan:
        plan: TrainingPlan = super()._plan(*args, **kwargs)  # type: ignore[misc]
        return replace(plan, rounds=0) if self.copies == 1 else plan
