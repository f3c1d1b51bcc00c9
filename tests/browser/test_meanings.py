"""Meanings in a real browser: topics, and what they mean."""

from __future__ import annotations

import re

import pytest

from tests.browser.acting import altered, go_to, number_of

pytest.importorskip("playwright.sync_api", reason="There is no Playwright.")

from playwright.sync_api import expect


def test_the_most_ambiguous_topic_is_shown_at_once(visit):
    page = visit("meanings")
    expect(page.get_by_role("heading", name="Most ambiguous")).to_be_visible()
    first = page.locator("#found a").first
    expect(first).to_have_attribute("aria-current", "true")
    name = first.locator(".name").text_content()
    expect(page.locator("#label h3")).to_have_text(name)
    expect(page.locator("article.sense").nth(1)).to_be_visible()


def test_meanings_stand_side_by_side_under_their_names(visit, store):
    page = visit("meanings")
    expect(page.locator("#found a").nth(3)).to_contain_text(re.compile(r"\d% sure"))
    page.get_by_label("Find a topic", exact=True).fill("tank")
    page.locator("#found a").filter(has_text="tank").first.click()
    expect(page.locator("#label h3")).to_have_text("tank")
    meanings = page.locator("article.sense")
    expect(meanings).to_have_count(2)
    expect(page.locator("#how-sure")).to_contain_text("sure that it has several")
    described = store.current().tagger.senses("tank")
    assert meanings.locator("h4").all_text_contents() == [sense.name for sense in described]
    for part in ("h4", "h5 >> nth=0", "blockquote >> nth=0"):  # all are level with each other
        tops = [meaning.locator(part).bounding_box()["y"] for meaning in meanings.all()]
        assert tops[0] == pytest.approx(tops[1], abs=1)
    for meaning in meanings.all():
        expect(meaning).to_contain_text(re.compile(r"\d+% of its texts"))
        assert meaning.locator(".weights li").count() > 3
        assert meaning.locator("a.chip").count() > 0
    meanings.first.locator("a.chip").first.click()
    expect(page.locator("#label h3")).not_to_have_text("tank")
    page.go_back()
    expect(page.locator("#label h3")).to_have_text("tank")


def test_words_that_tell_meanings_apart_are_marked_in_their_texts(visit, store):
    page = visit(f"meanings/{number_of(store, 'tank')}")
    for place, meaning in enumerate(page.locator("article.sense").all()):
        words = set(meaning.locator(".weights .name").all_text_contents())
        own = meaning.locator(f"mark.tone-{place + 1}").all_text_contents()
        assert own
        assert {word.lower() for word in own} <= words


def test_a_topic_with_one_meaning_is_shown_plainly(visit, store):
    page = visit(f"meanings/{number_of(store, 'siege')}")
    expect(page.locator("#label h3")).to_have_text("siege")
    expect(page.locator("article.sense")).to_have_count(0)
    meaning = page.locator("article.meaning")
    assert meaning.locator(".weights li").count() > 3
    assert meaning.locator("a.chip").count() > 0
    assert meaning.locator("blockquote").count() > 0
    assert "meaning" not in page.locator("#label").inner_text().lower()


def test_an_address_from_before_still_leads_to_its_topic(visit, store):
    page = visit(f"senses/{number_of(store, 'tank')}")
    expect(page.locator("#label h3")).to_have_text("tank")


@pytest.mark.parametrize(("number", "sentence"), [("abc", "not the number"), ("9999", "no label")])
def test_an_address_of_no_topic_is_said_to_be_so(visit, number, sentence):
    page = visit(f"meanings/{number}")
    expect(page.locator("#found a").nth(3)).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text(sentence)
    page.complaints.clear()  # of the number that the server does not know


def test_what_told_meanings_apart_is_said_where_texts_have_one_topic_each(visit, store):
    page = visit("quality")
    altered(page, "**/v1/labels/*", lambda body: body.update(evidence="text"))
    go_to(page, f"meanings/{number_of(store, 'tank')}")
    expect(page.locator("#evidence")).to_contain_text("by their words alone")
    go_to(page, f"meanings/{number_of(store, 'siege')}")
    expect(page.locator("article.meaning")).to_be_visible()
    expect(page.locator("#evidence")).to_have_count(0)


