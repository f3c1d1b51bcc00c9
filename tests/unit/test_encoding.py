"""A matcher that makes features of documents: the ranker sees these, whenever it sees any."""

import numpy as np
import pytest

import polyseme
from polyseme import XRLinear, explain
from polyseme.backbones.linear.matcher import LinearTreeMatcher
from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.files import kinds
from polyseme.inputs.documents import Documents
from polyseme.inputs.features import check_features
from polyseme.machine.run import Run
from polyseme.senses import senses_of, slots_of
from polyseme.training.update import updated
from tests.small_data import topics

N_OLD = 500


class EncodingMatcher(LinearTreeMatcher):
    """Adds the scores of the clusters as dense features."""

    def encode(self, documents, run):
        scores = self.match(documents, 4, run).to_scipy().toarray()
        return Documents(documents.sparse, np.ascontiguousarray(scores, dtype=np.float32))


class WatchingRanker(LinearSlotRanker):
    def fit(self, documents, task, run):
        self.learned_from = documents
        return super().fit(documents, task, run)


class Encoding(XRLinear):
    kind = "encoding"

    def make_matcher(self):
        return EncodingMatcher(self._how(), activation=self.activation)

    def make_ranker(self):
        return WatchingRanker(self._how(), self.activation)


@pytest.fixture(scope="module")
def data():
    return topics(n_labels=40, n_documents=600)


@pytest.fixture(scope="module")
def model(data):
    settings = {"max_leaf_size": 8, "branching": 4, "beam_size": 4, "verbose": 0, "n_jobs": 1}
    return Encoding(**settings).fit(data.X[:N_OLD], data.Y[:N_OLD])


def encoded(model, X):
    return model.matcher_.encode(check_features(X), Run())


def test_the_ranker_learns_from_the_features_that_the_final_matcher_makes(model, data):
    expected = encoded(model, data.X[:N_OLD])
    assert model.ranker_.learned_from.layout == expected.layout
    np.testing.assert_array_equal(model.ranker_.learned_from.dense, expected.dense)


def test_the_ranker_scores_by_the_features_that_the_matcher_makes(model, data):
    new = data.X[N_OLD:]
    scores = model.ranker_.score(encoded(model, new), model.match(new), model.clusters_, Run())
    np.testing.assert_array_equal(model.slot_scores(new).values, scores.values)
    assert model.decision_function(new).shape == (100, 40)


def test_an_update_trains_the_ranker_on_what_the_new_matcher_makes(model, data):
    grown, _ = updated(model, data.X[:N_OLD], data.Y[:N_OLD], data.X[N_OLD:], data.Y[N_OLD:])
    seen = grown.ranker_.learned_from.dense
    np.testing.assert_array_equal(seen, encoded(grown, data.X).dense)
    assert (seen != encoded(model, data.X).dense).any()


def test_prediction_never_walks_past_what_the_matcher_makes(model, data):
    assert model._walk is None
    many = model.predict_top_k(data.X, 3)
    for i in range(3):
        for one, all_of_them in zip(model.predict_top_k(data.X[[i]], 3), many, strict=True):
            np.testing.assert_array_equal(one[0], all_of_them[i])


def test_a_saved_one_answers_the_same(model, data, tmp_path, monkeypatch):
    monkeypatch.setitem(kinds.METHODS, "encoding", f"{__name__}:Encoding")
    model.save(tmp_path / "model")
    loaded = polyseme.load(tmp_path / "model")
    assert loaded.layout_ == (data.X.shape[1], 0)
    assert loaded.seen_layout_ == (data.X.shape[1], model.clusters_.n_clusters)
    for one, other in zip(
        loaded.predict_top_k(data.X, 4), model.predict_top_k(data.X, 4), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_a_margin_counts_what_the_matcher_makes_and_has_no_name_for_it(model, data):
    slot = explain.explain(model, data.X[[0]], n_labels=1, n_features=1000).labels[0].slots[0]
    assert max(word.feature for word in slot.margin.contributions) >= data.X.shape[1]
    assert max(word.feature for word in slot.path[0].margin.contributions) < data.X.shape[1]


def test_what_the_matcher_makes_is_told_by_number_where_features_have_names(data):
    names = [f"word {i}" for i in range(data.X.shape[1])]
    settings = {"max_leaf_size": 8, "branching": 4, "beam_size": 4, "verbose": 0, "n_jobs": 1}
    model = Encoding(**settings).fit(data.X, data.Y, feature_names=names)
    known = {
        type(word.name)
        for slot in slots_of(model, 0, n_words=999, n_neighbours=0)
        for word in slot.words
    }
    assert known == {str, int}
    for label in range(40):
        assert senses_of(model, label, n_words=999)
