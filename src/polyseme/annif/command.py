"""The command ``annif`` where processes start from nothing: ``python -m polyseme.annif.command``.

Such processes import the module that was started, unless it is a ``__main__``.
"""

from annif.cli import cli

from polyseme.annif import register

register()

if __name__ == "__main__":
    cli(prog_name="annif")
