"""From texts to label names: features, probabilities, and files of texts with labels."""

from __future__ import annotations

from polyseme.text.calibration import Calibration
from polyseme.text.corpora import Corpus, Record, open_corpus
from polyseme.text.features import TextFeatures
from polyseme.text.model import Suggestion, TextModel
from polyseme.text.predictions import Predicted, write_predictions
from polyseme.text.vocabularies.reading import read_hierarchy, read_vocabulary
from polyseme.text.vocabularies.vocabulary import Vocabulary

__all__ = [
    "Calibration",
    "Corpus",
    "Predicted",
    "Record",
    "Suggestion",
    "TextFeatures",
    "TextModel",
    "Vocabulary",
    "open_corpus",
    "read_hierarchy",
    "read_vocabulary",
    "write_predictions",
]
