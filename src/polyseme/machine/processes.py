"""Several processes that run the same program side by side, as `accelerate launch` starts them."""

from __future__ import annotations

import os

__all__ = ["count_beside", "count_processes", "is_main_process"]

# What `accelerate launch` and `torchrun` tell each process of itself, all of them always.
TOLD = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def count_processes() -> int:
    """Return how many processes run this program together; 1 unless a launcher started it."""
    if not all(os.environ.get(name) for name in TOLD):
        return 1
    return _number("WORLD_SIZE", 1)


def count_beside() -> int:
    """Return how many of them are on this machine, and share its cores."""
    return _number("LOCAL_WORLD_SIZE", 1) if count_processes() > 1 else 1


def is_main_process() -> bool:
    """Whether this process is the one that writes files and speaks for all."""
    return count_processes() == 1 or _number("RANK", 0) == 0


def _number(name: str, least: int) -> int:
    found = os.environ.get(name, "")
    return max(least, int(found)) if found.isdecimal() else least
