"""The senses of a label (`describe`), and why a label was suggested (`explain`)."""

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
