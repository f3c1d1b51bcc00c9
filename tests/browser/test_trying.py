"""Try, in a real browser: topics for a text, why, and what a person makes of them."""

from __future__ import annotations

import json
import re

import pytest

import polyseme
from polyseme.server.model_store import ModelStore
from tests.browser.acting import altered, marked, number_of, suggested, suggestion, type_text
from tests.web.conftest import BATTLE, TEXT, client_with
from tests.without_weights import without_weights

pytest.importorskip("playwright.sync_api", reason="There is no Playwright.")

from playwright.sync_api import expect

# Topics


def test_topics_appear_as_one_types(visit):
    page = visit("try")
    expect(page.get_by_text("Topics appear here as you type.")).to_be_visible()
    page.get_by_label("A text to find topics for").press_sequentially(TEXT, delay=2)
    expect(suggestion(page, "tank")).to_contain_text("%")
    page.get_by_role("button", name="Clear").click()
    expect(page.get_by_text("Topics appear here as you type.")).to_be_visible()


def test_a_lower_threshold_shows_more_topics_and_its_button_goes_back(visit):
    page = visit("try")
    type_text(page, BATTLE)
    expect(suggestion(page, "tank")).to_be_visible()
    topics, own = page.locator("li.suggestion"), page.locator("#threshold").input_value()
    n_likely = topics.count()
    page.get_by_label("Show topics that are at least this likely").fill("1")
    expect(page.locator("#threshold-shown")).to_have_text("1%")
    expect(topics.nth(n_likely)).to_be_visible()
    page.get_by_role("button", name="back to").click()
    expect(topics).to_have_count(n_likely)
    assert page.locator("#threshold").input_value() == own


def test_a_threshold_that_nothing_reaches_is_told_with_the_best_guess(visit):
    page = visit("try")
    answer = {"model": "demo", "suggestions": [{"label": 0, "name": "a guess", "score": 0.2}]}
    page.route("**/v1/suggest", lambda route: route.fulfill(json=answer))
    type_text(page)
    expect(page.locator("#suggestions .empty")).to_contain_text("The best guess is “a guess”, 20%")


def test_a_text_without_a_known_word_gets_no_topics(visit):
    page = visit("try")
    type_text(page, "Qwrtz plmkj xyvbn")
    expect(page.locator("#suggestions .empty")).to_contain_text("No known word")
    expect(page.locator("#known")).to_have_text("no known word")
    expect(page.locator("li.suggestion")).to_have_count(0)


def test_an_answer_that_comes_too_late_is_dropped(visit):
    page = visit("try")
    held = []

    def answer(route):
        if "late" in route.request.post_data_json["text"]:
            held.append(route)
        else:
            route.fulfill(json=suggesting("early bird"))

    page.route("**/v1/suggest", answer)
    with page.expect_request("**/v1/suggest"):
        type_text(page, "late")
    type_text(page, "other")
    expect(suggestion(page, "early bird")).to_be_visible()
    for route in held:
        route.fulfill(json=suggesting("late bird"))
    page.wait_for_timeout(100)
    expect(suggestion(page, "early bird")).to_be_visible()
    expect(suggestion(page, "late bird")).to_have_count(0)


def suggesting(name):
    return {"model": "demo", "suggestions": [{"label": 0, "name": name, "score": 0.9}]}


def test_where_asking_failed_nothing_is_said_of_topics(visit):
    page = visit("try")
    detail = {"status": 413, "json": {"detail": "This is too long."}}
    page.route("**/v1/suggest", lambda route: route.fulfill(**detail))
    page.locator("#text").fill("A text.")
    expect(page.get_by_role("alert")).to_contain_text("This is too long.")
    expect(page.locator("#suggestions")).to_contain_text("The message above says why")
    page.unroute("**/v1/suggest")
    page.locator("#text").fill(TEXT)
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(suggestion(page, "tank")).to_be_visible()
    page.complaints.clear()  # of the answer that was too long


def test_names_are_never_read_as_markup(visit):
    page = visit("try")
    name = "<img src=x onerror=alert(1)>"
    page.route("**/v1/suggest", lambda route: route.fulfill(json=suggesting(name)))
    type_text(page)
    expect(page.locator("#suggestions .name")).to_have_text(name)
    assert page.locator("main img").count() == 0


def test_samples_are_short_and_of_meanings_of_the_most_ambiguous_topics(visit, store):
    tagger = store.current().tagger
    texts = {
        sense.examples[0]
        for name, _ in tagger.most_ambiguous(3)
        for sense in tagger.senses(name)
        if sense.examples
    }
    page = visit("try")
    samples = page.locator(".sample")
    expect(samples.nth(1)).to_be_visible()
    assert {sample.get_attribute("title") for sample in samples.all()} <= texts
    assert max(map(len, samples.all_text_contents())) <= 44
    samples.first.click()
    expect(page.locator("#text")).to_have_value(samples.first.get_attribute("title"))
    expect(page.locator("li.suggestion").first).to_be_visible()


