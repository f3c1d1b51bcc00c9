"""The page for eyes, screens and tools of all kinds."""

from __future__ import annotations

import re

import pytest

from tests.browser.acting import suggestion, type_text
from tests.web.conftest import BATTLE

pytest.importorskip("playwright.sync_api", reason="There is no Playwright.")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="There is no axe-core.")

from playwright.sync_api import expect  # noqa: E402

VIEWS = ["try", "meanings", "map", "map/cloud", "quality"]
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
READY = {
    "try": ".sample",
    "meanings": "article.sense",
    "map": ".tile",
    "map/cloud": "canvas",
    "quality": "#topics",
}


def fill_view(page, view):
    """Wait until a view shows what it can show."""
    page.wait_for_selector(READY[view])
    if view == "try":
        type_text(page, BATTLE)
        suggestion(page, "tank").click()
        page.wait_for_selector(".telling .chip")
    elif view == "map":
        page.locator(".tile strong").first.click()
        page.wait_for_selector("#map-path button >> nth=1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_serious(visit, view, scheme):
    page = visit(view, color_scheme=scheme, reduced_motion="reduce")
    fill_view(page, view)
    found = axe.Axe().run(page).response["violations"]
    serious = [
        (one["id"], [node["html"][:200] for node in one["nodes"]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


@pytest.mark.parametrize("view", VIEWS)
def test_a_phone_shows_all_without_sideways_scrolling(visit, view):
    page = visit(view, **PHONE, reduced_motion="reduce")
    fill_view(page, view)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("width", [360, 375])
def test_a_phone_cuts_no_table_of_quality(visit, width):
    def enlarge(route):
        body = route.fetch().json()
        for row in body["report"]["by_label_frequency"]:
            row["n_labels"] += 20_000
        for one in body["report"]["reliability"]["bins"]:
            one["n"] += 20_000
        route.fulfill(json=body)

    page = visit(**{**PHONE, "viewport": {"width": width, "height": 740}})
    page.route(re.compile(r"v1/quality\?"), enlarge)
    page.get_by_role("link", name="Quality", exact=True).click()
    page.wait_for_selector(READY["quality"])
    page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true; })")
    widths = page.locator(".table").evaluate_all(
        "all => all.map(t => [t.scrollWidth, t.clientWidth])"
    )
    assert len(widths) == 6
    assert all(needed <= there for needed, there in widths)


def test_a_topic_with_one_meaning_is_shown_to_everyone(visit, store):
    page = visit(f"meanings/{store.current().tagger.label_number('siege')}")
    page.wait_for_selector("article.meaning")
    found = axe.Axe().run(page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []


def test_the_page_is_dark_where_people_want_it_dark(visit):
    def ground(page):
        expect(page.get_by_role("heading", name="Try")).to_be_visible()
        color = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in color[4:-1].split(","))

    assert ground(visit("try", color_scheme="light")) > 700
    assert ground(visit("try", color_scheme="dark")) < 100
