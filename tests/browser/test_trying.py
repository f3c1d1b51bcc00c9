"""Try, in a real browser: labels for a text, and why."""

from __future__ import annotations

import re

import pytest

import polyseme
from polyseme.server.model_store import ModelStore
from tests.browser.acting import altered, number_of, suggestion, type_text
from tests.web.conftest import BATTLE, TEXT, client_with
from tests.without_weights import without_weights

pytest.importorskip("playwright.sync_api", reason="There is no Playwright.")

from playwright.sync_api import expect


def test_labels_appear_as_one_types(visit):
    page = visit("try")
    expect(page.get_by_text("Labels appear here as you type.")).to_be_visible()
    page.get_by_label("A text to find labels for").press_sequentially(TEXT, delay=2)
    expect(suggestion(page, "tank")).to_contain_text("%")
    page.get_by_label("A text to find labels for").fill("")
    expect(page.locator("#suggestions button")).to_have_count(0)


def test_a_picked_label_is_explained_by_sense_words_and_way(visit):
    page = visit("try")
    text = "🛡️ " + BATTLE
    type_text(page, text)
    suggestion(page, "tank").click()
    expect(page.get_by_role("heading", name="Why “tank”?")).to_be_visible()
    assert page.locator(".marked").text_content() == text
    marked = page.locator(".marked mark.for").all_text_contents()
    assert {"tank"} <= set(marked)
    steps = page.locator(".path button")
    expect(steps.filter(has_text="“tank”")).to_have_attribute("aria-pressed", "true")
    expect(steps.filter(has_text="Cluster")).to_have_count(1)
    steps.first.click()
    expect(steps.first).to_have_attribute("aria-pressed", "true")
    assert page.locator(".marked").text_content() == text
    steps.filter(has_text="its sense").click()
    assert {"army", "battle"} <= set(page.locator(".marked mark.for").all_text_contents())


def test_a_label_with_several_senses_is_suggested_and_explained_in_one(visit, store):
    senses = store.current().tagger.senses("tank")
    (war,) = [sense for sense in senses if "artillery" in dict(sense.labels)]
    page = visit("try")
    type_text(page, BATTLE)
    expect(suggestion(page, "tank").locator(".name")).to_have_text(f"tank · {war.name}")
    suggestion(page, "tank").click()
    expect(page.locator(".sense-chosen")).to_have_text(f"Here in the sense {war.name}, told by:")
    words, labels = page.locator(".telling").all()
    assert {"army", "battle"} <= set(words.locator(".chip").all_text_contents())
    assert "the" not in words.locator(".chip").all_text_contents()[:4]  # the strongest
    expect(labels).to_contain_text("beside labels")
    labels.get_by_role("link", name="siege").click()
    expect(page.get_by_role("heading", name="siege", exact=True)).to_be_visible()


def test_a_sense_that_nothing_tells_is_said_to_be_so(visit):
    def silence(body):
        body["labels"][0]["sense"].update(words=[], labels=[])

    page = visit("try")
    altered(page, "**/v1/explain", silence)
    type_text(page, BATTLE)
    suggestion(page, "tank").click()
    expect(page.locator(".sense-chosen")).to_contain_text("nothing in the text tells it")
    expect(page.locator(".telling")).to_have_count(0)


def test_nothing_speaks_of_senses_where_a_label_has_one_meaning(visit):
    page = visit("try")
    type_text(page, BATTLE)
    expect(suggestion(page, "siege").locator(".name")).to_have_text("siege")
    suggestion(page, "siege").click()
    expect(page.get_by_role("heading", name="Why “siege”?")).to_be_visible()
    expect(page.locator(".way")).to_contain_text("to cluster")
    expect(page.get_by_role("link", name="All about “siege”")).to_be_visible()
    assert "sense" not in page.locator("#why").inner_text().lower()


def test_percent_is_for_probabilities_and_scores_are_plain_numbers(visit):
    page = visit("try")
    type_text(page)
    expect(suggestion(page, "tank")).to_contain_text(re.compile(r"\d%"))
    suggestion(page, "tank").click()
    steps = page.locator(".path button")
    expect(steps.filter(has_text="“tank”")).to_contain_text(re.compile(r"score \d\.\d"))
    for step in steps.filter(has_not_text="its sense").all():
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


def test_the_learned_order_is_explained_by_what_counted(visit):
    page = visit("try")
    with page.expect_response("**/v1/explain") as response:
        type_text(page, BATTLE)
        suggestion(page, "tank").click()
    order = response.value.json()["labels"][0]["order"]
    expect(page.locator(".order")).to_have_text(f"{order['sentence']} What counted there:")
    counted = [one for one in order["effects"] if abs(one["amount"]) >= 0.05]
    items = page.locator(".effects li")
    expect(items).to_have_text([one["sentence"] for one in counted])
    assert {"its own words speak more clearly" in one["sentence"] for one in counted} == {
        True,
        False,
    }
    directions = ["for" if one["amount"] > 0 else "against" for one in counted]
    assert [item.get_attribute("class") for item in items.all()] == directions
    expect(page.get_by_text("scores do not add up to it")).to_be_visible()


def test_a_label_that_nothing_moved_is_shown_with_its_place_alone(visit):
    def hush(body):
        for effect in body["labels"][0]["order"]["effects"]:
            effect["amount"] = 0.01

    page = visit("try")
    altered(page, "**/v1/explain", hush)
    type_text(page, BATTLE)
    suggestion(page, "tank").click()
    expect(page.locator(".order")).to_contain_text(re.compile(r"place 1 of \d+ candidates\."))
    expect(page.locator(".order")).not_to_contain_text("What counted")
    expect(page.locator(".effects li")).to_have_count(0)


def test_without_a_learned_order_nothing_is_said_of_one(visit):
    page = visit("try")
    altered(page, "**/v1/explain", lambda body: body["labels"][0].pop("order"))
    type_text(page)
    suggestion(page, "tank").click()
    expect(page.locator(".marked")).to_have_text(TEXT)
    expect(page.locator(".order")).to_have_count(0)
    expect(page.get_by_text("how often such scores were right")).to_be_visible()
    assert "order" not in page.locator("#why-content").inner_text()


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


def test_the_texts_to_begin_with_are_of_senses_of_the_most_ambiguous_labels(visit, store):
    tagger = store.current().tagger
    texts = {
        sense.examples[0]
        for name, _ in tagger.most_ambiguous(4)
        for sense in tagger.senses(name)
        if sense.examples
    }
    page = visit("try")
    expect(page.locator(".starter").nth(1)).to_be_visible()
    assert set(page.locator(".starter").all_text_contents()) <= texts


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
        scored = page.locator(".step").filter(has_text="score")
        expect(scored).to_have_count(2)  # only the cluster and the label have scores
        page = visit(f"senses/{number_of(bare, 'siege')}", at=at)
        expect(page.get_by_text("No word speaks for it.").first).to_be_visible()
        page = visit("map/0", at=at)
        expect(page.get_by_text("None are known.")).to_be_visible()
        expect(page.get_by_role("treeitem").first).to_be_visible()


def _load_without_weights(path, n_jobs):
    model = polyseme.load(path, n_jobs=n_jobs)
    without_weights(model.classifier_)
    return model
