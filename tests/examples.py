"""On how many random examples a property is tested."""

import os
from typing import Any

from hypothesis import settings

# `make check` asks for few; everybody else gets all of them.
ARE_FEW = os.environ.get("POLYSEME_EXAMPLES") == "few"


def so_many(n: int, few: int = 12) -> int:
    """Return n, or less where few are asked for."""
    return min(n, few) if ARE_FEW else n


def examples(n: int, few: int = 12, **others: Any) -> settings:
    """Return a decorator that has a property tested on n examples, however long each takes."""
    return settings(max_examples=so_many(n, few), deadline=None, **others)