def test_without_held_out_texts_nothing_is_shown_in_percent(visit):
    def without(body):
        for model in body["models"]:
            model["has_probabilities"] = False

    page = visit()
    altered(page, "**/v1/models*", without)
    page.reload()
    type_text(page)
    expect(suggestion(page, "tank")).to_contain_text(re.compile(r"score \d"))
    suggestion(page, "tank").click()
    expect(page.locator(".why .chip").first).to_be_visible()
    assert "%" not in page.locator("#panel-try").inner_text()


# Why


def test_a_picked_topic_is_explained_by_meaning_and_words_marked_in_the_text(visit, store):
    senses = store.current().tagger.senses("tank")
    (war,) = [sense for sense in senses if "artillery" in dict(sense.labels)]
    page, text = visit("try"), "🛡️ " + BATTLE
    type_text(page, text)
    expect(suggested(page, "tank").locator(".sense-name")).to_have_text(f"as in {war.name}")
    suggestion(page, "tank").click()
    expect(page.locator(".sense-chosen")).to_have_text(f"Meant here: {war.name}. What tells:")
    words, topics = page.locator(".telling").all()
    assert {"army", "battle"} <= set(words.locator(".chip").all_text_contents())
    assert page.locator("#backdrop").text_content() == text + "\n"
    assert {"tank"} <= set(marked(page))
    page.get_by_role("button", name="its meaning").click()
    assert {"army", "battle"} <= set(marked(page))
    page.get_by_role("button", name="its area").click()
    expect(page.locator(".why .listed")).to_be_visible()
    topics.get_by_role("link", name="siege").click()
    expect(page.get_by_role("heading", name="siege", exact=True)).to_be_visible()


def test_nothing_speaks_of_meanings_or_machinery_where_a_topic_has_one_meaning(visit):
    page = visit("try")
    type_text(page, BATTLE)
    suggestion(page, "siege").click()
    why = suggested(page, "siege").locator(".why")
    expect(why.get_by_role("link", name="All about “siege”")).to_be_visible()
    said = why.inner_text().lower()
    assert not any(word in said for word in ("meaning", "sense", "slot", "cluster", "part "))
    why.get_by_role("link", name="Show on the map").click()
    expect(page.locator(".tile.found")).to_contain_text("siege")


def test_the_slider_leaves_an_explanation_open(visit):
    page, asked = visit("try"), []
    type_text(page, BATTLE)
    suggestion(page, "tank").click()
    page.get_by_text("What made it this likely").click()
    page.on("request", lambda request: asked.append(request.url))
    page.locator("#threshold").fill("5")
    expect(page.locator("#threshold-shown")).to_have_text("5%")
    expect(page.locator(".order p")).to_be_visible()
    assert asked == []


def test_marks_leave_the_text_in_one_piece(visit):
    page = visit("try")
    type_text(page, BATTLE)
    suggestion(page, "tank").click()
    expect(page.locator("#backdrop")).to_have_text(BATTLE)
    assert marked(page)  # cut into pieces, it could break into other lines than what is typed
    assert page.locator("#backdrop").evaluate("one => one.childNodes.length") == 1


def test_a_meaning_that_nothing_tells_is_said_to_be_so(visit):
    def silence(body):
        body["labels"][0]["sense"].update(words=[], labels=[])

    page = visit("try")
    altered(page, "**/v1/explain", silence)
    type_text(page, BATTLE)
    suggestion(page, "tank").click()
    expect(page.locator(".sense-chosen")).to_contain_text("Nothing in the text tells it")
    expect(page.locator(".telling")).to_have_count(0)


def test_what_made_a_topic_likely_is_told_by_what_counted(visit):
    page = visit("try")
    type_text(page, BATTLE)
    with page.expect_response("**/v1/explain") as response:
        suggestion(page, "tank").click()
    order = response.value.json()["labels"][0]["order"]
    page.get_by_text("What made it this likely").click()
    expect(page.locator(".order p")).to_have_text(order["sentence"])
    counted = [one for one in order["effects"] if abs(one["amount"]) >= 0.05]
    items = page.locator(".effects li")
    expect(items).to_have_text([one["sentence"] for one in counted])
    directions = ["for" if one["amount"] > 0 else "against" for one in counted]
    assert [item.get_attribute("class") for item in items.all()] == directions


