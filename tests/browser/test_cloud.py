"""The cloud of the map in a real browser."""

from __future__ import annotations

import re

import pytest

from tests.browser.acting import number_of

pytest.importorskip("playwright.sync_api", reason="There is no Playwright.")

from playwright.sync_api import expect

STILL = {"reduced_motion": "reduce"}
TRANSFORM = "import('./page/map.js').then(map => ({ ...map.theCloud().transform }))"


def test_the_cloud_draws_topics_and_flies_to_one(visit, store):
    page = visit("map/cloud", **STILL)
    expect(page.locator("canvas").first).to_be_visible()
    expect(page.locator("#map-status")).to_contain_text(
        f"{store.current().classifier.n_labels_} topics"
    )
    colours = page.evaluate(
        """() => {
            const canvas = document.querySelector("canvas");
            const { width, height } = canvas;
            const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
            return new Set(new Uint32Array(data.buffer)).size;
        }"""
    )
    assert colours > 3
    page.get_by_label("Find a topic on the map").fill("tank")
    page.locator("#map-hits button").first.click()
    expect(page).to_have_url(re.compile(f"#map/cloud/{number_of(store, 'tank')}"))
    expect(page.locator("#map-detail h3")).to_have_text("tank")
    zoomed = page.evaluate("import('./page/map.js').then(map => map.theCloud().transform.k)")
    assert zoomed > 1
    page.get_by_role("button", name="Show all").click()
    zoomed = page.evaluate("import('./page/map.js').then(map => map.theCloud().transform.k)")
    assert zoomed == 1


def test_the_cloud_is_drawn_with_every_pixel_of_the_screen_once_it_stands_still(visit, store):
    page = visit("map/cloud", device_scale_factor=2)
    expect(page.locator("canvas")).to_be_visible()
    ratio = "import('./page/map.js').then(map => map.theCloud().ratio)"
    assert page.evaluate(ratio) == 2
    during, after = page.evaluate(
        """async (label) => {
            const cloud = (await import("./page/map.js")).theCloud();
            cloud.choose(label);
            const frame = () => new Promise(requestAnimationFrame);
            while (!cloud.isMoving) await frame();
            await frame();
            await frame();
            const during = cloud.points.width / cloud.width;
            while (cloud.isMoving) await frame();
            await frame();
            await frame();
            return [during, cloud.points.width / cloud.width];
        }""",
        number_of(store, "tank"),
    )
    assert (during, after) == pytest.approx((1, 2), rel=0.01)


def test_a_point_of_the_cloud_can_be_chosen(visit):
    page = visit("map/cloud", **STILL)
    expect(page.locator("canvas").first).to_be_visible()
    x, y, name = page.evaluate(
        """async () => {
            const cloud = (await import("./page/map.js")).theCloud();
            const { wide, high, left, top } = cloud.view();
            return [left + wide * cloud.x[0], top + high * cloud.y[0], cloud.plane.names[0]];
        }"""
    )
    page.locator("canvas").first.hover(position={"x": x, "y": y})
    expect(page.locator(".tip")).to_have_text(name)
    page.locator("canvas").first.click(position={"x": x, "y": y})
    expect(page.locator("#map-detail h3")).to_have_text(name)


def cloud_about(visit, store, name="tank", **options):
    """Return the page with a chosen topic in the cloud."""
    page = visit(f"map/cloud/{number_of(store, name)}", **{**STILL, **options})
    expect(page.locator("#map-detail h3")).to_have_text(name)
    return page


def test_the_tip_does_not_stay_where_the_cloud_is_zoomed(visit):
    page = visit("map/cloud", **STILL)
    expect(page.locator("canvas")).to_be_visible()
    x, y = page.evaluate(
        """async () => {
            const cloud = (await import("./page/map.js")).theCloud();
            const { wide, high, left, top } = cloud.view();
            return [left + wide * cloud.x[0], top + high * cloud.y[0]];
        }"""
    )
    page.locator("canvas").hover(position={"x": x, "y": y})
    expect(page.locator(".tip")).to_be_visible()
    page.mouse.wheel(0, -300)
    expect(page.locator(".tip")).not_to_be_visible()


