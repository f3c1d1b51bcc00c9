"""Texts that are made up, and small models of them.

A test module takes the fixture by name: ``model = small_text_models.model``.
"""

from __future__ import annotations

from functools import cache

import pytest

from polyseme import TextModel, XRLinear
from polyseme.demo import make_corpus
from polyseme.text import Record, TextFeatures

TRAINING, TEST = make_corpus(1200, seed=0), make_corpus(300, seed=1)
SMALL = {"max_leaf_size": 16, "beam_size": 4, "verbose": 0, "n_jobs": 2}


def fitted(corpus=TRAINING, **parameters):
    features = parameters.pop("features", TextFeatures(ngrams=(1, 1)))
    model = TextModel(features, XRLinear(**SMALL), verbose=0, **parameters)
    return model.fit(corpus.texts, corpus.labels)


usual_model = cache(fitted)


@pytest.fixture(scope="module")
def model():
    return usual_model()


def records(corpus):
    return [
        Record(t, tuple(labels)) for t, labels in zip(corpus.texts, corpus.labels, strict=True)
    ]
