"""The names of the phases of a training, once: bars, seconds and estimates know them by these."""

from __future__ import annotations

__all__ = [
    "ASSIGNING",
    "CHOOSING_COST",
    "CROSS_MATCHING",
    "ENCODING",
    "FINE_TUNING",
    "LABEL_TREE",
    "MATCHING",
    "ORDERING",
    "SENSES",
    "TRAINING_MATCHER",
    "TRAINING_MATCHER_AGAIN",
    "TRAINING_RANKER",
]

FINE_TUNING = "Fine-tuning the encoder"
ENCODING = "Encoding texts"
LABEL_TREE = "Label tree"
CHOOSING_COST = "Choosing C"
TRAINING_MATCHER = "Training the matcher"
MATCHING = "Matching"
CROSS_MATCHING = "Cross-matching"
ASSIGNING = "Assigning labels"
TRAINING_MATCHER_AGAIN = "Training the matcher again"
TRAINING_RANKER = "Training the ranker"
ORDERING = "Learning the order"
SENSES = "Finding senses"