def test_the_explanation_follows_the_text(visit):
    page = visit("try")
    type_text(page)
    suggestion(page, "tank").click()
    expect(page.locator("#backdrop")).to_have_text(TEXT)
    assert marked(page)
    type_text(page, TEXT + " Armour and tank.")
    expect(page.locator("#backdrop")).to_have_text(re.compile("Armour and tank"))


def test_a_model_without_weights_is_shown_without_words(visit, store):
    bare = ModelStore({"demo": store.current().path}, load=_load_without_weights)
    with client_with(bare) as client:
        at = str(client.base_url).rstrip("/")
        page = visit("try", at=at)
        type_text(page)
        suggestion(page, "tank").click()
        expect(page.get_by_text("this model has no weights to show")).to_be_visible()
        page = visit(f"meanings/{number_of(bare, 'siege')}", at=at)
        expect(page.get_by_text("No word speaks for it.").first).to_be_visible()
        page = visit("map/0", at=at)
        expect(page.get_by_text("None are known.")).to_be_visible()
        expect(page.locator(".tile").first).to_be_visible()
        page = visit("map/cloud", at=at)
        expect(page.get_by_text("no weights that could tell")).to_be_visible()


def _load_without_weights(path, n_jobs):
    model = polyseme.load(path, n_jobs=n_jobs)
    without_weights(model.classifier_)
    return model


# Decisions


def test_one_key_accepts_or_rejects_a_topic_and_goes_on(visit):
    page = visit("try")
    type_text(page, BATTLE)
    expect(suggestion(page, "tank")).to_be_visible()
    picks = page.locator("li.suggestion .pick")
    picks.first.focus()
    page.keyboard.press("a")
    expect(picks.nth(1)).to_be_focused()
    page.keyboard.press("r")
    lines = page.locator("li.suggestion")
    expect(lines.first).to_have_class(re.compile("accepted"))
    expect(lines.nth(1)).to_have_class(re.compile("rejected"))
    expect(page.locator("#review")).to_contain_text(
        "Reviewed: 1 text, 1 topic accepted, 1 rejected."
    )
    with page.expect_download() as saved:
        page.locator("#review").get_by_role("button", name="Download").click()
    (line,) = saved.value.path().read_text(encoding="utf-8").splitlines()
    names = page.locator("li.suggestion .name").all_text_contents()
    assert json.loads(line) == {"text": BATTLE, "labels": [names[0]], "rejected": [names[1]]}
    assert page.get_by_role("button", name="Teach the model").count() == 0
    picks.first.focus()
    page.keyboard.press("a")
    page.keyboard.press("ArrowUp")
    picks.nth(1).focus()
    page.keyboard.press("r")
    expect(page.locator("#review")).to_be_hidden()


def test_decisions_stay_with_their_text_when_another_is_pasted_over_it(visit):
    page = visit("try")
    type_text(page, BATTLE)
    suggested(page, "tank").get_by_role("button", name="accept tank").click()
    edited = BATTLE + " And more."
    type_text(page, edited)
    expect(suggested(page, "tank")).to_have_class(re.compile("accepted"))
    type_text(page, TEXT)
    expect(suggested(page, "tank")).not_to_have_class(re.compile("accepted"))
    expect(page.locator("#review")).to_contain_text("Reviewed: 1 text, 1 topic accepted.")
    with page.expect_download() as saved:
        page.locator("#review").get_by_role("button", name="Download").click()
    (line,) = saved.value.path().read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {"text": edited, "labels": ["tank"], "rejected": []}


def test_reviewed_texts_are_sent_where_the_server_takes_them(visit):
    page, sent = visit(), []

    def answer(route):
        sent.append(route.request.post_data_json)
        done = {"model": "demo", "n_documents": 1, "n_labels": 0, "full_training_due": []}
        route.fulfill(json=done)

    page.route("**/v1/update", answer)
    allow_updates(page)
    type_text(page, BATTLE)
    suggested(page, "tank").get_by_role("button", name="accept tank").click()
    page.get_by_role("button", name="Teach the model").click()
    expect(page.locator("#review")).to_contain_text("The model has learned 1 text.")
    assert sent == [{"documents": [{"text": BATTLE, "labels": ["tank"]}], "model": "demo"}]
    expect(suggested(page, "tank")).not_to_have_class(re.compile("accepted"))


def test_decisions_do_not_follow_a_text_that_is_written_over_letter_by_letter(visit):
    page = visit("try")
    type_text(page, BATTLE)
    suggested(page, "tank").get_by_role("button", name="accept tank").click()
    page.locator("#text").select_text()
    page.locator("#text").press_sequentially(BATTLE[0] + "nother text on bridges")
    with page.expect_download() as saved:
        page.locator("#review").get_by_role("button", name="Download").click()
    (line,) = saved.value.path().read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["text"] == BATTLE
    type_text(page, BATTLE)  # whoever comes back finds what was decided
    expect(suggested(page, "tank")).to_have_class(re.compile("accepted"))


