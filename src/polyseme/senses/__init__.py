"""What a model says of its labels.

The senses of labels are found in their documents (`space`, `induce`) and kept with the model
(`layer`), which then names the sense of a document (`naming`) and describes each (`describe`). The
slots of a label (`slots`) with their words (`words`), the slot that a document goes to
(`best_slots`), all labels (`label_list`), why one was suggested (`explain`) and in which sense
(`evidence`).
"""

from polyseme.senses.describe import (
    AmbiguousLabel,
    Sense,
    ambiguity,
    ambiguous_labels,
    most_ambiguous,
    sense_name,
    senses_in,
    senses_of,
)
from polyseme.senses.layer import SenseLayer
from polyseme.senses.slots import Slot, label_number, slots_of

__all__ = [
    "AmbiguousLabel",
    "Sense",
    "SenseLayer",
    "Slot",
    "ambiguity",
    "ambiguous_labels",
    "label_number",
    "most_ambiguous",
    "sense_name",
    "senses_in",
    "senses_of",
    "slots_of",
]
