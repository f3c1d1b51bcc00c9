"""The page in a real browser: what people do with it."""

from __future__ import annotations

import json
import re

import pytest

import polyseme
from polyseme.senses.describe import slots_differ
from polyseme.server.model_store import ModelStore
from tests.web.conftest import TEXT, client_with
from tests.without_weights import without_weights

pytest.importorskip("playwright.sync_api", reason="There is no Playwright.")

from playwright.sync_api import expect

PARTS = ["try", "senses", "map", "quality"]


def type_text(page, text=TEXT):
    page.get_by_label("A text to find labels for").fill(text)


def suggestion(page, name):
    return page.locator("#suggestions button").filter(has_text=re.compile(f"^{name}"))


# Try


def test_labels_appear_as_one_types(visit):
    page = visit("try")
    expect(page.get_by_text("Labels appear here as you type.")).to_be_visible()
    page.get_by_label("A text to find labels for").press_sequentially(TEXT, delay=2)
    expect(suggestion(page, "tank")).to_contain_text("%")
    page.get_by_label("A text to find labels for").fill("")
    expect(page.locator("#suggestions button")).to_have_count(0)


def test_a_picked_label_is_explained_by_words_way_and_sense(visit):
    page = visit("try")
    text = "🛡️ " + TEXT
    type_text(page, text)
    suggestion(page, "tank").click()
    expect(page.get_by_role("heading", name="Why “tank”?")).to_be_visible()
    assert page.locator(".marked").text_content() == text
    marked = page.locator(".marked mark.for").all_text_contents()
    assert {"tank"} <= set(marked)
    expect(page.locator(".sense-chosen")).to_contain_text(re.compile(r"Sense \d of 2 was chosen"))
    steps = page.locator(".path button")
    expect(steps.last).to_have_attribute("aria-pressed", "true")
    expect(steps.last).to_contain_text("“tank”")
    expect(steps.filter(has_text="Cluster")).to_have_count(1)
    steps.first.click()
    expect(steps.first).to_have_attribute("aria-pressed", "true")
    assert page.locator(".marked").text_content() == text


def test_percent_is_for_probabilities_and_scores_are_plain_numbers(visit):
    page = visit("try")
    type_text(page)
    expect(suggestion(page, "tank")).to_contain_text(re.compile(r"\d%"))
    suggestion(page, "tank").click()
    expect(page.locator(".path button").last).to_contain_text(re.compile(r"score \d\.\d"))
    for step in page.locator(".path button").all():
        expect(step).to_contain_text("score")
    assert "%" not in page.locator("#why-content").inner_text()
    expect(page.get_by_text("A score says how strongly words speak")).to_be_visible()


def test_without_held_out_texts_nothing_is_shown_in_percent(visit):
    page = visit()

    def answer(route):
        body = route.fetch().json()
        for model in body["models"]:
            model["has_probabilities"] = False
        route.fulfill(json=body)

    page.route("**/v1/models*", answer)
    page.reload()
    type_text(page)
    suggestion(page, "tank").click()
    expect(suggestion(page, "tank")).to_contain_text(re.compile(r"score \d"))
    expect(page.locator(".path button").last).to_be_visible()
    assert "%" not in page.locator("#panel-try").inner_text()


def test_the_explanation_follows_the_text(visit):
    page = visit("try")
    type_text(page)
    suggestion(page, "tank").click()
    expect(page.locator(".marked")).to_have_text(TEXT)
    type_text(page, TEXT + " Armour and tank.")
    expect(page.locator(".marked")).to_have_text(TEXT + " Armour and tank.")


def test_weaker_labels_are_shown_when_wanted(visit):
    page = visit("try")
    type_text(page)
    expect(suggestion(page, "tank")).to_be_visible()
    n_likely = page.locator("#suggestions button").count()
    page.get_by_label("also labels below the threshold").check()
    expect(page.locator("#suggestions button")).to_have_count(12)
    assert n_likely < 12


def test_an_answer_that_comes_too_late_is_dropped(visit):
    page = visit("try")
    held = []

    def answer(route):
        if "late" in route.request.post_data_json["text"]:
            held.append(route)
        else:
            route.fulfill(json=suggested("early bird"))

    page.route("**/v1/suggest", answer)
    with page.expect_request("**/v1/suggest"):
        type_text(page, "late")
    type_text(page, "other")
    expect(suggestion(page, "early bird")).to_be_visible()
    for route in held:
        route.fulfill(json=suggested("late bird"))
    page.wait_for_timeout(100)
    expect(suggestion(page, "early bird")).to_be_visible()
    expect(suggestion(page, "late bird")).to_have_count(0)


