"""Where the browser is, and how it is started without a screen."""

from __future__ import annotations

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = ("--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run")


def find_chromium() -> str | None:
    """Return the path of a browser, or None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def launch_options(path: str) -> dict[str, object]:
    """Return what Playwright's ``launch`` takes; root may only start it without its sandbox."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    arguments = [*QUIET, *(["--no-sandbox"] if is_root else [])]
    return {"executable_path": path, "headless": True, "args": arguments}
