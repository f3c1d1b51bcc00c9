"""Times, sizes and counts, as people write and read them."""

from __future__ import annotations

import math
import re
from numbers import Real

__all__ = ["bytes_from", "counted", "seconds_from", "spoken_bytes", "spoken_seconds"]

_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_BYTES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_BYTES |= {f"{unit}i": 1024.0**power for power, unit in enumerate("kmgt", start=1)}
_NUMBER = r"(\d+(?:\.\d+)?|\.\d+)"
_LONGEST, _MOST = 1e9, 1e18  # thirty years, a million terabytes


def seconds_from(given: object, name: str) -> float:
    """Return a time in seconds, given as such or as text such as ``90s``, ``10m`` or ``1h30m``.

    Parameters
    ----------
    given : int, float or str
    name : str
        What a message calls it.
    """
    found = None
    if isinstance(given, str):
        text = given.replace(" ", "").lower()
        parts = re.findall(f"{_NUMBER}([hms])", text)
        if parts and "".join(map("".join, parts)) == text:
            found = sum(float(number) * _SECONDS[unit] for number, unit in parts)
        elif re.fullmatch(_NUMBER, text):
            found = float(text)
    elif isinstance(given, Real) and not isinstance(given, bool):
        found = float(given)
    return _within(found, _LONGEST, name, "a time such as 90s, 10m or 1h30m, above 0", given)


def bytes_from(given: object, name: str) -> int:
    """Return a size in bytes, given as such or as text such as ``500MB`` or ``1.5GiB``."""
    found = None
    if isinstance(given, str):
        match = re.fullmatch(rf"{_NUMBER}([kmgt]i?|)b?", given.replace(" ", "").lower())
        found = float(match[1]) * _BYTES[match[2]] if match else None
    elif isinstance(given, Real) and not isinstance(given, bool):
        found = float(given)
    return int(_within(found, _MOST, name, "a size such as 500MB or 2GB, above 0", given))


def counted(n: int, noun: str) -> str:
    """Return a number of things, such as "1 document" or "2,000 documents"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def spoken_seconds(seconds: float) -> str:
    """Return a time as people say it."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 600:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 36_000 else f"{seconds / 3600:.0f} h"


def spoken_bytes(n_bytes: float) -> str:
    """Return a size as people say it."""
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes:.0f} bytes"


def _within(found: float | None, most: float, name: str, words: str, given: object) -> float:
    if found is None or math.isnan(found) or not 0 < found <= most:
        raise ValueError(f"{name} must be {words}, not {given!r}.")
    return found
