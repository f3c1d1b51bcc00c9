"""How much memory this process has, had and may have, from Linux' own books."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress
from pathlib import Path

__all__ = ["available_memory", "forget_peak", "peak_memory", "resident_memory"]

_STATUS = Path("/proc/self/status")
_CGROUP_FILES = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


def resident_memory() -> int | None:
    """Return the bytes that are in memory now; None where that is not known."""
    return _kilobytes(_STATUS, "VmRSS")


def peak_memory() -> int | None:
    """Return the most bytes that were in memory since the start or since `forget_peak`."""
    return _kilobytes(_STATUS, "VmHWM")


def forget_peak() -> bool:
    """Begin a new count of the peak; False where the system does not allow it."""
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):  # where there is no glibc
        # Freed blocks that the allocator still holds would hide what comes next.
        ctypes.CDLL(None).malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def available_memory() -> int | None:
    """Return the bytes that this process may have in all, what it has already included.

    The lower of what the machine has left and what the control group allows.
    """
    own = resident_memory()
    left = _kilobytes(Path("/proc/meminfo"), "MemAvailable")
    if own is None or left is None:
        return None
    for limit_file, usage_file in _CGROUP_FILES:
        with suppress(OSError, ValueError):  # "max" is no number: no limit
            limit = int(Path(limit_file).read_text())
            left = min(left, limit - int(Path(usage_file).read_text()))
    return own + max(0, left)


def _kilobytes(file: Path, field: str) -> int | None:
    with suppress(OSError):
        for line in file.read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
    return None
