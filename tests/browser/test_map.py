"""Map in a real browser: areas to go into, and search."""

from __future__ import annotations

import re

import pytest

from tests.browser.acting import go_to, number_of

pytest.importorskip("playwright.sync_api", reason="There is no Playwright.")

from playwright.sync_api import expect

STILL = {"reduced_motion": "reduce"}


def node(number, n_labels, name="a topic", *, n_given=0):
    named = [{"label": 0, "name": f"{name} {number}"}]
    return {
        "node": number,
        "n_labels": n_labels,
        "n_given": n_given,
        "words": [],
        "labels": named,
    }


def with_tree(visit, starts, levels, **options):
    page = visit("quality", **{**STILL, **options})
    tree = {"model": "demo", "starts": starts, "levels": levels, "links": []}
    page.route("**/v1/tree*", lambda route: route.fulfill(json=tree))
    page.get_by_role("link", name="Map", exact=True).click()
    return page


def test_areas_are_called_by_topics_and_opened_by_a_click(visit):
    page = visit("map", **STILL)
    tiles = page.locator(".tile")
    expect(tiles.first).to_be_visible()
    name = tiles.first.locator("strong").text_content()
    tiles.first.locator("strong").click()
    expect(page.locator("#map-path [aria-current=location]")).to_contain_text(name)
    expect(page.locator("#map-detail h3")).to_contain_text(name)
    said = page.locator("#panel-map").inner_text().lower()
    assert not any(word in said for word in ("cluster", "slot", "part "))
    page.get_by_role("button", name="All topics").click()
    expect(page.locator("#map-path button")).to_have_count(1)
    page.go_back()
    expect(page.locator("#map-path button")).to_have_count(2)


def test_a_flight_ends_where_it_should(visit, store):
    page = visit("map")  # with all its motion
    page.locator(".tile strong").first.click()
    expect(page.locator("#map-path button")).to_have_count(2)
    page.get_by_label("Find a topic on the map").fill("tank")
    page.locator("#map-hits button").first.click()
    found = page.locator(".tile.found")
    expect(found).to_contain_text("tank")
    expect(page.locator(".layer")).to_have_count(1)
    cluster, label = re.search(r"#map/(\d+)/(\d+)", page.url).groups()
    clusters = store.current().classifier.clusters_
    assert int(label) == number_of(store, "tank")
    assert int(cluster) in clusters.cluster_of_slot[clusters.slots_of(int(label))]


def test_a_tile_is_the_larger_the_more_often_topics_of_its_area_are_given(visit):
    levels = [[node(0, 10, n_given=90), node(1, 40, n_given=1560)], [node(i, 9) for i in range(5)]]
    page = with_tree(visit, [[0, 2], [0, 1, 5]], levels)
    expect(page.locator(".tile")).to_have_count(2)
    boxes = [tile.bounding_box() for tile in page.locator(".tile").all()]
    larger, smaller = sorted((box["width"] * box["height"] for box in boxes), reverse=True)
    assert larger / smaller == pytest.approx(4, rel=0.1)
    page.locator(".tile strong").filter(has_text="a topic 1").click()
    expect(page.locator(".tile")).to_have_count(4)


def test_a_large_area_shows_what_is_inside_and_leads_straight_there(visit):
    levels = [[node(0, 100), node(1, 100)], [node(i, 10, "inside") for i in range(20)]]
    page = with_tree(visit, [[0, 2], [0, 10, 20]], levels)
    page.route("**/v1/clusters/*", lambda route: route.fulfill(json=topics_of_an_area(5)))
    tile = page.locator(".tile").filter(has=page.locator("strong", has_text="a topic 1"))
    inside = tile.locator(".inner").all_text_contents()
    assert {"inside 10", "inside 19"} <= set(inside)
    tile.get_by_text("inside 12", exact=True).click()
    expect(page).to_have_url(re.compile("#map/12"))
    path = page.locator("#map-path button")
    expect(path).to_have_text(["All topics", "a topic 1", "inside 12"])
    assert page.get_by_role("button", name="inside 13").count() == 0


