"""Quality in a real browser: figures, curves, and the table of topics."""

from __future__ import annotations

import csv
import re

import pytest

from tests.browser.acting import altered, go_to

pytest.importorskip("playwright.sync_api", reason="There is no Playwright.")

from playwright.sync_api import expect


def test_quality_shows_f1_frequencies_reliability_and_reach(visit, store):
    page = visit("quality")
    cut = store.current().tagger.report["threshold"]
    for name in ("f1", "precision", "recall", "without_label"):  # as the command line prints them
        expect(page.locator("#figures")).to_contain_text(f"{100 * cut[name]:.1f}%")
    expect(page.locator("#figures")).to_contain_text("threshold, chosen for the best F1")
    expect(page.get_by_role("button", name="back to")).to_have_count(0)
    expect(page.get_by_role("img", name=re.compile("Reliability diagram"))).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Precision and recall by"))).to_be_visible()
    expect(page.locator(".reliability .point").nth(1)).to_be_attached()
    expect(page.locator("#reach")).to_contain_text(re.compile(r"\d+\.\d%"))
    expect(page.locator("#stale")).to_have_count(0)


def test_the_threshold_is_dragged_along_the_curve(visit, store):
    curve = store.current().tagger.report["by_threshold"]
    page = visit("quality")
    slider = page.get_by_label("Threshold", exact=True)
    slider.fill("10")
    figures = page.locator("#figures")
    expect(figures).to_contain_text("10%")
    expect(figures).to_contain_text(f"{100 * curve['f1'][10]:.1f}%")
    expect(figures).to_contain_text(f"{100 * curve['without_label'][10]:.1f}%")
    picture = page.locator("#precision-recall")
    box = picture.bounding_box()
    picture.click(position={"x": 0.98 * box["width"], "y": 0.8 * box["height"]})
    assert int(slider.input_value()) < 10  # many found, few of them right
    page.get_by_role("button", name=re.compile("back to")).click()
    assert slider.input_value() == f"{100 * store.current().tagger.threshold:.0f}"


def test_the_table_of_topics_is_sorted_filtered_and_saved(visit, store):
    page = visit("quality")
    rows = page.locator("#topics tbody tr")
    expect(rows.first).to_be_visible()
    page.get_by_role("button", name="Topic", exact=True).click()
    names = page.locator("#topics tbody th").all_inner_texts()
    assert names == sorted(names)
    page.get_by_role("button", name="Training texts").click()
    counts = [int(row.locator("td").first.inner_text().replace(",", "")) for row in rows.all()]
    assert counts == sorted(counts, reverse=True)
    page.get_by_label("Filter topics by name").fill("tank")
    expect(rows.first.locator("th")).to_have_text("tank")
    with page.expect_download() as saved:
        page.locator("#topics").get_by_role("button", name="Download table").click()
    with open(saved.value.path(), encoding="utf-8-sig", newline="") as file:
        found = list(csv.DictReader(file))
    assert all("tank" in row["name"] for row in found)
    measured = store.current().tagger.report["by_label"]
    place = measured["label"].index(store.current().tagger.label_number("tank"))
    (tank,) = [row for row in found if row["name"] == "tank"]
    assert int(tank["n_true"]) == measured["n_true"][place]
    right, suggested = measured["n_right"][place], measured["n_suggested"][place]
    assert float(tank["precision"]) == pytest.approx(right / suggested, abs=1e-4)


def test_a_report_without_curves_of_an_older_model_is_shown_all_the_same(visit):
    def older(body):
        body["report"].pop("by_threshold")

    page = visit()
    altered(page, re.compile(r"v1/quality\?"), older)
    page.route("**/v1/quality/labels*", lambda route: route.fulfill(json={"labels": []}))
    go_to(page, "quality")
    expect(page.locator("#figures")).to_contain_text("F1")
    expect(page.locator("#precision-recall")).to_have_count(0)
    expect(page.locator("#topics")).to_have_count(0)


def test_quality_lists_all_phases(visit, store):
    page = visit("quality")
    page.get_by_text("What training took", exact=True).click()
    phases = page.get_by_role("table", name="What training took").locator("tbody th")
    expect(phases.first).to_be_visible()
    assert phases.all_inner_texts() == list(store.current().tagger.phase_seconds)


def test_quality_tells_how_reliable_it_is_that_topics_are_ambiguous(visit):
    def calibrate(body):
        rows = [
            {"from": 0, "to": 0.5, "n": 1200, "predicted": 0.121, "observed": 0.1},
            {"from": 0.5, "to": 1, "n": 0, "predicted": None, "observed": None},
        ]
        figures = {"n_fused": 400, "prior": 0.05, "brier": 0.083456, "seeds_used": 3}
        body["senses"]["calibration"] = {"reliability": rows, **figures, "more": {"a": [1]}}

    page = visit()
    altered(page, re.compile(r"v1/quality\?"), calibrate)
    go_to(page, "quality")
    expect(page.locator("#ambiguity")).to_contain_text(re.compile(r"\d+ of \d+ topics"))
    rows = page.get_by_role("table", name=re.compile("^How many topics were ambiguous"))
    assert rows.locator("tbody tr").all_inner_texts() == [
        "0% to 50%\t1,200\t12.1%\t10.0%",
        "50% to 100%\t0\t–\t–",
    ]
    page.locator("summary", has_text="More about ambiguous topics").click()
    figures = page.get_by_role("table", name="More about ambiguous topics")
    assert [row.split("\t")[-1] for row in figures.locator("tbody tr").all_inner_texts()] == [
        "400",
        "5.0%",
        "0.0835",
        "3",
    ]
    expect(figures).to_contain_text("seeds used")


def test_quality_tolerates_that_nothing_is_known_of_ambiguity(visit):
    page = visit()
    calm = re.compile(r"v1/quality\?")
    altered(page, calm, lambda body: body["senses"].update(calibration={}))
    go_to(page, "quality")
    expect(page.locator("#ambiguity")).to_contain_text("the model does not say")
    page.unroute_all()
    page.get_by_label("Model").select_option("plain")
    expect(page.get_by_text("The model “plain” keeps no report")).to_be_visible()
    expect(page.locator("#ambiguity")).to_have_count(0)


def test_a_report_from_before_an_update_is_marked(visit):
    page = visit()
    added = {"n_documents": 1300, "n_labels": 1}
    altered(page, re.compile(r"v1/quality\?"), lambda body: body.update(added_since_report=added))
    page.get_by_role("link", name="Quality", exact=True).click()
    expect(page.locator("#stale")).to_have_text(
        "Measured before 1,300 texts and 1 topic were added; "
        "polyseme evaluate measures the model as it is now."
    )
