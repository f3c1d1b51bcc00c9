"""Prints the lowest versions that pyproject.toml allows, as constraints for pip.

python tools/lowest_versions.py >build/lowest.txt
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
# They bring along what other packages need, not what polyseme does.
_EXTRAS_ASIDE = ("annif", "dev", "docs")
_ELSEWHERE = f"sys_platform {'!=' if sys.platform == 'win32' else '=='} 'win32'"


def lowest_versions(project: dict[str, Any]) -> Iterator[str]:
    """Yield a constraint such as ``scipy==1.13.0`` for each package that polyseme uses."""
    extras = project["optional-dependencies"]
    used = [extras[name] for name in extras if name not in _EXTRAS_ASIDE]
    for requirement in sum(used, project["dependencies"]):
        if requirement.endswith(_ELSEWHERE):
            continue
        if bound := re.match(r"([\w-]+)>=([\d.]+)", requirement):
            numbers = [*bound[2].split("."), "0", "0"]
            yield f"{bound[1]}=={'.'.join(numbers[: max(3, bound[2].count('.') + 1)])}"


if __name__ == "__main__":
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    print("\n".join(sorted(set(lowest_versions(project)))))