def allow_updates(page):
    def allow(body):
        body["models"][0]["takes_updates"] = True

    altered(page, "**/v1/models*", allow)
    page.reload()


def test_what_is_decided_while_the_model_learns_is_kept(visit):
    page, held = visit(), []
    allow_updates(page)
    page.route("**/v1/update", lambda route: held.append(route))
    type_text(page, BATTLE)
    suggested(page, "tank").get_by_role("button", name="accept tank").click()
    page.get_by_role("button", name="Teach the model").click()
    expect(page.get_by_role("button", name="Learning …")).to_be_disabled()
    page.get_by_role("button", name="Next text").click()
    type_text(page, TEXT)
    suggested(page, "tank").get_by_role("button", name="accept tank").click()
    done = {"model": "demo", "n_documents": 1, "n_labels": 0, "full_training_due": []}
    held[0].fulfill(json=done)
    expect(page.locator("#review")).to_contain_text("The model has learned 1 text.")
    with page.expect_download() as saved:
        page.locator("#review").get_by_role("button", name="Download").click()
    (line,) = saved.value.path().read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["text"] == TEXT


def test_reviewed_texts_outlive_another_model_and_a_new_page(visit):
    page = visit("try")
    type_text(page, BATTLE)
    suggested(page, "tank").get_by_role("button", name="accept tank").click()
    page.get_by_label("Model").select_option("plain")
    expect(page.locator("#try-unable")).to_be_visible()
    page.get_by_label("Model").select_option("demo")
    expect(page.locator("#review")).to_contain_text("Reviewed: 1 text, 1 topic accepted.")
    page.reload()
    expect(page.locator("#review")).to_contain_text("Reviewed: 1 text, 1 topic accepted.")


def test_nobody_decides_on_a_text_by_the_topics_of_another(visit):
    page = visit("try")
    type_text(page, BATTLE)
    expect(suggestion(page, "tank")).to_be_visible()
    held = []
    page.route("**/v1/suggest", lambda route: held.append(route))
    with page.expect_request("**/v1/suggest"):
        type_text(page, "A completely different text about fishing.")
    expect(page.locator("#suggestions")).to_have_class(re.compile("stale"))
    suggested(page, "tank").get_by_role("button", name="accept tank").click()
    expect(page.locator("#review")).to_be_hidden()
    held[0].continue_()
    expect(page.locator("#suggestions")).not_to_have_class(re.compile("stale"))


def test_topics_are_copied_as_names_and_json_without_rejected_ones(visit):
    page = visit("try", permissions=["clipboard-read", "clipboard-write"])
    type_text(page, BATTLE)
    suggested(page, "siege").get_by_role("button", name="reject siege").click()
    names = [name for name in page.locator("li .name").all_text_contents() if name != "siege"]
    page.get_by_role("button", name="Names").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").split("\n") == names
    page.get_by_role("button", name="JSON").click()
    expect(page.get_by_role("button", name="Copied").first).to_be_visible()
    found = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert [one["name"] for one in found] == names
    assert page.get_by_role("button", name="URIs").count() == 0  # they have none


def test_topics_that_have_uris_are_copied_by_them(visit):
    page = visit("try", permissions=["clipboard-read", "clipboard-write"])
    answer = suggesting("tank")
    answer["suggestions"][0]["uri"] = "http://example.org/tank"
    page.route("**/v1/suggest", lambda route: route.fulfill(json=answer))
    type_text(page)
    page.get_by_role("button", name="URIs").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "http://example.org/tank"


# Keys


def test_all_of_trying_works_by_keyboard(visit):
    page = visit("try")
    page.get_by_label("A text to find topics for").focus()
    page.keyboard.type(TEXT)
    expect(suggestion(page, "tank")).to_be_visible()
    for _ in range(4):  # files, next text, slider
        page.keyboard.press("Tab")
    expect(page.locator("li.suggestion .pick").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("li.suggestion .pick").first).to_have_attribute("aria-expanded", "true")


def test_one_key_goes_from_the_text_to_the_topics_and_another_back(visit):
    page = visit("try")
    type_text(page, BATTLE)
    expect(suggestion(page, "tank")).to_be_visible()
    page.locator("#text").focus()
    page.keyboard.press("Control+Enter")
    expect(page.locator("li.suggestion .pick").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    expect(page.locator("#text")).to_be_focused()
    expect(page.locator("#text")).to_have_value(BATTLE)
