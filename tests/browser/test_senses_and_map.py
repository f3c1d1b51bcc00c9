"""Senses and Map in a real browser: labels, what they mean, and where they are."""

from __future__ import annotations

import re

import pytest

from tests.browser.acting import altered, go_to, number_of

pytest.importorskip("playwright.sync_api", reason="There is no Playwright.")

from playwright.sync_api import expect

# Senses


def test_senses_of_a_label_stand_side_by_side_under_their_names(visit, store):
    page = visit("senses")
    expect(page.get_by_role("heading", name="Most ambiguous labels")).to_be_visible()
    expect(page.locator("#found a").nth(3)).to_contain_text(re.compile(r"\d% sure"))
    page.get_by_label("Find a label").fill("tank")
    page.locator("#found a").filter(has_text="tank").first.click()
    expect(page.get_by_role("heading", name="tank", exact=True)).to_be_visible()
    senses = page.locator("article.sense")
    expect(senses).to_have_count(2)
    expect(page.locator("#how-sure")).to_contain_text("sure that it has several")
    described = store.current().tagger.senses("tank")
    assert senses.locator("h4").all_text_contents() == [sense.name for sense in described]
    first, second = senses.nth(0).bounding_box(), senses.nth(1).bounding_box()
    assert first["y"] == second["y"]
    for sense in senses.all():
        expect(sense).to_contain_text(re.compile(r"\d+% of its texts"))
        assert sense.locator(".weights li").count() > 3
        assert sense.locator("a.chip").count() > 0
        assert sense.locator("blockquote").count() > 0
    expect(page.locator("#evidence")).to_have_count(0)
    senses.nth(0).locator("a.chip").first.click()
    expect(page.get_by_role("heading", name="tank", exact=True)).to_have_count(0)
    page.go_back()
    expect(page.get_by_role("heading", name="tank", exact=True)).to_be_visible()


def test_a_label_with_one_meaning_is_shown_plainly(visit, store):
    page = visit(f"senses/{number_of(store, 'siege')}")
    expect(page.get_by_role("heading", name="siege", exact=True)).to_be_visible()
    expect(page.locator("article.sense")).to_have_count(0)
    meaning = page.locator("article.meaning")
    assert meaning.locator(".weights li").count() > 3
    assert meaning.locator("a.chip").count() > 0
    assert meaning.locator("blockquote").count() > 0
    assert "sense" not in page.locator("#label").inner_text().lower()


def test_what_told_senses_apart_is_said_where_texts_have_one_label_each(visit, store):
    page = visit("senses")
    altered(page, "**/v1/labels/*", lambda body: body.update(evidence="text"))
    go_to(page, f"senses/{number_of(store, 'tank')}")
    expect(page.locator("#evidence")).to_contain_text("by their words alone")
    go_to(page, f"senses/{number_of(store, 'siege')}")
    expect(page.locator("article.meaning")).to_be_visible()
    expect(page.locator("#evidence")).to_have_count(0)


@pytest.mark.parametrize(
    ("senses", "sentence"),
    [
        (None, "This model was trained without looking for senses."),
        ({"n_judged_labels": 40, "n_ambiguous_labels": 0}, "None of the 40 labels with enough"),
        ({"n_judged_labels": 0, "n_ambiguous_labels": 0}, "Every label has too few texts"),
    ],
)
def test_where_no_label_is_ambiguous_the_page_says_why_and_lists_others(visit, senses, sentence):
    def without(body):
        for model in body["models"]:
            model["senses"] = senses

    page = visit()
    altered(page, "**/v1/models*", without)
    page.reload()
    expect(page.locator(".starter").first).to_be_visible()
    page.get_by_role("link", name="Senses", exact=True).click()
    expect(page.get_by_role("heading", name="Most frequent labels")).to_be_visible()
    expect(page.locator("#found-help")).to_contain_text(sentence)
    expect(page.locator("#found a").nth(3)).to_be_visible()


def test_a_model_without_senses_shows_its_labels_plainly(visit):
    page = visit("senses")
    expect(page.locator("#found a").first).to_be_visible()
    page.get_by_label("Model").select_option("plain")
    expect(page.get_by_role("heading", name="Most frequent labels")).to_be_visible()
    page.locator("#found a").first.click()
    expect(page.get_by_role("heading", name="Labels near it")).to_be_visible()
    expect(page.get_by_text("The model keeps no texts for it.")).to_be_visible()
    assert "sense" not in page.locator("#label").inner_text().lower()


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


def test_a_tree_of_one_level_has_its_lines_as_a_list_too(visit):
    nodes = [{"node": i, "n_labels": 2, "words": [], "labels": []} for i in range(2)]
    link = {"label": 0, "name": "in both", "split": 0.0, "clusters": [0, 1]}
    tree = {"model": "demo", "starts": [[0, 2]], "levels": [nodes], "links": [link]}
    page = visit("quality")
    page.route("**/v1/tree*", lambda route: route.fulfill(json=tree))
    page.goto(page.url.split("#")[0] + "#map/1")
    page.get_by_role("button", name="in both", exact=True).click()
    expect(page.locator(".link.stands")).to_have_count(1)
    expect(page.locator("#map-slots li").first).to_be_visible()


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
    expect(page.locator("#label h3")).to_be_visible()


def test_the_map_says_in_which_clusters_a_label_is(visit, store):
    page = visit("map")
    page.get_by_role("button", name="tank", exact=True).click()
    slots = page.locator("#map-slots")
    clusters = store.current().classifier.clusters_
    expect(slots).to_contain_text(
        f"“tank” is in {clusters.copies[number_of(store, 'tank')]} clusters"
    )
    expect(slots.locator("li").first).to_contain_text(re.compile(r"\d% of its texts"))
    assert "sense" not in page.locator("#panel-map").inner_text().lower()
    page.get_by_role("button", name="tank", exact=True).click()
    expect(slots.locator("li")).to_have_count(0)


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
        body["labels"][0]["n_clusters"] = 1
        route.fulfill(json={**body, "n_labels": len(body["labels"]) + 1})

    page = visit()
    page.route("**/v1/clusters/0?*", answer)
    page.goto(page.url.split("#")[0] + "#map/0")
    detail = page.locator("#map-detail")
    expect(detail.get_by_text("Other labels")).to_be_visible()
    expect(detail.locator("ul").nth(1).locator("li")).to_have_count(1)
    expect(detail.get_by_text("are listed.")).to_be_visible()


def test_a_label_leads_to_its_clusters_on_the_map(visit):
    page = visit("senses")
    page.locator("#found a").first.click()
    link = page.locator("#label a").filter(has_text="cluster").first
    name = link.text_content()
    link.click()
    expect(page.locator("#map-detail h3")).to_have_text(name.capitalize())
