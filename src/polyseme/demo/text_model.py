"""The disentangled model of the demo as one that takes texts, to be saved and served."""

from __future__ import annotations

from polyseme.demo.corpus import make_corpus
from polyseme.demo.experiment import DISENTANGLED, N_TRAINING_TEXTS, SETTINGS
from polyseme.estimators.xr_linear import XRLinear
from polyseme.text.features import TextFeatures
from polyseme.text.model import TextModel

__all__ = ["train_text_model"]


def train_text_model(*, seed: int = 0, n_threads: int | None = None) -> TextModel:
    """Train on the texts of the demo, with its settings, features of single words as there."""
    corpus = make_corpus(N_TRAINING_TEXTS, seed)
    classifier = XRLinear(
        **DISENTANGLED, **SETTINGS, random_state=seed, n_jobs=n_threads, verbose=0
    )
    features = TextFeatures(ngrams=(1, 1))
    return TextModel(features, classifier, verbose=0).fit(corpus.texts, corpus.labels)
