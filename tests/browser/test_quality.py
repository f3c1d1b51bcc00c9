"""Quality in a real browser: figures, curves, and the table of topics."""

from __future__ import annotations

import csv
import re

import pytest

from tests.browser.acting import altered, go_to

pytest.importorskip("playwright.sync_api", reason="There is no Playwright.")

from playwright.sync_api import expect

TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


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
    expect(slider).to_be_focused()  # the button has hidden itself


def middle(box):
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_dragged_handle_says_where_it_is_and_selects_no_text(visit):
    page = visit("quality")
    expect(page.locator("#topics")).to_be_visible()
    slider, handle = page.get_by_label("Threshold", exact=True), page.locator(".handle")
    slider.fill("60")
    aim = middle(handle.bounding_box())
    slider.fill("10")
    page.mouse.move(*middle(handle.bounding_box()))
    page.mouse.down()
    page.mouse.move(*aim)
    assert abs(int(slider.input_value()) - 60) <= 2
    page.mouse.move(300, 790, steps=3)
    said = page.locator("#precision-recall .note")
    expect(said).to_contain_text(f"threshold {slider.input_value()}%")
    expect(said).to_contain_text(re.compile(r"recall \d+%"))
    page.mouse.up()
    assert page.evaluate("getSelection().toString()") == ""


def test_a_finger_scrolls_the_page_over_the_curve_and_drags_its_handle(visit):
    page = visit("quality", **PHONE)
    expect(page.locator("#topics")).to_be_visible()
    page.locator("#precision-recall").evaluate("one => one.scrollIntoView({ block: 'center' })")
    page.evaluate(TWO_FRAMES)
    touch = page.context.new_cdp_session(page)

    def swipe(x, y, down):
        for step in range(9):
            points = [{"x": x, "y": y + step / 8 * down}]
            kind = "touchMove" if step else "touchStart"
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    slider = page.get_by_label("Threshold", exact=True)
    own, scrolled = slider.input_value(), page.evaluate("scrollY")
    swipe(*middle(page.locator(".handle").bounding_box()), 150)
    moved = slider.input_value()
    assert moved != own
    assert page.evaluate("scrollY") == scrolled
    box = page.locator("#precision-recall").bounding_box()
    swipe(box["x"] + 60, box["y"] + 0.8 * box["height"], -150)
    page.wait_for_function("before => scrollY > before", arg=scrolled)
    assert slider.input_value() == moved


def test_texts_of_charts_are_equally_large_and_apart_at_every_width(visit):
    page = visit("quality")
    for width in (1440, 360):
        expect(page.locator(".reliability .point").first).to_be_attached()
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate(TWO_FRAMES)
        for chart in page.locator(".chart").all():
            texts = chart.evaluate(
                """chart => [...chart.querySelectorAll(":scope > text, .tick text")]
                .filter((text) => text.textContent)
                .map((text) => [getComputedStyle(text).fontSize, text.getScreenCTM().a,
                    text.getBoundingClientRect().toJSON()])"""
            )
            assert len(texts) > 8
            assert {(size, scale) for size, scale, _ in texts} == {("12px", 1)}
            boxes = [box for *_, box in texts]
            for i, one in enumerate(boxes):
                assert one["left"] >= 0
                assert one["right"] <= width
                assert not any(overlap(one, other) for other in boxes[:i])


def overlap(one, other):
    """Tell whether two texts cover each other by more than the space around letters."""
    return (
        one["left"] < other["right"]
        and other["left"] < one["right"]
        and one["top"] + 4 < other["bottom"]
        and other["top"] + 4 < one["bottom"]
    )


def test_a_model_with_thresholds_of_topics_has_a_mark_beside_the_curve(visit):
    def give_own(body):
        figures = {"precision": 1.0, "recall": 0.2, "n_labels_with_own": 3}
        body["report"]["threshold"].update(figures, wanted_precision=0.9)

    page = visit()
    altered(page, re.compile(r"v1/quality\?"), give_own)
    go_to(page, "quality")
    figures, note = page.locator("#figures"), page.locator("#precision-recall .note")
    expect(figures).to_contain_text("threshold of all but 3 topics, chosen for 90% precision")
    expect(page.locator("#own-thresholds")).to_contain_text(
        "3 topics have thresholds of their own"
    )
    expect(note).to_contain_text("the model’s own")
    own, handle = page.locator("#precision-recall .own"), page.locator(".handle")
    assert own.get_attribute("transform") != handle.get_attribute("transform")
    page.get_by_label("Threshold", exact=True).fill("10")
    expect(note).to_contain_text("threshold 10%")
    page.get_by_role("button", name="back to the model’s own").click()
    expect(note).to_contain_text("recall 20%")
    expect(figures).to_contain_text("20.0%")


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


def test_the_table_of_topics_stays_as_it_was_left_and_ignores_accents(visit):
    def accent(body):
        body["labels"][0]["name"] = "Géographie"

    page = visit()
    altered(page, "**/v1/quality/labels*", accent)
    go_to(page, "quality")
    page.get_by_role("button", name="F1", exact=True).click()
    field = page.get_by_label("Filter topics by name")
    field.fill("geoGRÁphie")
    topic = page.get_by_role("link", name="Géographie")
    expect(topic).to_have_attribute("href", re.compile(r"^#meanings/\d+\?model=demo$"))
    topic.click()
    expect(field).to_be_hidden()
    page.go_back()
    expect(topic).to_be_visible()
    expect(field).to_have_value("geoGRÁphie")
    expect(page.locator("#topics [aria-sort=descending]")).to_have_text("F1")
    page.get_by_label("Model").select_option("plain")
    expect(page.get_by_text("keeps no report")).to_be_visible()
    page.get_by_label("Model").select_option("demo")
    expect(field).to_have_value("")


def test_quality_says_that_it_waits_for_the_server(visit):
    page, held = visit(), []
    page.route(re.compile(r"v1/quality\?"), lambda route: held.append(route))
    go_to(page, "quality")
    waiting = page.locator("#quality").get_by_role("status")
    expect(waiting).to_have_text("Fetching the report.")
    held[0].continue_()
    expect(page.locator("#topics")).to_be_visible()
    expect(page.locator("#quality .busy")).to_have_count(0)


def test_the_answer_for_a_model_that_was_left_is_not_shown(visit):
    page, held = visit(), []
    page.route(re.compile(r"v1/quality\?model=demo"), lambda route: held.append(route))
    go_to(page, "quality?model=demo")
    expect(page.locator("#quality .busy")).to_be_visible()
    go_to(page, "meanings?model=plain")
    expect(page.locator("#quality .busy")).to_have_count(0)
    held[0].abort()
    go_to(page, "quality?model=plain")
    expect(page.get_by_text("The model “plain” keeps no report")).to_be_visible()


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
    names = phases.locator("span").evaluate_all("all => all.map((one) => one.title)")
    assert names == list(store.current().tagger.phase_seconds)
    expect(phases.locator("[title='Training the ranker']")).to_have_text(
        "Learning to rank the topics in a group"
    )


def test_quality_tells_how_reliable_it_is_that_topics_are_ambiguous(visit):
    def calibrate(body):
        rows = [
            {"from": 0, "to": 0.5, "n": 1200, "predicted": 0.121, "observed": 0.1},
            {"from": 0.5, "to": 1, "n": 0, "predicted": None, "observed": None},
        ]
        figures = {"n_fused": 400, "prior": 0.05, "auc": 0.87654, "seeds_used": 3}
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
        "87.7%",
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
    expect(page.get_by_text("The model “plain” keeps no report")).to_contain_text("from features")
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
