"""Why a label was suggested, as it is public: see `polyseme.senses.explain`."""

from polyseme.senses.evidence import SenseEvidence, TellingLabel, TellingWord
from polyseme.senses.explain import (
    Contribution,
    Explanation,
    LabelExplanation,
    Margin,
    ReachedNode,
    SlotExplanation,
    Step,
    explain,
)
from polyseme.senses.explain_order import OrderEffect, OrderExplanation

__all__ = [
    "Contribution",
    "Explanation",
    "LabelExplanation",
    "Margin",
    "OrderEffect",
    "OrderExplanation",
    "ReachedNode",
    "SenseEvidence",
    "SlotExplanation",
    "Step",
    "TellingLabel",
    "TellingWord",
    "explain",
]
