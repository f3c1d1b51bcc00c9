"""``polyseme demo``: what it says in the end, and the page that it serves."""

from __future__ import annotations

import re
import subprocess
import sys

import httpx
import pytest

from polyseme import TextModel, load

TEXT = "A transit of mercury, seen from the innermost and scorched orbit near perihelion."


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Run the demo once; return what it printed and the model that it kept."""
    folder = tmp_path_factory.mktemp("demo") / "model"
    done = subprocess.run(
        [sys.executable, "-m", "polyseme", "demo", "--save", str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, folder


def test_the_demo_ends_by_saying_how_to_open_the_page(saved):
    printed, folder = saved
    assert f"serve {folder}" in printed.splitlines()[-2]
    assert "http://127.0.0.1:8000" in printed.splitlines()[-1]


def test_the_model_that_the_demo_keeps_takes_texts(saved):
    _, folder = saved
    model = load(folder)
    assert isinstance(model, TextModel)
    assert "mercury" in [one.name for one in model.suggest([TEXT])[0]]


def test_the_demo_serves_its_model_with_the_page():
    with subprocess.Popen(
        [sys.executable, "-m", "polyseme", "demo", "--json", "--serve", "--port", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            lines = iter(process.stderr.readline, "")
            url = next(filter(None, (re.search(r"http://\S+:\d+", line) for line in lines)))[0]
            with httpx.Client(base_url=url, timeout=20) as client:
                assert "<title>polyseme</title>" in client.get("/").text
                found = client.post("/v1/suggest", json={"text": TEXT}).json()["suggestions"]
            assert "mercury" in [one["name"] for one in found]
            process.terminate()
            assert process.wait(timeout=20) == 0
        finally:
            process.kill()
