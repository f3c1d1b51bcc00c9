"""The model of the demo: one that takes texts, to be looked at, saved and served."""

from __future__ import annotations

from polyseme.demo.corpus import make_corpus
from polyseme.estimators.xr_linear import XRLinear
from polyseme.text.features import TextFeatures
from polyseme.text.model import TextModel

__all__ = ["N_TRAINING_TEXTS", "train_text_model"]

N_TRAINING_TEXTS = 3000


def train_text_model(*, seed: int = 0, n_threads: int | None = None) -> TextModel:
    """Train on the texts of the demo, whose labels have two senses at most.

    Only single words are counted: neighbours in sentences that chance composed mean nothing.
    """
    corpus = make_corpus(N_TRAINING_TEXTS, seed)
    classifier = XRLinear(copies=2, random_state=seed, n_jobs=n_threads, verbose=0)
    features = TextFeatures(ngrams=(1, 1))
    return TextModel(features, classifier, verbose=0).fit(corpus.texts, corpus.labels)
