"""The ways to choose slots, as they are public: see `polyseme.partition.assignment`."""

from polyseme.partition.assignment import (
    METHODS,
    Assignment,
    CoOccurrence,
    adaptive,
    capped,
    closed_form,
    co_occurrence,
    count_reached,
    coverage,
    default_max_cluster_size,
    method_named,
    random,
    strongest,
)

__all__ = [
    "METHODS",
    "Assignment",
    "CoOccurrence",
    "adaptive",
    "capped",
    "closed_form",
    "co_occurrence",
    "count_reached",
    "coverage",
    "default_max_cluster_size",
    "method_named",
    "random",
    "strongest",
]
