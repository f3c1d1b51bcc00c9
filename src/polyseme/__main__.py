"""The program: ``polyseme``, or ``python -m polyseme``."""

import sys

INTERRUPTED = 130  # what a shell reports for Ctrl-C


def main() -> None:
    """Run the command line; Ctrl-C is answered quietly from the first import on."""
    try:
        from polyseme.cli import main as run

        run(prog_name="polyseme")
    except KeyboardInterrupt:
        print("polyseme: interrupted.", file=sys.stderr)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
