"""The backbone of docs/write-a-backbone.md as a package of its own, found by its entry point."""

import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from polyseme.files.kinds import method_named

PAGE = Path(__file__).parents[1] / "docs" / "write-a-backbone.md"
NAME = "polyseme_centroids"


def code() -> str:
    """Return the first block of Python on the page."""
    return re.search(r"^```python\n(.*?)^```$", PAGE.read_text(), re.S | re.M).group(1)


def entry_point() -> str:
    """Return the lines that tell polyseme of it, from the page, as an installer writes them."""
    block = re.search(r"^```toml\n(.*?)^```$", PAGE.read_text(), re.S | re.M).group(1)
    return block.replace('[project.entry-points."polyseme.backbones"]', "[polyseme.backbones]")


def write_package(folder: Path) -> Path:
    """Write what pip would: the module, and what says that it is installed."""
    (folder / f"{NAME}.py").write_text(code())
    info = folder / f"{NAME}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_point().replace('"', ""))
    return folder


def module():
    """Return the module itself, for those who need no entry point."""
    if NAME not in sys.modules:
        spec = importlib.machinery.ModuleSpec(NAME, None)
        found = importlib.util.module_from_spec(spec)
        sys.modules[NAME] = found
        exec(compile(code(), str(PAGE), "exec"), found.__dict__)
    return sys.modules[NAME]


@contextmanager
def installed(folder: Path) -> Iterator[type]:
    """Install the package for this process and for those that it starts; yield the estimator."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(write_package(folder))
        patch.setenv("PYTHONPATH", str(folder))
        yield method_named("centroids")
