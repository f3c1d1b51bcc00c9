"""Take the pictures of the README: train the demo's model, serve it, open the page in Chromium."""

from __future__ import annotations

import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from playwright.sync_api import Page, sync_playwright

from polyseme.demo.text_model import train_text_model
from polyseme.server.app import create_app
from polyseme.server.model_store import ModelStore
from polyseme.server.settings import ServerSettings

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.chromium import find_chromium, launch_options  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
SIZE = {"width": 1200, "height": 800}
TEXT = (
    "Silvery and liquid, mercury was once in every thermometer. It is poisonous, and the "
    "laboratory keeps the amalgam in a closed flask."
)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a model in a thread, and yield the address."""
    app = create_app(ModelStore({"demo": folder}), ServerSettings(reload_seconds=0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def show_try(page: Page) -> None:
    """Fill in a text and ask why."""
    page.get_by_label("A text to find topics for").fill(TEXT)
    page.locator(".pick").filter(has_text="mercury").click()
    page.wait_for_selector(".why .listed .chip")


def show_meanings(page: Page) -> None:
    """Look a topic up."""
    page.get_by_label("Find a topic", exact=True).fill("mercury")
    page.locator("#found a").filter(has_text="mercury").first.click()
    page.wait_for_selector("article.sense")


def show_map(page: Page) -> None:
    """Let the cloud show where the meanings of a topic lie."""
    page.wait_for_selector("canvas")
    page.get_by_label("Find a topic on the map").fill("mercury")
    page.locator("#map-hits button").first.click()
    page.wait_for_selector("#map-detail ul")


def show_quality(page: Page) -> None:
    """Wait for the report, and for the table of topics."""
    page.wait_for_selector("#topics")


SHOWN = {
    "try": show_try,
    "meanings": show_meanings,
    "map/cloud": show_map,
    "quality": show_quality,
}


def main() -> None:
    """Write a picture of each view, that of the map in the dark."""
    chromium = find_chromium()
    if chromium is None:
        sys.exit("There is no Chromium; install one with: apt-get install chromium")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "demo"
        train_text_model().save(model)
        with served(model) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(**launch_options(chromium))  # type: ignore[arg-type]
            for view, show in SHOWN.items():
                name = view.partition("/")[0]
                scheme = "dark" if name == "map" else "light"
                page = browser.new_page(
                    viewport=SIZE,  # type: ignore[arg-type]
                    color_scheme=scheme,  # type: ignore[arg-type]
                    reduced_motion="reduce",
                )
                page.set_default_timeout(120_000)
                page.goto(f"{url}/#{view}")
                show(page)
                page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")
                page.close()
            browser.close()


if __name__ == "__main__":
    main()
