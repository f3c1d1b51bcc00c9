"""What a reader needs to know of the machine to compare figures of two."""

from __future__ import annotations

import platform
from pathlib import Path

__all__ = ["processor", "processors"]


def processors() -> list[str]:
    """Return the model of each core; nothing where the system does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []
    return [line.split(":")[1].strip() for line in lines if line.startswith("model name")]


def processor() -> str:
    """Return the model of the first core, or the kind of machine."""
    return next(iter(processors()), platform.machine())
