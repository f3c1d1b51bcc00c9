"""The frame of the page in a real browser: addresses, models, errors, tokens, the API."""

from __future__ import annotations

import json
import re
from importlib import metadata

import pytest

from tests.browser.acting import go_to, suggestion, type_text
from tests.web.conftest import TEXT, client_with

pytest.importorskip("playwright.sync_api", reason="There is no Playwright.")

from playwright.sync_api import expect


def test_model_and_view_stand_in_the_address(visit):
    page = visit("quality?model=plain")
    expect(page.get_by_text("The model “plain” keeps no report")).to_be_visible()
    expect(page.get_by_label("Model")).to_have_value("plain")
    page.get_by_role("link", name="Map", exact=True).click()
    expect(page).to_have_url(re.compile(r"#map\?model=plain$"))
    expect(page.locator(".tile").first).to_be_visible()
    page.get_by_label("Model").select_option("demo")
    expect(page).to_have_url(re.compile(r"#map\?model=demo$"))
    page.go_back()
    expect(page.get_by_label("Model")).to_have_value("plain")
    page = visit("map/99999?model=plain")
    expect(page.get_by_role("alert")).to_contain_text("There is no such area")
    expect(page).to_have_url(re.compile(r"#map\?model=plain$"))


def test_links_name_the_model_so_that_they_work_in_a_new_tab(visit):
    page = visit("meanings?model=plain")
    page.wait_for_selector("#found a")
    links = page.locator("header a, #found a").evaluate_all("all => all.map(one => one.hash)")
    assert len(links) > 5
    assert all(link.endswith("?model=plain") for link in links)


def test_an_address_of_a_model_that_is_not_there_says_so(visit):
    page = visit("quality?model=gone")
    expect(page.get_by_role("alert")).to_contain_text("no model “gone”, but “demo”, “plain”")
    page.get_by_role("link", name="Quality", exact=True).click()
    expect(page.locator("#figures")).to_be_visible()
    expect(page.get_by_role("alert")).to_be_hidden()


def test_a_view_begins_at_its_top_and_who_goes_back_finds_the_place(visit):
    page = visit("quality")
    expect(page.locator("#topics")).to_be_visible()
    page.evaluate("scrollTo(0, 500)")
    page.evaluate("location.hash = '#map?model=demo'")
    expect(page.locator(".tile").first).to_be_visible()
    assert page.evaluate("scrollY") == 0
    page.go_back()
    expect(page.locator("#topics")).to_be_visible()
    assert page.evaluate("scrollY") == 500


def test_the_footer_names_version_model_and_date_and_leads_to_the_api(visit):
    page = visit("try")
    footer = page.locator("footer")
    expect(footer).to_contain_text(f"polyseme {metadata.version('polyseme')}")
    expect(footer).to_contain_text(re.compile(r"Model “demo”, of \d+ \w+ \d{4}: 304 topics"))
    expect(footer.get_by_role("link", name="API")).to_have_attribute("href", "docs")


def test_the_api_can_be_tried_under_the_same_policy(visit, address):
    page = visit("try")
    page.get_by_role("link", name="API").click()
    operation = page.locator("#operations-models-models")
    operation.locator("button").first.click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".responses-table.live-responses-table")).to_contain_text("demo")
    expect(operation.locator(".request-url")).to_contain_text(f"{address}/v1/models")


def test_a_model_of_features_says_what_it_lacks(visit):
    page = visit("try")
    page.get_by_label("Model").select_option("plain")
    expect(page.get_by_text("takes features, not texts")).to_be_visible()
    for view in ("Quality", "Meanings", "Map"):
        page.get_by_role("link", name=view, exact=True).click()
        expect(page.get_by_role("heading", name=view, exact=True)).to_be_visible()
    expect(page.locator(".tile").first).to_be_visible()


def test_errors_of_the_server_are_shown_in_words(visit):
    page = visit("meanings/99999")
    expect(page.get_by_role("alert")).to_contain_text("There is no label 99999")
    problem = json.dumps({"detail": "128 requests are under way; try again.", "status": 503})
    page.route("**/v1/suggest", lambda route: route.fulfill(status=503, body=problem))
    go_to(page, "try")
    type_text(page)
    expect(page.get_by_role("alert")).to_have_text("128 requests are under way; try again.")
    page.unroute("**/v1/suggest")
    page.route("**/v1/suggest", lambda route: route.abort())
    type_text(page, TEXT + " ")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
    page.unroute("**/v1/suggest")
    type_text(page, TEXT)
    expect(suggestion(page, "tank")).to_be_visible()
    expect(page.get_by_role("alert")).to_be_hidden()
    assert all("Failed to load resource" in one for one in page.complaints)
    page.complaints.clear()


def test_a_token_is_asked_for_and_kept(visit, store):
    with client_with(store, token="open sesame") as client:
        page = visit("quality", at=str(client.base_url).rstrip("/"))
        token = page.get_by_label("This server wants a token")
        expect(token).to_be_focused()
        token.fill("wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("does not accept this token")
        token.fill("open sesame")
        page.get_by_role("button", name="Use this token").click()
        expect(page.locator("#reach")).to_be_visible()
        page.reload()
        expect(page.locator("#reach")).to_be_visible()
        expect(token).to_be_hidden()
        assert all("401" in one for one in page.complaints)
        page.complaints.clear()
