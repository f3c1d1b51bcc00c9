"""An environment of its own for the peers: they need an older NumPy than polyseme.

`python -m benchmarks.peers [FOLDER]` creates it; `python -m benchmarks` does so when needed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
from collections.abc import Collection
from pathlib import Path

DEFAULT_FOLDER = Path("build/peers-venv")
# libpecos 1.x and napkinxc need NumPy 1.
PICTURE = ["numpy<2", "matplotlib"]
SHARED = ["numpy<2", "scipy<1.14", "scikit-learn"]
# What a peer needs beyond SHARED stands beside it. libpecos also asks for torch and transformers
# (6 GB), and napkinxc for a downloader; their linear models run without, so these are left out.
PEERS = {"libpecos": [], "omikuji": ["milksnake", "cffi"], "napkinxc": []}


def interpreter(folder: Path) -> Path:
    """Where the environment's Python stands."""
    return folder / "bin" / "python"


def ensure(
    folder: Path = DEFAULT_FOLDER, wanted: Collection[str] = tuple(PEERS), *, picture: bool = True
) -> list[str]:
    """Create the environment where it is missing, and say which peers it has.

    Parameters
    ----------
    folder : Path
        The virtual environment.
    wanted : collection of str
        The peers that are needed; no other is installed.
    picture : bool
        Whether a picture is to be drawn.

    Returns
    -------
    list of str
        The wanted peers that can be used; for each other one a line on stderr says why not.
    """
    if not interpreter(folder).exists():
        _say(f"creating {folder} for the peers")
        venv.create(folder, with_pip=True, clear=True)
    if picture and not _installed(folder, "matplotlib") and (problem := _install(folder, PICTURE)):
        _say(f"going on without pictures, matplotlib could not be installed: {problem}")
    chosen = [peer for peer in PEERS if peer in wanted]
    if chosen and not _installed(folder, "scikit-learn") and (problem := _install(folder, SHARED)):
        _say(f"no peer can run: NumPy and SciPy could not be installed ({problem})")
        return []
    return [peer for peer in chosen if _ensure_peer(folder, peer)]


def _ensure_peer(folder: Path, peer: str) -> bool:
    if _installed(folder, peer):
        return True
    _say(f"installing {peer}")
    problem = _install(folder, [*PEERS[peer], peer], "--no-deps")
    if problem:
        _say(f"going on without {peer}, it could not be installed: {problem}")
    return not problem


def _installed(folder: Path, package: str) -> bool:
    check = f"import importlib.metadata as m; m.version({package!r})"
    command = [str(interpreter(folder)), "-c", check]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _install(folder: Path, packages: list[str], *options: str) -> str:
    """Install, and give the last line of pip's complaint, or nothing."""
    pip = [
        str(interpreter(folder)),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    done = subprocess.run([*pip, *options, *packages], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument(
        "folder", nargs="?", type=Path, default=DEFAULT_FOLDER, help="%(default)s by default"
    )
    folder = parser.parse_args().folder
    print(f"{folder}: {', '.join(ensure(folder)) or 'no peer'}")


if __name__ == "__main__":
    main()
