"""How to get what only some installations have."""

from __future__ import annotations

__all__ = ["how_to_install"]


def how_to_install(extra: str) -> str:
    """Say how to get the packages of an extra, from a checkout or from an index of packages."""
    return f"install polyseme with the extra {extra!r} (in a checkout: pip install '.[{extra}]')"
