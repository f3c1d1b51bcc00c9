"""What tests do with the page."""

from __future__ import annotations

import re

from tests.web.conftest import TEXT


def type_text(page, text=TEXT):
    page.get_by_label("A text to find topics for").fill(text)


def suggestion(page, name):
    """Return the button of a suggested topic."""
    return suggested(page, name).locator(".pick")


def suggested(page, name):
    """Return all of a suggested topic: its button, decisions, and why."""
    has_name = page.locator(".name", has_text=re.compile(f"^{name}$"))
    return page.locator("#suggestions li.suggestion").filter(has=has_name)


def marked(page, kind="for"):
    """Return the words of the text that are marked as speaking for, or against, a topic."""
    return page.evaluate(
        """kind => [...CSS.highlights].filter(([name]) => name.startsWith(kind)).flatMap(
            ([, ranges]) => [...ranges].map(({ startContainer: run, startOffset, endOffset }) =>
                run.data.slice(startOffset, endOffset)))""",
        kind,
    )


def number_of(store, name):
    return store.current().tagger.label_number(name)


def altered(page, path, change):
    """Let the page get answers that `change` has changed."""

    def answer(route):
        body = route.fetch().json()
        change(body)
        route.fulfill(json=body)

    page.route(path, answer)


def go_to(page, part):
    page.goto(page.url.split("#")[0] + f"#{part}")
