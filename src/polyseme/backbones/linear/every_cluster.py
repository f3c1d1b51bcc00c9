"""A matcher that leaves nothing out: every document gets to every cluster."""

from __future__ import annotations

from dataclasses import dataclass

from polyseme.backbones.linear.matcher import LinearTreeMatcher
from polyseme.backbones.linear.weights import LinearWeights
from polyseme.backbones.tasks import MatchingTask
from polyseme.inputs.documents import Documents
from polyseme.machine.run import Run

__all__ = ["EveryCluster"]

# A margin that every activation to scores turns into exactly 1.
CERTAIN = 100.0


@dataclass
class EveryCluster(LinearTreeMatcher):
    """Nothing is learned: nodes have no weights, and a bias that makes them certain.

    The beam has to be as wide as there are clusters. Bare margins ('none') are no scores, and not
    for this matcher.
    """

    activation: str = "sigmoid"

    def fit(self, documents: Documents, task: MatchingTask, run: Run) -> EveryCluster:
        """Take over the shape of the tree."""
        self.levels = [
            LinearWeights.untrained(documents, starts, CERTAIN, self.how, run)
            for starts in task.tree.levels
        ]
        return self
