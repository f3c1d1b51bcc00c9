"""From scores of slots to scores of labels, one document at a time."""

import numpy as np

MERGES = {"mean": np.mean, "sum": np.sum, "max": np.max}


def merge_slots(slot_scores, slot_labels, merge):
    """Turn {slot: score} into {label: score}; every visited slot counts, whatever its sign."""
    by_label = {}
    for slot, score in slot_scores.items():
        by_label.setdefault(int(slot_labels[slot]), []).append(score)
    return {label: MERGES[merge](scores) for label, scores in by_label.items()}
