"""How much memory this process has and had, from Linux' own books."""

from __future__ import annotations

import ctypes
import gc
import resource
from contextlib import suppress
from pathlib import Path

MIB = 2.0**20


def resident(pid: int | str = "self") -> int:
    """Bytes in memory now."""
    return _status(pid, "VmRSS")


class PeakMemory:
    """The peak of resident memory above what was resident at the start.

    Linux forgets the old peak when 5 is written to `/proc/self/clear_refs`. Where that is not
    allowed the peak since the start of the process is taken, which can only be higher.
    """

    def __init__(self) -> None:
        gc.collect()
        with suppress(OSError, AttributeError):
            # Freed blocks that the allocator still holds would count as loaded data.
            ctypes.CDLL(None).malloc_trim(0)
        try:
            Path("/proc/self/clear_refs").write_text("5")
            self.was_reset = True
        except OSError:
            self.was_reset = False
        self.start = resident()

    def above_start(self) -> int:
        """Bytes of the peak above the start."""
        if self.was_reset:
            return _status("self", "VmHWM") - self.start
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - self.start


def _status(pid: int | str, field: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0