def suggested(name):
    return {"model": "demo", "suggestions": [{"label": 0, "name": name, "score": 0.9}]}


def test_a_training_text_can_be_used_to_begin_with(visit):
    page = visit("try")
    page.locator(".starter").first.click()
    expect(page.locator("#suggestions button").first).to_be_visible()
    expect(page.locator(".starter").first).to_be_hidden()


def test_names_are_never_read_as_markup(visit):
    page = visit("try")
    name = "<img src=x onerror=alert(1)>"
    page.route("**/v1/suggest", lambda route: route.fulfill(json=suggested(name)))
    type_text(page)
    expect(page.locator("#suggestions .name")).to_have_text(name)
    assert page.locator("main img").count() == 0


def test_all_of_trying_works_by_keyboard(visit):
    page = visit("try")
    page.get_by_label("A text to find labels for").focus()
    page.keyboard.type(TEXT)
    expect(suggestion(page, "tank")).to_be_visible()
    for _ in range(2):
        page.keyboard.press("Tab")  # past the check box
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Why")).to_be_visible()
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"


def test_a_model_without_weights_is_shown_without_words(visit, store):
    bare = ModelStore({"demo": store.current().path}, load=_load_without_weights)
    with client_with(bare) as client:
        at = str(client.base_url).rstrip("/")
        page = visit("try", at=at)
        type_text(page)
        suggestion(page, "tank").click()
        expect(page.get_by_text("this part of the model has no weights")).to_be_visible()
        steps = page.locator(".step .figure")
        assert steps.first.inner_text() == ""  # only the cluster and the label have scores
        assert "score" in steps.last.inner_text()
        tank = bare.current().tagger.label_number("tank")
        page = visit(f"senses/{tank}", at=at)
        expect(page.get_by_text("No word speaks for it.").first).to_be_visible()
        page = visit("map/0", at=at)
        expect(page.get_by_text("None are known.")).to_be_visible()
        expect(page.get_by_role("treeitem").first).to_be_visible()


def _load_without_weights(path, n_jobs):
    model = polyseme.load(path, n_jobs=n_jobs)
    without_weights(model.classifier_)
    return model


# Senses


def test_senses_of_a_label_stand_side_by_side(visit):
    page = visit("senses")
    expect(page.get_by_role("heading", name="Most split labels")).to_be_visible()
    expect(page.locator("#found a").nth(3)).to_be_visible()
    page.get_by_label("Find a label").fill("tank")
    page.locator("#found a").filter(has_text="tank").first.click()
    expect(page.get_by_role("heading", name="tank", exact=True)).to_be_visible()
    senses = page.locator("article.sense")
    expect(senses).to_have_count(2)
    first, second = senses.nth(0).bounding_box(), senses.nth(1).bounding_box()
    assert first["y"] == second["y"]
    for sense in senses.all():
        assert sense.locator(".weights li").count() > 3
        assert sense.locator("a.chip").count() > 0
        assert sense.locator("blockquote").count() > 0
    senses.nth(0).locator("a.chip").first.click()
    expect(page.get_by_role("heading", name="tank", exact=True)).to_have_count(0)
    page.go_back()
    expect(page.get_by_role("heading", name="tank", exact=True)).to_be_visible()


def test_slots_that_hardly_differ_are_not_called_senses(visit, store):
    model = store.current().classifier
    several = [i for i in range(model.n_labels_) if model.clusters_.copies[i] == 2]
    alike = next(label for label in several if not slots_differ(model, label))
    page = visit(f"senses/{alike}")
    expect(page.locator("#alike")).to_have_text(
        "The words of these two slots hardly differ: by them, the label is in two clusters, "
        "not in two senses."
    )
    expect(page.locator("article.sense h4").nth(1)).to_have_text("Slot 2")
    expect(page.locator("#label > p").first).to_contain_text("2 clusters")
    page = visit(f"senses/{model.label_names_.index('tank')}")
    expect(page.locator("article.sense h4").nth(1)).to_have_text("Sense 2")
    expect(page.locator("#alike")).to_have_count(0)


def test_a_search_without_a_hit_says_so(visit):
    page = visit("senses")
    page.get_by_label("Find a label").fill("zzz")
    expect(page.get_by_text("No label has “zzz” in its name.")).to_be_visible()


