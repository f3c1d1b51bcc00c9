"""The command ``annif`` for systems that start processes anew: ``python -m polyseme.annif``."""

from annif.cli import cli

from polyseme.annif import register

register()

if __name__ == "__main__":
    cli(prog_name="annif")