def test_areas_inside_a_large_one_have_shades_of_its_colour(visit):
    levels = [[node(0, 100), node(1, 100)], [node(i, 10, "inside") for i in range(20)]]
    page = with_tree(visit, [[0, 2], [0, 10, 20]], levels)

    def hues(found):
        return found.evaluate_all(
            "all => all.map(one => Number(one.style.getPropertyValue('--hue')))"
        )

    expect(page.locator(".tile")).to_have_count(2)
    for tile in page.locator(".tile").all():
        (whole,), inner = hues(tile), hues(tile.locator(".inner:not(.rest)"))
        assert len(inner) == 10 == len(set(inner))
        offsets = [(hue - whole + 180) % 360 - 180 for hue in inner]
        assert max(map(abs, offsets)) < 90
        assert sum(offsets) == pytest.approx(0, abs=1e-3)


def topics_of_an_area(n, name=lambda i: f"common {i}"):
    """Return the answer about an area in which the first topic is far rarer than all others."""
    labels = [
        {"label": i, "name": name(i), "n_documents": 99 if i else 1, "n_senses": 1}
        for i in range(n)
    ]
    named = {"model": "demo", "cluster": 0, "path": [0], "words": [], "n_labels": n}
    return {**named, "labels": labels}


def test_a_topic_that_was_sought_is_shown_however_rare_it_is(visit):
    page = with_tree(visit, [[0, 2]], [[node(i, 500) for i in range(2)]])
    page.route("**/v1/clusters/*", lambda route: route.fulfill(json=topics_of_an_area(500)))
    go_to(page, "map/0/0")
    found = page.locator(".tile.found")
    expect(found).to_have_text(re.compile("^common 0"))
    assert found.evaluate("tile => tile.clientWidth * tile.clientHeight") > 2500
    expect(page.locator(".tile.rest")).to_be_visible()


def test_topics_without_a_name_are_merged_before_others(visit):
    def name(i):
        return f"gnd:40{i:05d}-1" if i % 2 else f"common {i}"

    page = with_tree(visit, [[0, 2]], [[node(i, 40) for i in range(2)]])
    page.route("**/v1/clusters/*", lambda route: route.fulfill(json=topics_of_an_area(400, name)))
    go_to(page, "map/0")
    expect(page.locator(".tile", has_text="common").nth(3)).to_be_visible()
    assert page.locator(".tile", has_text="gnd:").count() == 0
    expect(page.locator(".tile.rest")).to_have_text(re.compile(r"^\+\d+$"))


def test_an_area_is_not_called_as_the_one_around_it(visit):
    def called(number, *names):
        labels = [{"label": i, "name": name} for i, name in enumerate(names)]
        return {**node(number, 9), "labels": labels}

    levels = [
        [called(0, "law", "state", "duty"), called(1, "fish")],
        [called(0, "law", "state", "court"), called(1, "duty"), called(2, "fish")],
    ]
    page = with_tree(visit, [[0, 2], [0, 2, 3]], levels)
    page.locator(".tile").filter(has_text="law").locator("strong").click()
    expect(page.locator(".tile strong")).to_have_text(["court", "duty"])


def test_no_word_of_usual_length_is_broken_on_a_tile(visit):
    names = ["Architectural theory", "Axiomatization", "Heterogeneous material"]
    levels = [[node(i, 10, names[i % 3]) for i in range(60)]]
    page = with_tree(visit, [[0, 60]], levels)
    expect(page.locator(".tile").nth(20)).to_be_visible()
    too_wide = page.locator(".tile strong").evaluate_all(
        """all => all.filter(one => {
            one.style.overflowWrap = "normal";
            one.style.hyphens = "none";
            return one.scrollWidth > one.clientWidth + 1;
        }).map(one => one.textContent)"""
    )
    assert too_wide == []


def test_a_thousand_areas_are_merged_into_tiles_that_can_be_read(visit):
    levels = [[node(i, 100) for i in range(1024)]]
    page = with_tree(visit, [[0, 1024]], levels)
    rest = page.locator(".tile.rest")
    expect(rest).to_have_count(1)
    shown = page.locator(".tile").count() - 1
    assert rest.inner_text() == f"+{1024 - shown}"
    boxes = page.locator(".tile").evaluate_all(
        "all => all.map(t => t.clientWidth * t.clientHeight)"
    )
    assert min(boxes) > 2500
    rest.click()
    expect(page.locator("#map-path")).to_contain_text(f"{1024 - shown} more")
    expect(page.locator(".tile").first).not_to_contain_text("a topic 0")


