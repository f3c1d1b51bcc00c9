"""A matcher that makes features: the ranker sees them, wherever a model is asked something."""

import importlib
from dataclasses import dataclass, replace

import numpy as np
import pytest

import polyseme
from polyseme import XRLinear, explain
from polyseme.backbones.linear.matcher import LinearTreeMatcher
from polyseme.backbones.protocols import Encodes
from polyseme.files import kinds
from polyseme.update import updated
from tests.small_data import topics

DATA = topics(n_labels=24, n_documents=300)
N_MADE = 5


@dataclass
class Encoder(LinearTreeMatcher):
    """Makes five sums of the features, in the place of what a network would learn."""

    def encode(self, documents, run):
        made = documents.to_scipy() @ np.sin(np.arange(documents.n_features * N_MADE)).reshape(
            -1, N_MADE
        )
        return replace(documents, dense=np.ascontiguousarray(made, dtype=np.float32))


class Encoding(XRLinear):
    kind = "encoding"

    def make_matcher(self):
        return Encoder(self._how(), beam_size=self.beam_size, activation=self.activation)


@pytest.fixture(scope="module")
def model():
    return Encoding(max_leaf_size=4, beam_size=3, verbose=0).fit(DATA.X, DATA.Y)


def test_the_ranker_learns_from_what_the_matcher_makes(model):
    assert isinstance(model.matcher_, Encodes)
    assert model.layout_ == (DATA.X.shape[1], 0)
    assert model.seen_layout_ == (DATA.X.shape[1], N_MADE)
    made = np.arange(DATA.X.shape[1], DATA.X.shape[1] + N_MADE)
    assert set(made) <= set(model.ranker_.weights_of(0).features)
    assert model.score(DATA.X, DATA.Y) > 0.8


def test_it_is_never_walked_past_what_the_matcher_makes(model):
    assert model._walk is None
    one = model.predict_top_k(DATA.X[[0]], 3)
    many = model.predict_top_k(DATA.X, 3)
    np.testing.assert_array_equal(one[0][0], many[0][0])
    np.testing.assert_array_equal(one[1][0], many[1][0])


def test_a_saved_one_answers_the_same(model, tmp_path, monkeypatch):
    home = f"{__name__}:Encoding"
    monkeypatch.setitem(kinds.METHODS, "encoding", home)
    assert importlib.import_module(__name__).Encoding is Encoding
    model.save(tmp_path / "model")
    loaded = polyseme.load(tmp_path / "model")
    for one, other in zip(
        loaded.predict_top_k(DATA.X, 4), model.predict_top_k(DATA.X, 4), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_a_margin_counts_what_the_matcher_makes(model):
    slot = explain.explain(model, DATA.X[[0]], n_labels=1, n_features=1000).labels[0].slots[0]
    features = {word.feature for word in slot.margin.contributions}
    assert max(features) >= DATA.X.shape[1]
    assert max(word.feature for word in slot.path[0].margin.contributions) < DATA.X.shape[1]


def test_it_is_updated(model):
    grown, _ = updated(model, DATA.X, DATA.Y, DATA.X[:20], DATA.Y[:20])
    assert grown.n_documents_ == 320
    assert grown.score(DATA.X, DATA.Y) > 0.8
