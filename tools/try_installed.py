"""Runs the quick unit tests of a checkout with the polyseme that is installed.

python tools/try_installed.py .
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOOLS_OF_BUILDERS = ("cmake", "gcc", "g++", "clang", "clang++", "cl")


def main(checkout: Path) -> int:
    """Return what pytest returned; 1 if polyseme is not an installed one."""
    os.chdir(tempfile.gettempdir())  # where no folder is called polyseme
    import polyseme

    place = Path(polyseme.__file__).resolve()
    if checkout.resolve() in place.parents and "site-packages" not in place.parts:
        print(f"polyseme comes from {place}, which is not installed.", file=sys.stderr)
        return 1
    found = [tool for tool in TOOLS_OF_BUILDERS if shutil.which(tool)]
    print(f"polyseme {polyseme.__version__} at {place.parent}, beside {found or 'no compiler'}")
    choice = ["-n", "auto", "--dist", "worksteal", "-m", "not slow and not timed"]
    command = [sys.executable, "-m", "pytest", *choice, "tests/unit"]
    few = {**os.environ, "POLYSEME_EXAMPLES": "few"}
    return subprocess.run(command, cwd=checkout, env=few, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
