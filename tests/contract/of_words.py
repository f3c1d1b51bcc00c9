"""The method that reads texts, for suites that have matrices: the text of a row is its columns."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np

from polyseme.backbones.transformer.features import EncodedFeatures
from polyseme.backbones.transformer.matcher import EncodedTreeMatcher
from polyseme.backbones.transformer.static_table import StaticTable
from polyseme.backbones.transformer.tokens import Tokens
from polyseme.estimators.x_transformer import XTransformer

N_WORDS = 2000


@cache
def table():
    """Return a table of random vectors for the words ``w0``, ``w1``, ..."""
    known = {"[UNK]": 0, **{f"w{i}": i + 1 for i in range(N_WORDS)}}
    described = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": known, "unk_token": "[UNK]"},
    }
    vectors = np.random.default_rng(0).normal(size=(len(known), 6)).astype(np.float32)
    return StaticTable(Tokens(json.dumps(described), None), vectors, "words")


class FeaturesOfWords(EncodedFeatures):
    def of(self, documents, run, *, keep=False):
        if documents.texts is None and documents.layout != self.seen_layout:
            rows = documents.all_sparse()
            texts = [
                " ".join(f"w{column}" for column in rows.row(i)[0]) for i in range(rows.n_rows)
            ]
            documents = replace(documents, texts=texts)
        return super().of(documents, run, keep=keep)


class XTransformerOfWords(XTransformer):
    def _load_encoder(self):
        return table()

    def _make_features(self, encoder, layout=None, store=None):
        return FeaturesOfWords(encoder, self.embedding_weight, layout, store)


def matcher_of_words():
    return EncodedTreeMatcher(FeaturesOfWords(table(), 0.3))
