"""The program: ``polyseme``, or ``python -m polyseme``."""

import io
import os
import signal
import sys

from polyseme.machine.processes import is_main_process

INTERRUPTED = 130  # what a shell reports for Ctrl-C
STOPPED = 143  # and for SIGTERM


class ClosedOutput(io.TextIOBase):
    """Stands for a stdout that was closed: whoever prints to it is told so."""

    def write(self, text: str) -> int:
        """Refuse."""
        raise OSError("stdout is closed, so that nothing can be printed; give a file or a pipe.")


def main() -> None:
    """Run the command line; Ctrl-C and SIGTERM are answered quietly from the first import on."""
    signal.signal(signal.SIGTERM, _stop)
    _fill_closed_streams()
    if not is_main_process():
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - one process speaks for all
    try:
        from polyseme.cli import main as run

        run(prog_name="polyseme")
    except KeyboardInterrupt:
        print("polyseme: interrupted.", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except OSError as error:  # help that cannot be printed; verbs catch their own
        print(f"polyseme: {error}", file=sys.stderr)
        sys.exit(2)


def _stop(*_: object) -> None:
    # By default a process ends without removing its unfinished files, and the first process of a
    # container does not end at all.
    sys.exit(STOPPED)


def _fill_closed_streams() -> None:
    """Take the numbers of streams that a shell closed (``<&-``), before another file gets one."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - as long as the program


if __name__ == "__main__":
    main()
