"""Checks wheels before anybody installs them: their names and what is in them.

python tools/check_wheels.py dist/*.whl
python tools/check_wheels.py --complete dist/*.whl   # and that none is missing
"""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

VERSIONED = Path(__file__).parents[1] / "src/polyseme/__init__.py"
_NAME = re.compile(
    r"polyseme-(?P<version>[^-]+)-(?P<python>[^-]+)-(?P<abi>[^-]+)-(?P<system>[^-]+)\.whl"
)
# nanobind keeps to the stable ABI from Python 3.12 on; before, every version has its own wheel.
_ABIS = {"cp310": "cp310", "cp311": "cp311", "cp312": "abi3"}
# A name may list several tags of manylinux, the older ones being aliases.
_SYSTEMS = {
    "Linux on x86-64": r"manylinux_2_\d+_x86_64(\.manylinux\w+_x86_64)*",
    "Linux on aarch64": r"manylinux_2_\d+_aarch64(\.manylinux\w+_aarch64)*",
    "macOS on arm64": "macosx_11_0_arm64",
    "macOS on x86-64": "macosx_11_0_x86_64",
    "Windows on x86-64": "win_amd64",
}
_NEEDED = (
    "polyseme/__init__.py",
    "polyseme/py.typed",
    "polyseme/_native.pyi",
    "polyseme/datasets/catalogue.toml",
    "polyseme/demo/topics.txt",
    "polyseme/server/page/index.html",
)


def complaints(wheel: Path) -> list[str]:
    """Return what is wrong with a wheel, a sentence each."""
    name = _NAME.fullmatch(wheel.name)
    if name is None:
        return ["this is no name of a wheel of polyseme"]
    found = []
    if f'__version__ = "{name["version"]}"' not in VERSIONED.read_text(encoding="utf-8"):
        found.append(f"{VERSIONED.name} of the package has another version")
    if _ABIS.get(name["python"]) != name["abi"]:
        found.append(f"the tags {name['python']}-{name['abi']} are none of those we build")
    if not any(re.fullmatch(tags, name["system"]) for tags in _SYSTEMS.values()):
        found.append(f"{name['system']} is no system we build for")
    with zipfile.ZipFile(wheel) as archive:
        files = archive.namelist()
    found += [f"{file} is missing" for file in _NEEDED if file not in files]
    native = [file for file in files if file.startswith("polyseme/_native.") and file[-1] != "i"]
    if len(native) != 1:
        found.append(f"there is one native module in a wheel, not {native}")
    elif name["abi"] == "abi3" and native[0] not in (
        "polyseme/_native.abi3.so",
        "polyseme/_native.pyd",
    ):
        found.append(f"{native[0]} is not named as a module of the stable ABI")
    return found


def missing(names: list[str]) -> list[str]:
    """Return which wheels of a release are not among these names, a sentence each."""
    return [
        f"there is no {python}-{abi} for {system}"
        for system, tags in _SYSTEMS.items()
        for python, abi in _ABIS.items()
        if not any(
            re.fullmatch(f"polyseme-[^-]+-{python}-{abi}-{tags}.whl", name) for name in names
        )
    ]


def main(arguments: list[str]) -> int:
    """Print what is wrong with wheels; 1 if anything is, or if there are none."""
    wheels = [Path(argument) for argument in arguments if argument != "--complete"]
    wrong = [f"{wheel}: {sentence}." for wheel in wheels for sentence in complaints(wheel)]
    if "--complete" in arguments:
        wrong += [f"{sentence}." for sentence in missing([wheel.name for wheel in wheels])]
    elif not wheels:
        wrong.append("no wheels were named.")
    print("\n".join(wrong or [f"{wheel.name} is as it should be." for wheel in wheels]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
