"""A browser, a server with two models, and pages that must not complain."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from polyseme import TextModel, XRLinear
from polyseme.demo import make_corpus
from polyseme.server.model_store import ModelStore
from tests.browser.chromium import find_chromium, launch_options
from tests.small_data import topics
from tests.web.conftest import client_with

PATIENCE = 20_000  # milliseconds; nothing takes that long unless the machine is busy
HOW = "install one with: apt-get install chromium"


@pytest.fixture(scope="package")
def browser():
    """Ends with this package: while it runs, no other event loop can run in this thread."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="There is no Playwright; install it with: pip install .[dev]"
    )
    path = find_chromium()
    if path is None:
        pytest.skip(f"There is no Chromium, so the page is not tested; {HOW}.")
    sync_api.expect.set_options(timeout=PATIENCE)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(**launch_options(path))
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def store(tmp_path_factory):
    """A model of texts with a tree of two levels, and one of features without names and senses."""
    folder = tmp_path_factory.mktemp("models")
    corpus = make_corpus(1500, seed=0)
    classifier = XRLinear(
        copies=2, branching=8, max_leaf_size=16, beam_size=3, assignment="coverage", verbose=0
    )
    model = TextModel(classifier=classifier, verbose=0)
    model.fit(corpus.texts, corpus.labels).save(folder / "demo")
    data = topics()
    plain = XRLinear(max_leaf_size=4, senses="none", verbose=0)
    plain.fit(data.X, data.Y).save(folder / "plain")
    return ModelStore({"demo": folder / "demo", "plain": folder / "plain"})


@pytest.fixture(scope="package")
def address(store):
    with client_with(store) as client:
        yield str(client.base_url).rstrip("/")


@pytest.fixture
def visit(browser, address):
    """Return a function that opens the page; what the console complains of fails the test.

    ``page.complaints`` is the list of these, for tests that provoke some.
    """
    pages = []
    with ExitStack() as stack:

        def open_page(part="", at=address, **options):
            context = stack.enter_context(browser.new_context(**options))
            context.set_default_timeout(PATIENCE)
            page = context.new_page()
            page.complaints, page.hosts = [], set()
            page.on(
                "console",
                lambda message: (
                    page.complaints.append(message.text)
                    if message.type in ("error", "warning")
                    else None
                ),
            )
            page.on("pageerror", lambda error: page.complaints.append(str(error)))
            page.on("request", lambda request: page.hosts.add(request.url.split("/")[2]))
            page.goto(f"{at}/#{part}")
            pages.append((page, at.split("/")[2]))
            return page

        yield open_page
        for page, host in pages:
            assert page.complaints == []
            assert page.hosts == {host}