# Map


def test_the_map_is_walked_and_zoomed_by_keyboard(visit):
    page = visit("map")
    boxes = page.get_by_role("treeitem")
    expect(boxes.first).to_be_visible()
    n_all = boxes.count()
    page.locator("[role=treeitem][tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    chosen = page.locator("[role=treeitem][aria-selected=true]")
    expect(chosen).to_have_attribute("data-place", "0/1")
    expect(chosen).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(chosen).to_have_attribute("aria-level", "2")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.locator("#map-path [aria-current=location]")).to_have_text("Part 1")
    assert page.get_by_role("treeitem").count() < n_all
    page.keyboard.press("Escape")
    expect(page.locator("#map-path [aria-current=location]")).to_have_text("All")
    expect(boxes).to_have_count(n_all)


def test_the_map_draws_trees_whose_nodes_have_different_numbers_of_children(visit):
    def node(number, n_labels):
        named = [{"label": 0, "name": "a label"}]
        return {"node": number, "n_labels": n_labels, "words": [], "labels": named}

    # Two parts, with one cluster and with three; three clusters have one label, the last has two.
    levels = [[node(0, 1), node(1, 4)], [node(i, 1 + (i == 3)) for i in range(4)]]
    tree = {"model": "demo", "starts": [[0, 2], [0, 1, 4]], "levels": levels, "links": []}
    page = visit("quality")
    page.route("**/v1/tree*", lambda route: route.fulfill(json=tree))
    page.goto(page.url.split("#")[0] + "#map")
    heights = {}
    expect(page.get_by_role("treeitem")).to_have_count(6)
    for box in page.get_by_role("treeitem").all():
        rect = box.locator("rect")
        heights[box.get_attribute("data-place")] = round(float(rect.get_attribute("height")))
    assert heights == {"0/0": 119, "0/1": 479, "1/0": 119, "1/1": 119, "1/2": 119, "1/3": 239}
    page.locator("[data-place='0/1']").click()
    page.keyboard.press("ArrowRight")
    chosen = page.locator("[role=treeitem][aria-selected=true]")
    expect(chosen).to_have_attribute("data-place", "1/1")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    expect(chosen).to_have_attribute("data-place", "0/1")


def test_a_cluster_of_the_map_shows_its_labels_and_lines(visit):
    page = visit("map")
    page.wait_for_selector(".box")
    expect(page.locator(".link").first).to_be_attached()
    page.get_by_role("button", name="tank", exact=True).click()
    expect(page.locator(".link.stands").first).to_be_attached()
    last = page.get_by_role("treeitem", name=re.compile("^Cluster")).last
    last.click()
    expect(page.locator("#map-detail h3")).to_contain_text("Cluster")
    page.locator("#map-detail a.chip").first.click()
    expect(page.locator("article.sense").first).to_be_visible()


def test_a_cluster_without_other_labels_has_no_heading_for_them(visit, store):
    model = store.current().classifier
    starts, copies = model.clusters_.starts, model.clusters_.copies
    own = model.clusters_.labels[starts[0] : starts[1]]
    assert (copies[own] > 1).all()
    page = visit("map/0")
    detail = page.locator("#map-detail")
    expect(detail.get_by_text("Labels that are elsewhere too")).to_be_visible()
    assert "null" not in [node.strip() for node in detail.inner_text().split("\n")]
    expect(detail.get_by_text("Other labels")).to_have_count(0)
    assert all(len(text) > 0 for text in detail.locator("ul").all_inner_texts())


def test_a_cluster_with_labels_of_both_kinds_lists_both(visit):
    def answer(route):
        body = route.fetch().json()
        body["labels"][0]["n_senses"] = 1
        route.fulfill(json={**body, "n_labels": len(body["labels"]) + 1})

    page = visit()
    page.route("**/v1/clusters/0?*", answer)
    page.goto(page.url.split("#")[0] + "#map/0")
    detail = page.locator("#map-detail")
    expect(detail.get_by_text("Other labels")).to_be_visible()
    expect(detail.locator("ul").nth(1).locator("li")).to_have_count(1)
    expect(detail.get_by_text("are listed.")).to_be_visible()


def test_a_sense_leads_to_its_cluster_on_the_map(visit):
    page = visit("senses")
    page.locator("#found a").first.click()
    link = page.locator("article.sense a").first
    name = link.text_content()
    link.click()
    expect(page.locator("#map-detail h3")).to_have_text(name.capitalize())


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