def test_further_tiles_have_an_address_and_survive_another_size(visit):
    page = with_tree(visit, [[0, 1024]], [[node(i, 100) for i in range(1024)]])
    page.locator(".tile.rest").click()
    expect(page).to_have_url(re.compile(r"#map/all/\+\d+"))
    expect(page.locator("#map-path")).to_contain_text("more")
    first = page.locator(".tile").first.get_attribute("data-key")
    n_tiles = page.locator(".tile").count()
    page.set_viewport_size({"width": 700, "height": 700})
    expect(page.locator(".tile")).not_to_have_count(n_tiles)
    assert page.locator(".tile").first.get_attribute("data-key") == first
    expect(page.locator("#map-path")).to_contain_text("more")
    page.locator(".tile").first.focus()
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile(r"#map\?"))
    expect(page.locator(".tile.rest")).to_be_focused()
    page.go_back()
    expect(page.locator("#map-path")).to_contain_text("more")


def test_a_topic_chosen_just_after_a_resize_is_outlined(visit):
    page = with_tree(visit, [[0, 2]], [[node(i, 40) for i in range(2)]])
    page.route("**/v1/clusters/*", lambda route: route.fulfill(json=topics_of_an_area(9)))
    go_to(page, "map/0/3")
    expect(page.locator(".tile.found")).to_contain_text("common 3")
    page.set_viewport_size({"width": 900, "height": 700})
    page.wait_for_timeout(100)
    page.locator(".tile", has_text="common 5").click()
    page.wait_for_timeout(400)
    expect(page.locator(".tile.found")).to_contain_text("common 5")


def test_a_level_with_a_single_area_is_skipped(visit):
    page = with_tree(visit, [[0, 1], [0, 3]], [[node(0, 30)], [node(i, 10) for i in range(3)]])
    expect(page.locator(".tile")).to_have_count(3)
    expect(page.locator("#map-path button")).to_have_text(["All topics"])
    page = with_tree(visit, [[0, 1]], [[node(0, 30)]])
    expect(page.locator(".tile").first).to_have_class(re.compile("topic"))
    page.locator(".tile").first.click()
    expect(page.locator(".tile.found")).to_have_count(1)
    expect(page.locator("#map-path button")).to_have_text(["All topics"])


def test_figures_of_a_tile_are_left_out_and_not_cut(visit):
    answer = topics_of_an_area(60)
    for one in answer["labels"]:
        one["n_senses"] = 2
    page = with_tree(visit, [[0, 2]], [[node(i, 40) for i in range(2)]])
    page.route("**/v1/clusters/*", lambda route: route.fulfill(json=answer))
    go_to(page, "map/0")
    figures = page.locator(".tile .n")
    expect(figures.first).to_be_visible()
    widths = figures.evaluate_all("all => all.map(one => [one.scrollWidth, one.clientWidth])")
    assert all(needed <= there for needed, there in widths)
    assert {"99 texts", "99 texts, 2 meanings"} >= set(figures.all_text_contents()) - {"1 text"}
    expect(page.locator(".tile.several")).to_have_count(page.locator(".tile.topic").count())


def test_hits_are_walked_by_keyboard_and_closed_by_escape_or_a_click_elsewhere(visit):
    page = visit("map", **STILL)
    field, hits = page.get_by_label("Find a topic on the map"), page.locator("#map-hits button")
    field.fill("an")
    expect(hits.nth(1)).to_be_visible()
    for key, focused in (
        ("ArrowDown", hits.nth(0)),
        ("ArrowDown", hits.nth(1)),
        ("ArrowUp", hits.nth(0)),
        ("ArrowUp", field),
        ("ArrowDown", hits.nth(0)),
        ("Escape", field),
    ):
        page.keyboard.press(key)
        expect(focused).to_be_focused()
    expect(hits.first).not_to_be_visible()
    field.fill("ta")
    expect(hits.first).to_be_visible()
    page.get_by_role("heading", name="Map").click()
    expect(hits.first).not_to_be_visible()


def test_a_hit_gives_the_focus_to_its_tile(visit):
    page = visit("map", **STILL)
    page.get_by_label("Find a topic on the map").fill("tank")
    expect(page.locator("#map-hits button").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".tile.found")).to_be_focused()


