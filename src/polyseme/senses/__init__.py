"""What a model says of its labels.

The senses of a label (`describe`) with their words (`words`), the slot that a document goes to
(`best_slots`), all labels (`label_list`), and why one was suggested (`explain`).
"""

from polyseme.senses.describe import (
    Sense,
    division_scores,
    label_number,
    most_split,
    senses_of,
    slot_similarity,
    slots_differ,
    split_order,
    split_scores,
)

__all__ = [
    "Sense",
    "division_scores",
    "label_number",
    "most_split",
    "senses_of",
    "slot_similarity",
    "slots_differ",
    "split_order",
    "split_scores",
]
