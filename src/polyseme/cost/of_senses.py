"""What finding senses costs: a space is learned, documents are brought into it, labels are split.

Steps are rows of 128 numbers, added once; the numbers of steps were measured on four data sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from polyseme.senses import judge
from polyseme.senses.induce import FEWEST_DOCUMENTS
from polyseme.senses.made_up_labels import N_FUSED
from polyseme.senses.space import N_DIMENSIONS, N_SAMPLED
from polyseme.senses.splits import MAX_DOCUMENTS

if TYPE_CHECKING:
    from polyseme.cost.formulas import JobSize

__all__ = ["NUMBERS_PER_JUDGED", "judged_sizes", "memory_of_senses", "work_of_senses"]

PER_FEATURE = 33
PER_SAMPLED, PER_SAMPLED_ENTRY = 240, 6
PER_PLACED, PER_PLACED_ENTRY = 60, 1
PER_SPLIT, PER_SIMILARITY = 60, 0.4
PER_KEPT, PER_KEPT_LABEL, PER_KEPT_ENTRY = 20, 7, 0.36

NUMBERS_PER_FEATURE, NUMBERS_PER_SAMPLED_ENTRY, NUMBERS_PER_PLACED = 136, 6, 392
NUMBERS_PER_JUDGED = 1_200  # that are kept of the senses of a label: their words, their labels


def judged_sizes(n_documents: npt.NDArray[np.int64]) -> dict[str, float]:
    """Return what is looked at of labels with so many documents, by its name in `JobSize`."""
    judged = np.minimum(n_documents[n_documents >= FEWEST_DOCUMENTS], MAX_DOCUMENTS).astype(float)
    learned = judged[judged >= judge.ENOUGH_DOCUMENTS]  # fused ones have as many documents
    is_learned = len(learned) >= judge.FEWEST_TO_LEARN_FROM
    n_each = N_FUSED / len(learned) if is_learned else 0.0
    return {
        "n_judged": len(judged),
        "n_judged_documents": int(judged.sum()),
        "n_split_documents": float(judged.sum() + n_each * learned.sum()),
        "n_similarities": float((judged**2).sum() + n_each * (learned**2).sum()),
    }


def work_of_senses(size: JobSize) -> float:
    """Return the steps to find the senses of a job's labels."""
    n_sampled, n_sampled_entries = _sampled(size)
    learning = PER_SAMPLED * n_sampled + PER_SAMPLED_ENTRY * n_sampled_entries
    learning += PER_FEATURE * size.n_features
    placing = PER_PLACED * size.n_documents + PER_PLACED_ENTRY * size.n_entries
    splitting = PER_SPLIT * size.n_split_documents + PER_SIMILARITY * size.n_similarities
    of_document = PER_KEPT_LABEL * size.n_pairs + PER_KEPT_ENTRY * size.n_entries
    keeping = (PER_KEPT + of_document / max(1, size.n_documents)) * size.n_judged_documents
    return learning + placing + splitting + keeping


def memory_of_senses(size: JobSize) -> float:
    """Return the numbers in memory at most: while the space is learned, or documents placed."""
    learning = NUMBERS_PER_SAMPLED_ENTRY * _sampled(size)[1]
    learning += NUMBERS_PER_FEATURE * size.n_features
    placing = NUMBERS_PER_PLACED * size.n_documents
    kept = N_DIMENSIONS * size.n_used_labels + NUMBERS_PER_JUDGED * size.n_judged
    return NUMBERS_PER_FEATURE * size.n_features + max(learning, placing) + kept


def _sampled(size: JobSize) -> tuple[float, float]:
    """Return the documents that the space is learned from, and their entries."""
    n_sampled = float(min(size.n_documents, N_SAMPLED))
    return n_sampled, size.n_entries * n_sampled / max(1, size.n_documents)
