"""The page with a model whose backbone has no weights to show."""

import pytest

from polyseme import TextModel
from polyseme.demo import make_corpus
from polyseme.server.model_store import ModelStore
from tests import toy_backbone
from tests.web.conftest import client_with

TEXT = make_corpus(500, seed=0).texts[0]


@pytest.fixture(scope="module")
def toy_address(tmp_path_factory):
    folder, corpus = tmp_path_factory.mktemp("models") / "toy", make_corpus(500, seed=0)
    with toy_backbone.installed(tmp_path_factory.mktemp("package")) as centroids:
        classifier = centroids(branching=8, max_leaf_size=16, beam_size=4, verbose=0)
        TextModel(classifier=classifier, verbose=0).fit(corpus.texts, corpus.labels).save(folder)
        with client_with(ModelStore({"toy": folder})) as client:
            yield str(client.base_url).rstrip("/")


@pytest.mark.parametrize("part", ["try", "meanings", "map", "map/cloud", "quality"])
def test_every_part_of_the_page_shows_it(visit, toy_address, part):
    page = visit(part, at=toy_address)
    page.wait_for_load_state("networkidle")
    if part == "try":
        page.get_by_label("A text to find topics for").fill(TEXT)
        page.locator(".pick").first.click()
        page.wait_for_selector(".why p")
        page.wait_for_load_state("networkidle")
    text = page.locator("main").inner_text()
    assert "undefined" not in text
    assert "NaN" not in text
    assert len(text) > 100
