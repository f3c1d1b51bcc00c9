"""``polyseme demo``: what it says in the end, and the page that it serves."""

from __future__ import annotations

import re
import subprocess
import sys

import httpx
import pytest

from polyseme import TextModel, load
from polyseme.tagger import tagger_for

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


def test_the_demo_tells_how_often_the_right_sense_is_named(saved):
    printed, _ = saved
    words = " ".join(printed.split())
    assert re.search(r"1\d of the 16 are shown as ambiguous, and \d of the \d+ others", words)
    right, constant = map(float, re.findall(r"(?:In|give) (\d+\.\d)%", words))
    assert right > 90 > 65 > constant
    assert words.count("truth: ") >= 6
    assert "sense 1" not in words


def test_the_model_that_the_demo_keeps_names_the_right_sense(saved):
    _, folder = saved
    model = load(folder)
    (mercury,) = [one for one in model.suggest([TEXT])[0] if one.name == "mercury"]
    other = "Silvery and liquid, mercury was in every thermometer of the laboratory; poisonous."
    (metal,) = [one for one in model.suggest([other])[0] if one.name == "mercury"]
    assert mercury.sense.name != metal.sense.name
    senses = dict(enumerate(tagger_for(model).senses("mercury", n_words=20)))
    assert "orbit" in [word for word, _ in senses[mercury.sense.place].words]
    assert "laboratory" in [word for word, _ in senses[metal.sense.place].words]


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