def test_nothing_seems_to_be_under_way_where_the_server_does_not_answer(visit):
    page = visit("quality", **STILL)
    page.route("**/v1/tree*", lambda route: route.abort())
    page.get_by_role("link", name="Map", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    expect(page.locator("#panel-map .busy")).to_have_count(0)
    page.complaints.clear()


def test_links_beside_the_map_say_which_model_is_meant(visit, store):
    page = visit(f"map/cloud/{number_of(store, 'tank')}", **STILL)
    links = page.locator("#map-detail a")
    expect(links.first).to_be_visible()
    addresses = links.evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert all(one.endswith("?model=demo") for one in addresses)


def test_the_card_of_a_topic_is_in_sight_on_a_phone(visit):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = visit("map/0", **phone, **STILL)
    page.locator(".tile.topic").first.tap()
    heading = page.locator("#map-detail.about-topic h3")
    expect(heading).to_be_in_viewport()
    expect(heading).to_have_text(page.locator(".tile.found strong").text_content())
    assert page.evaluate("scrollY") == 0


def test_the_map_is_walked_by_keyboard(visit):
    levels = [[node(i, 10) for i in range(4)], [node(i, 5) for i in range(8)]]
    page = with_tree(visit, [[0, 4], [0, 2, 4, 6, 8]], levels)
    expect(page.locator(".tile")).to_have_count(4)
    boxes = {
        tile.get_attribute("data-key"): tile.bounding_box() for tile in page.locator(".tile").all()
    }
    first = min(boxes, key=lambda key: (boxes[key]["x"], boxes[key]["y"]))
    page.locator(f"[data-key='{first}']").focus()
    page.keyboard.press("ArrowRight")
    at = page.evaluate("document.activeElement.dataset.key")
    assert boxes[at]["x"] > boxes[first]["x"]
    page.keyboard.press("Enter")
    expect(page.locator(".tile")).to_have_count(2)
    expect(page.locator(".tile").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".tile")).to_have_count(4)
    expect(page.locator(f"[data-key='{at}']")).to_be_focused()


def test_escape_lets_go_of_a_topic_before_it_leaves_the_area(visit):
    page = with_tree(visit, [[0, 2]], [[node(i, 40) for i in range(2)]])
    page.route("**/v1/clusters/*", lambda route: route.fulfill(json=topics_of_an_area(4)))
    go_to(page, "map/1")
    page.locator(".tile", has_text="common 3").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".tile.found")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile(r"#map/1\?"))
    expect(page.locator(".tile.found")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.locator(".tile", has_text="a topic 1")).to_be_focused()


def test_an_area_that_is_not_there_is_named_and_all_areas_are_shown(visit):
    page = visit("map/99999", **STILL)
    expect(page.get_by_role("alert")).to_contain_text("There is no such area")
    expect(page.locator(".tile").first).to_be_visible()


def test_a_topic_of_the_map_shows_its_meanings_and_areas(visit, store):
    label = number_of(store, "tank")
    page = visit("map", **STILL)
    page.get_by_label("Find a topic on the map").fill("tank")
    page.get_by_label("Find a topic on the map").press("Enter")
    detail = page.locator("#map-detail")
    expect(detail.get_by_role("heading", name="tank", exact=True)).to_be_visible()
    for sense in store.current().tagger.senses("tank"):
        expect(detail.get_by_role("link", name=sense.name, exact=True)).to_be_visible()
    areas = detail.locator(f"a[href^='#map/'][href*='/{label}?']").filter(has_not_text="cloud")
    expect(areas).to_have_count(int(store.current().classifier.clusters_.copies[label]))
    areas.last.click()
    expect(page.locator(".tile.found")).to_contain_text("tank")


def test_topics_with_several_meanings_are_offered_where_nothing_is_chosen(visit, store):
    for part, address in (("map", r"#map/\d+/"), ("map/cloud", "#map/cloud/")):
        page = visit(part, **STILL)
        page.locator("#map-detail").get_by_role("button", name="tank", exact=True).click()
        expect(page).to_have_url(re.compile(f"{address}{number_of(store, 'tank')}"))
        expect(page.locator("#map-detail h3")).to_have_text("tank")


def test_a_word_that_is_wider_than_its_tile_is_cut_and_not_broken(visit):
    levels = [[node(i, 10, "Donaudampfschifffahrtsgesellschaftskapitän") for i in range(60)]]
    page = with_tree(visit, [[0, 60]], levels, viewport={"width": 390, "height": 800})
    shown = page.locator(".tile strong").first
    expect(shown).to_contain_text("…")
    assert shown.text_content().startswith("Donau")
