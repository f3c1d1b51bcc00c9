"""What a model says of its labels.

The senses of labels are found in their documents (`induce`): in a space of their own (`space`)
labels are split (`splits`), and it is judged which splits are of meanings (`judge`, which learns
from `made_up_labels`). They are kept with the model (`layer`), which then tells in which sense a
document has a label (`naming`), and describes each sense (`describe`) and calls it by what tells
it apart (`called`).

The slots of a label (`slots`) with their words (`words`), the slot that a document goes to
(`best_slots`), all labels (`label_list`), why one was suggested (`explain`) and in which sense
(`evidence`).
"""

from polyseme.senses.called import sense_name
from polyseme.senses.describe import (
    AmbiguousLabel,
    Sense,
    ambiguity,
    ambiguous_labels,
    most_ambiguous,
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
