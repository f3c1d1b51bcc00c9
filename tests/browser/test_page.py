"""The page in a real browser: quality, errors and tokens."""

from __future__ import annotations

import json
import re

import pytest

from tests.browser.acting import altered, go_to, type_text
from tests.web.conftest import TEXT, client_with

pytest.importorskip("playwright.sync_api", reason="There is no Playwright.")

from playwright.sync_api import expect

# Quality


def test_quality_shows_frequencies_reliability_and_reach(visit):
    page = visit("quality")
    expect(page.get_by_role("table", name=re.compile("P@5 and R@5"))).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Reliability diagram"))).to_be_visible()
    expect(page.locator(".reliability .point").nth(1)).to_be_attached()
    expect(page.locator("#reach")).to_contain_text(re.compile(r"\d+\.\d%"))


def test_quality_lists_all_phases_and_says_which_probabilities_it_means(visit, store):
    page = visit("quality")
    phases = page.get_by_role("table", name="What training took").locator("tbody th")
    expect(phases.first).to_be_visible()
    assert phases.all_inner_texts() == list(store.current().tagger.phase_seconds)
    expect(page.get_by_text("Probabilities above 10% are off by")).to_be_visible()
    expect(page.locator("#stale")).to_have_count(0)


def test_quality_tells_how_reliable_it_is_that_labels_are_ambiguous(visit):
    def calibrate(body):
        rows = [
            {"from": 0, "to": 0.5, "n": 1200, "predicted": 0.121, "observed": 0.1},
            {"from": 0.5, "to": 1, "n": 0, "predicted": None, "observed": None},
        ]
        figures = {"n_fused": 400, "prior": 0.05, "brier": 0.083456, "seeds_used": 3}
        body["senses"]["calibration"] = {"reliability": rows, **figures, "more": {"a": [1]}}

    page = visit()
    altered(page, "**/v1/quality*", calibrate)
    go_to(page, "quality")
    expect(page.locator("#ambiguity")).to_contain_text(re.compile(r"\d+ of \d+ labels"))
    rows = page.get_by_role("table", name=re.compile("^How many labels were ambiguous"))
    assert rows.locator("tbody tr").all_inner_texts() == [
        "0% to 50%\t1,200\t12.1%\t10.0%",
        "50% to 100%\t0\t–\t–",
    ]
    figures = page.get_by_role("table", name="More about ambiguous labels")
    assert [row.split("\t")[-1] for row in figures.locator("tbody tr").all_inner_texts()] == [
        "400",
        "5.0%",
        "0.0835",
        "3",
    ]
    expect(figures).to_contain_text("seeds used")


def test_quality_tolerates_that_nothing_is_known_of_ambiguity(visit):
    page = visit()
    altered(page, "**/v1/quality*", lambda body: body["senses"].update(calibration={}))
    go_to(page, "quality")
    expect(page.locator("#ambiguity")).to_contain_text("the model does not say")
    page.unroute_all()
    page.get_by_label("Model").select_option("plain")
    expect(page.get_by_text("The model “plain” keeps no report")).to_be_visible()
    expect(page.locator("#ambiguity")).to_have_count(0)


def test_a_report_from_before_an_update_is_marked(visit):
    page = visit()
    added = {"n_documents": 1300, "n_labels": 1}
    page.route(
        "**/v1/quality*",
        lambda route: route.fulfill(json={**route.fetch().json(), "added_since_report": added}),
    )
    page.get_by_role("link", name="Quality", exact=True).click()
    expect(page.locator("#stale")).to_have_text(
        "Measured before 1,300 documents and 1 label were added; "
        "polyseme evaluate measures the model as it is now."
    )


def test_a_model_of_features_says_what_it_lacks(visit):
    page = visit("try")
    page.get_by_label("Model").select_option("plain")
    expect(page.get_by_text("takes features, not texts")).to_be_visible()
    page.get_by_role("link", name="Quality", exact=True).click()
    expect(page.get_by_text("The model “plain” keeps no report")).to_be_visible()
    for part in ("Senses", "Map"):
        page.get_by_role("link", name=part, exact=True).click()
        expect(page.get_by_role("heading", name=part, exact=True)).to_be_visible()
    expect(page.get_by_role("treeitem").first).to_be_visible()


# Errors and tokens


def test_errors_of_the_server_are_shown_in_words(visit):
    page = visit("senses/99999")
    expect(page.get_by_role("alert")).to_contain_text("There is no label 99999")
    problem = json.dumps({"detail": "128 requests are under way; try again.", "status": 503})
    page.route("**/v1/suggest", lambda route: route.fulfill(status=503, body=problem))
    page.get_by_role("link", name="Try", exact=True).click()
    type_text(page)
    expect(page.get_by_role("alert")).to_have_text("128 requests are under way; try again.")
    page.unroute("**/v1/suggest")
    page.route("**/v1/suggest", lambda route: route.abort())
    type_text(page, TEXT + " ")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
    page.unroute("**/v1/suggest")
    type_text(page, TEXT)
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
