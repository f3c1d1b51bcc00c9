"""More documents and labels for a trained model: see `polyseme.training.update`."""

from polyseme.training.update import (
    Update,
    added_since_training,
    place_labels,
    update_stacked,
    updated,
)

__all__ = [
    "Update",
    "added_since_training",
    "place_labels",
    "update_stacked",
    "updated",
]
