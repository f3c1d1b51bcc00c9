"""Methods that read texts, for suites that have matrices: the text of a row is its columns."""

from __future__ import annotations

from dataclasses import replace

from polyseme.backbones.attention.matcher import ReadingMatcher
from polyseme.backbones.attention.ranker import ReadingRanker
from polyseme.backbones.attention.reading import Reading
from polyseme.estimators.attention_xml import AttentionXML
from polyseme.estimators.xml_cnn import XMLCNN
from polyseme.inputs.features import check_features

# Small networks that learn a handful of documents in a moment.
SMALL = {"n_dimensions": 8, "n_hidden": 8, "dropout": 0.0}
QUICK = {**SMALL, "batch_size": 24, "n_epochs": 1, "learning_rate": 0.1}
OF_METHODS = {
    "n_dimensions": 16,
    "n_hidden": 16,
    "dropout": 0.0,
    "batch_size": 64,
    "n_epochs": 3,
    "learning_rate": 0.1,
}
READINGS = {
    "attention": Reading(network="attention", least_steps=50, **QUICK),
    "convolution": Reading(network="convolution", n_filters=8, least_steps=30, **QUICK),
}


def with_texts(documents):
    if documents.texts is not None or documents.n_features == 0:
        return documents
    rows = documents.all_sparse()
    texts = [" ".join(f"w{column}" for column in rows.row(i)[0]) for i in range(rows.n_rows)]
    return replace(documents, texts=texts)


class MatcherOfColumns(ReadingMatcher):
    def fit(self, documents, task, run):
        return super().fit(with_texts(documents), task, run)

    def match(self, documents, beam_size, run):
        return super().match(with_texts(documents), beam_size, run)


class RankerOfColumns(ReadingRanker):
    def fit(self, documents, task, run):
        return super().fit(with_texts(documents), task, run)

    def score(self, documents, matched, clusters, run):
        return super().score(with_texts(documents), matched, clusters, run)


class _OfColumns:
    def fit(self, X, Y, **others):
        return super().fit(with_texts(check_features(X)), Y, **others)

    def _how(self):
        return replace(super()._how(), least_steps=25)

    def make_matcher(self):
        return MatcherOfColumns(self._how(), self.beam_size)

    def make_ranker(self):
        return RankerOfColumns(self._how())


class AttentionXMLOfColumns(_OfColumns, AttentionXML):
    pass


class XMLCNNOfColumns(_OfColumns, XMLCNN):
    pass


def matcher(network):
    return MatcherOfColumns(READINGS[network])


def ranker(network):
    return RankerOfColumns(READINGS[network])
