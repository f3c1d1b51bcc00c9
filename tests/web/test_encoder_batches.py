"""Texts that wait together go through the encoder together."""

from __future__ import annotations

import asyncio

import pytest

from polyseme import TextModel, XTransformer
from polyseme.demo import make_corpus
from polyseme.server.metrics import ServerMetrics
from polyseme.server.model_store import ModelStore
from polyseme.server.served_model import Question
from polyseme.server.service import Service
from polyseme.server.settings import ServerSettings
from tests.tiny_encoders import need_libraries, table_folder

need_libraries()

CORPUS = make_corpus(600, seed=0)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    encoder = str(table_folder(place / "encoder", CORPUS.texts))
    classifier = XTransformer(encoder, max_leaf_size=20, copies=2, ordering="product", verbose=0)
    model = TextModel(classifier=classifier, held_out=0, verbose=0)
    model.fit(CORPUS.texts, CORPUS.labels).save(place / "model")
    return ModelStore({"model": place / "model"}, n_threads=1)


@pytest.fixture
def encoded(store, monkeypatch):
    """How many texts each call of the encoder had."""
    encoder = store.current().classifier.features_.encoder
    original, sizes = encoder.embed, []

    def embed(texts, run):
        sizes.append(len(texts))
        return original(texts, run)

    monkeypatch.setattr(encoder, "embed", embed)
    return sizes


def test_texts_that_wait_are_encoded_in_one_go_whatever_thresholds_they_have(store, encoded):
    texts = make_corpus(12, seed=3).texts
    questions = [
        Question(text, 3 + i % 2, (None, 0.0, 0.3)[i % 3]) for i, text in enumerate(texts)
    ]

    async def ask_all():
        service = Service(store, ServerSettings(n_threads=1), ServerMetrics())
        try:
            served = store.current()
            return await asyncio.gather(*(service.suggest(served, one) for one in questions))
        finally:
            await service.close()

    found = asyncio.run(ask_all())
    assert encoded == [1, 11]
    suggest = store.current().tagger.suggest
    for question, own in zip(questions, found, strict=True):
        [alone] = suggest([question.document], question.limit, question.threshold)
        assert [one.label for one in own] == [one.label for one in alone]


def test_senses_and_explanations_of_a_text_do_not_encode_it_again(store, encoded):
    served = store.current()
    assert served.classifier.senses_.n_shown > 0
    text = next(
        text for text, own in zip(CORPUS.texts, CORPUS.labels, strict=True) if "tank" in own
    )
    [found] = served.answer_all([Question(text, 20, 0.0)])
    assert any(one.sense is not None for one in found)
    served.explain(text, None, 3, 5)
    assert encoded == [1]