def test_a_click_on_empty_ground_or_escape_lets_go_of_the_topic(visit, store):
    page = cloud_about(visit, store)
    address = page.url
    page.locator("canvas").click(position={"x": 2, "y": 2})
    expect(page.locator("#map-detail h3")).to_have_text("All topics")
    expect(page).to_have_url(re.compile(r"#map/cloud\?"))
    page.goto(address)
    expect(page.locator("#map-detail h3")).to_have_text("tank")
    page.locator("canvas").press("Escape")
    expect(page.locator("#map-detail h3")).to_have_text("All topics")


def test_the_chosen_topic_stays_chosen_in_the_other_kind_of_map(visit, store):
    page = cloud_about(visit, store)
    page.get_by_role("button", name="Areas", exact=True).click()
    expect(page.locator(".tile.found")).to_contain_text("tank")
    page.get_by_role("button", name="Cloud", exact=True).click()
    expect(page).to_have_url(re.compile(f"#map/cloud/{number_of(store, 'tank')}"))


def test_each_meaning_of_a_topic_has_its_own_place_in_the_cloud(visit, store):
    page = cloud_about(visit, store)
    links = page.locator("#map-detail a[href*='map/cloud/']")
    expect(links).to_have_count(2)
    places = []
    for link in links.all():
        link.click()
        expect(page).to_have_url(re.compile(f"{re.escape(link.get_attribute('href'))}$"))
        places.append(page.evaluate(TRANSFORM))
    assert places[0] != places[1]


def test_every_meaning_of_the_chosen_topic_has_a_caption_beside_its_circle(visit, store):
    for size in ((1440, 900), (390, 844)):
        viewport = dict(zip(("width", "height"), size, strict=True))
        page = cloud_about(visit, store, viewport=viewport)
        written, circle = page.evaluate(
            """async () => {
                const cloud = (await import("./page/map.js")).theCloud(), written = {};
                const { left, top, wide, high } = cloud.view();
                const i = cloud.indexOf.get(cloud.chosen);
                const context = cloud.points.getContext("2d"), { fillText } = context;
                context.fillText = (name, x, y) => {
                    const half = context.measureText(name).width / 2;
                    written[name] = [x - half, y - 9, x + half, y + 3];
                };
                cloud.draw();
                context.fillText = fillText;
                return [written, [left + wide * cloud.x[i], top + high * cloud.y[i]]];
            }"""
        )
        x, y = circle
        for name in ("tank", *(sense.name for sense in store.current().tagger.senses("tank"))):
            left, top, right, bottom = written[name if len(name) <= 34 else f"{name[:33]}…"]
            assert not (left < x + 8 and right > x - 8 and top < y + 8 and bottom > y - 8)


def test_keys_move_and_zoom_the_cloud(visit):
    page = visit("map/cloud", **STILL)
    canvas = page.locator("canvas")
    canvas.press("+")
    before = page.evaluate(TRANSFORM)
    assert before["k"] > 1
    canvas.press("ArrowRight")
    canvas.press("ArrowDown")
    after = page.evaluate(TRANSFORM)
    assert after["x"] < before["x"]
    assert after["y"] < before["y"]
    canvas.press("-")
    assert page.evaluate(TRANSFORM)["k"] == pytest.approx(1)


def test_one_finger_scrolls_the_page_and_two_zoom_the_cloud(visit):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = visit("map/cloud", **phone, **STILL)
    expect(page.locator("canvas")).to_be_visible()
    fingers = page.context.new_cdp_session(page)
    pinch = {"x": 190, "y": 600, "scaleFactor": 2}
    fingers.send("Input.synthesizePinchGesture", pinch)
    before = page.evaluate(TRANSFORM)
    assert before["k"] > 1.2
    assert page.evaluate("visualViewport.scale") == 1
    for kind, y in (("Start", 600), *(("Move", 600 - 20 * step) for step in range(9))):
        points = [{"x": 190, "y": y}]
        fingers.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})
    fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_timeout(300)
    assert page.evaluate("scrollY") > 50
    assert page.evaluate(TRANSFORM) == before


def test_it_is_said_what_the_colours_of_the_cloud_mean(visit):
    page = visit("map/cloud", **STILL)
    areas = page.locator("#map-detail li", has=page.locator(".colour"))
    expect(areas.nth(1)).to_be_visible()
    areas.first.get_by_role("link").click()
    expect(page.locator(".tile").first).to_be_visible()