@pytest.mark.parametrize(
    ("senses", "sentence"),
    [
        (None, "This model was trained without looking for meanings."),
        ({"n_judged_labels": 40, "n_ambiguous_labels": 0}, "None of the 40 topics with enough"),
        ({"n_judged_labels": 0, "n_ambiguous_labels": 0}, "Every topic has too few texts"),
    ],
)
def test_where_no_topic_is_ambiguous_the_page_says_why_and_lists_others(visit, senses, sentence):
    def without(body):
        for model in body["models"]:
            model["senses"] = senses

    page = visit()
    altered(page, "**/v1/models*", without)
    page.reload()
    expect(page.locator(".sample").first).to_be_visible()
    page.get_by_role("link", name="Meanings", exact=True).click()
    expect(page.get_by_role("heading", name="Most frequent")).to_be_visible()
    expect(page.locator("#found-help")).to_contain_text(sentence)
    expect(page.locator("#found a").nth(3)).to_be_visible()


def test_a_model_without_meanings_shows_its_topics_plainly(visit):
    page = visit("meanings")
    expect(page.locator("#found a").first).to_be_visible()
    page.get_by_label("Model").select_option("plain")
    expect(page.get_by_role("heading", name="Most frequent")).to_be_visible()
    expect(page.get_by_role("heading", name="Topics near it")).to_be_visible()
    expect(page.get_by_text("The model keeps no texts for it.")).to_be_visible()


def test_a_search_without_a_hit_says_so(visit):
    page = visit("meanings")
    page.get_by_label("Find a topic", exact=True).fill("zzz")
    expect(page.get_by_text("No topic has “zzz” in its name.")).to_be_visible()


def test_a_topic_leads_to_its_place_on_the_map(visit, store):
    page = visit(f"meanings/{number_of(store, 'tank')}")
    page.get_by_role("link", name="Show on the map").click()
    expect(page.locator(".tile.found")).to_contain_text("tank")
    expect(page.locator("#map-detail h3")).to_have_text("tank")


def test_topics_without_a_name_wait_behind_a_button(visit, store):
    def unname(body):
        for one in body["senses"][0]["labels"][1:]:
            one["name"] = f"gnd:40{one['label']:05d}-1"

    page = visit("quality")
    altered(page, re.compile(r"v1/labels/\d+"), unname)
    go_to(page, f"meanings/{number_of(store, 'tank')}")
    chips = page.locator("article.sense").first.locator("a.chip")
    expect(chips).to_have_count(1)
    more = page.get_by_role("button", name="without a name")
    n_hidden = int(re.search(r"\d+", more.text_content())[0])
    more.click()
    expect(chips).to_have_count(1 + n_hidden)
    expect(chips.nth(1)).to_contain_text("gnd:")
    expect(chips.nth(1)).to_be_focused()


def test_what_a_vocabulary_says_of_a_topic_is_shown(visit, store):
    siege = number_of(store, "siege")

    def tell(body):
        body["other_names"], body["notations"] = ["armoured vehicle"], ["623.4"]
        body["broader"] = [{"label": siege, "name": "siege", "uri": "http://example.org/siege"}]
        body["narrower"] = [{"label": None, "name": "light tank", "uri": "http://example.org/l"}]

    page = visit("quality")
    altered(page, re.compile(f"v1/labels/{number_of(store, 'tank')}"), tell)
    go_to(page, f"meanings/{number_of(store, 'tank')}")
    expect(page.locator("#other-names")).to_have_text(
        "Also called armoured vehicle. Notation 623.4."
    )
    related = page.locator(".related")
    expect(related.locator("dt")).to_have_text(["Broader", "Narrower"])
    expect(related.get_by_text("light tank")).to_be_visible()
    assert related.get_by_role("link", name="light tank").count() == 0  # it is no topic
    related.get_by_role("link", name="siege").click()
    expect(page.locator("#label h3")).to_have_text("siege")
    expect(page.locator(".related")).to_have_count(0)


def test_a_hit_says_by_which_other_name_it_was_found_and_what_tells_it_from_its_namesake(visit):
    def rename(body):
        first, second, third = body["labels"] = body["labels"][:3]
        first.update(name="Bank", uri="urn:river")
        second.update(name="Bank", uri="urn:money")
        third.update(name="Ferry", uri="urn:ferry", found_as="Bankboot")

    page = visit("quality")
    altered(page, "**/v1/labels?*", rename)
    page.get_by_role("link", name="Meanings", exact=True).click()
    expect(page.locator("#found .beneath-name")).to_have_text(
        ["urn:river", "urn:money", "Bankboot"]
    )
