"""How fast the page draws a hundred thousand topics: `python -m benchmarks.frames`.

A model of the demo is served, and Chromium opens its page; instead of the model's topics the cloud
gets as many made-up ones as are wanted, in clumps, with names. Then the cloud flies from place to
place, as when somebody looks for a topic: frames are counted as the browser asks for them. Drawing
one frame is timed while the cloud stands still. Needs Chromium and what `make test` installs.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from playwright.sync_api import Page, Route, sync_playwright

from benchmarks.options import count
from benchmarks.report import table
from polyseme.demo.text_model import train_text_model
from tests.browser.chromium import find_chromium, launch_options
from tools.screenshots import served

SIZE = {"width": 1440, "height": 900}
N_CLUMPS = 200
WORDS = [
    "water",
    "steel",
    "music",
    "history",
    "light",
    "field",
    "theory",
    "market",
    "river",
    "protein",
]
DUE = 1000 / 60  # milliseconds
FLY = """async () => {
    const cloud = (await import("./page/map.js")).theCloud();
    const { zoomIdentity } = await import("./page/vendor/d3.js");
    const { width, height } = cloud;
    const frame = () => new Promise(requestAnimationFrame);
    const at = [];
    const places = [[2, 0.3, 0.3], [6, 0.7, 0.6], [1, 0.5, 0.5], [12, 0.4, 0.7], [1, 0.5, 0.5]];
    for (const [k, x, y] of places) {
        const [left, top] = [width * (0.5 - k * x), height * (0.5 - k * y)];
        cloud.flyTo(zoomIdentity.translate(left, top).scale(k));
        while (!cloud.isMoving) await frame();
        const times = [];
        while (cloud.isMoving) times.push(await frame());
        at.push(times);
    }
    return at.flatMap((times) => times.slice(1).map((time, i) => time - times[i]));
}"""
DRAW = """async ([k, n]) => {
    const cloud = (await import("./page/map.js")).theCloud();
    const { zoomIdentity } = await import("./page/vendor/d3.js");
    const aside = 0.5 * (1 - k);
    cloud.transform = zoomIdentity.translate(cloud.width * aside, cloud.height * aside).scale(k);
    const taken = [];
    for (let i = 0; i < n; i += 1) {
        const start = performance.now();
        cloud.draw();
        taken.push(performance.now() - start);
    }
    return taken;
}"""


def main() -> None:
    """Fly over the cloud on screens of one and of four pixels per pixel; print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frames", description=__doc__)
    parser.add_argument("--topics", type=count, default=100_000, help="%(default)s by default")
    parser.add_argument("--repeat", type=count, default=3, help="%(default)s by default")
    parser.add_argument("--output", type=Path, help="where to write JSON")
    options = parser.parse_args()
    path = find_chromium()
    if path is None:
        parser.error("there is no Chromium; install one with: apt-get install chromium")
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
    ):
        train_text_model().save(Path(folder) / "demo")
        how: Any = launch_options(path)
        browser = playwright.chromium.launch(**how)
        with served(Path(folder) / "demo") as address:
            screens = [
                {"pixels_per_pixel": ratio**2, **_measured(browser, address, ratio, options)}
                for ratio in (1, 2)
            ]
        about = {"topics": options.topics, "browser": browser.version, "screen": SIZE}
        browser.close()
    print("\n".join(table(_rows(screens))))
    if options.output:
        found = {**about, "machine": platform.machine(), "screens": screens}
        options.output.write_text(json.dumps(found, indent=1) + "\n")


def _measured(
    browser: Any, address: str, ratio: int, options: argparse.Namespace
) -> dict[str, Any]:
    page = browser.new_page(viewport=SIZE, device_scale_factor=ratio)
    page.route("**/v1/plane*", lambda route: _answer(route, options.topics))
    page.goto(f"{address}/#map/cloud")
    page.wait_for_selector("canvas", timeout=60_000)
    page.evaluate(FLY)  # the browser compiles what is run often, and measures names once
    flights = [np.array(page.evaluate(FLY)) for _ in range(options.repeat)]
    drawing = {zoom: _draw_ms(page, zoom) for zoom in (1, 4, 40)}
    page.close()
    return {
        "frames_per_second": median(1000 / float(times.mean()) for times in flights),
        "late_share": median(float((times > 1.5 * DUE).mean()) for times in flights),
        "draw_ms": drawing,
    }


def _answer(route: Route, n_topics: int) -> None:
    """Send made-up topics in the place of the model's own; its clusters stay."""
    own = route.fetch().json()
    rng = np.random.default_rng(0)
    middles = rng.random((N_CLUMPS, 2))
    clump = rng.integers(N_CLUMPS, size=n_topics)
    places = np.clip(middles[clump] + 0.03 * rng.standard_normal((n_topics, 2)), 0, 1).round(4)
    clusters = np.resize(np.unique(own["clusters"]), N_CLUMPS)[clump]
    names = [f"{WORDS[i % 10]} and {WORDS[i // 10 % 10]} {i}" for i in range(n_topics)]
    made_up = {
        "labels": list(range(n_topics)),
        "names": names,
        "x": places[:, 0].tolist(),
        "y": places[:, 1].tolist(),
        "clusters": clusters.tolist(),
        "senses": [],
    }
    route.fulfill(json={**own, **made_up})


def _draw_ms(page: Page, zoom: int) -> float:
    taken: list[float] = page.evaluate(DRAW, [zoom, 60])
    return round(median(taken), 2)


def _rows(screens: list[dict[str, Any]]) -> list[list[str]]:
    head = ["pixels per pixel", "frames/s", "late", "ms at zoom 1", "4", "40"]
    return [
        head,
        *(
            [
                str(one["pixels_per_pixel"]),
                f"{one['frames_per_second']:.1f}",
                f"{one['late_share']:.1%}",
                *(f"{ms:.1f}" for ms in one["draw_ms"].values()),
            ]
            for one in screens
        ),
    ]


if __name__ == "__main__":
    main()
