"""The flows of the page in Firefox."""

from __future__ import annotations

import json

import pytest

from tests.browser.acting import number_of
from tests.browser.firefox import find_firefox, firefox_page
from tests.web.conftest import BATTLE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def firefox(tmp_path_factory):
    path = find_firefox()
    if path is None:
        pytest.skip("There is no Firefox; install one with: apt-get install firefox-esr.")
    with firefox_page(path, tmp_path_factory.mktemp("firefox")) as page:
        yield page


@pytest.fixture
def visit_firefox(firefox, address):
    def visit(view):
        firefox.goto("about:blank")
        firefox.goto(f"{address}/#{view}")
        return firefox

    yield visit
    assert firefox.complaints == []


def test_a_text_gets_topics_that_are_explained_and_accepted(visit_firefox):
    page = visit_firefox("try")
    page.until("document.querySelector('.sample') !== null")
    page.evaluate(
        f"""(() => {{
            const text = document.getElementById("text");
            text.value = {json.dumps(BATTLE)};
            text.dispatchEvent(new Event("input"));
            return true;
        }})()"""
    )
    page.until("document.querySelector('.pick') !== null")
    page.evaluate("(document.querySelector('.pick').click(), true)")
    page.until("[...CSS.highlights.keys()].some(name => name.startsWith('for'))")
    page.evaluate("(document.querySelector('.accept').click(), true)")
    assert "1 topic accepted" in page.evaluate("document.getElementById('review').textContent")


def test_meanings_stand_side_by_side(visit_firefox, store):
    page = visit_firefox(f"meanings/{number_of(store, 'tank')}")
    page.until("document.querySelectorAll('article.sense').length === 2")
    tops = page.evaluate(
        "[...document.querySelectorAll('article.sense blockquote:first-of-type')]"
        ".map(one => Math.round(one.getBoundingClientRect().top))"
    )
    assert tops[0] == pytest.approx(tops[-1], abs=1)


def test_an_area_of_the_map_is_opened(visit_firefox):
    page = visit_firefox("map")
    page.until("document.querySelector('.tile.area') !== null")
    page.evaluate("(document.querySelector('.tile.area').click(), true)")
    page.until("document.querySelectorAll('#map-path button').length === 2")
    page.until("document.querySelectorAll('.layer').length === 1")


def test_the_cloud_is_drawn(visit_firefox):
    page = visit_firefox("map/cloud")
    page.until("document.querySelector('canvas')?.width > 0")
    assert page.evaluate(
        """(() => {
            const canvas = document.querySelector("canvas"), { width, height } = canvas;
            const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
            return new Set(new Uint32Array(data.buffer)).size > 3;
        })()"""
    )


def test_the_threshold_of_quality_moves(visit_firefox):
    page = visit_firefox("quality")
    page.until("document.getElementById('cut-at') !== null")
    page.evaluate(
        """(() => {
            const slider = document.getElementById("cut-at");
            slider.value = 10;
            slider.dispatchEvent(new Event("input"));
            return true;
        })()"""
    )
    assert "10%" in page.evaluate("document.getElementById('figures').textContent")
    page.until("document.querySelectorAll('#topics tbody tr').length > 5")
