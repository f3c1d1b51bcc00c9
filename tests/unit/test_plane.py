"""Labels in the plane."""

from __future__ import annotations

import numpy as np
import pytest

from polyseme import TextModel, XRLinear
from polyseme.demo import make_corpus
from polyseme.machine.run import Run
from polyseme.senses.plane import plane_of
from tests.small_data import topics
from tests.without_weights import without_weights


@pytest.fixture(scope="module")
def model():
    data = topics()
    return XRLinear(max_leaf_size=4, verbose=0).fit(data.X, data.Y)


def test_every_label_has_a_place_from_zero_to_one(model):
    plane = plane_of(model, 1000, Run())
    assert sorted(plane.labels) == list(range(model.n_labels_))
    assert plane.positions.shape == (model.n_labels_, 2)
    assert (plane.positions >= 0).all()
    assert (plane.positions <= 1).all()


def test_places_are_the_same_each_time_for_any_number_of_threads(model):
    first, again = plane_of(model, 1000, Run(n_threads=1)), plane_of(model, 1000, Run(n_threads=3))
    np.testing.assert_array_equal(first.positions, again.positions)


def test_only_the_most_frequent_labels_are_placed_if_there_are_too_many(model):
    plane = plane_of(model, 5, Run())
    assert len(plane.labels) == 5
    counts = model.label_counts_
    assert counts[plane.labels].min() >= np.sort(counts)[-5]


def test_labels_beyond_the_landmarks_lie_beside_those_like_them(model, monkeypatch):
    everything = plane_of(model, 1000, Run())
    monkeypatch.setattr("polyseme.senses.plane.N_LANDMARKS", model.n_labels_ // 2)
    plane = plane_of(model, 1000, Run())
    np.testing.assert_array_equal(plane.labels, everything.labels)
    assert np.isfinite(plane.positions).all()
    assert len(np.unique(plane.positions, axis=0)) == model.n_labels_


@pytest.mark.slow
def test_senses_lie_near_the_labels_that_go_with_them():
    corpus = make_corpus(2000, seed=0)
    model = TextModel(verbose=0).fit(corpus.texts, corpus.labels).classifier_
    plane, layer = plane_of(model, 1000, Run()), model.senses_
    at = dict(zip(plane.labels.tolist(), plane.positions, strict=True))
    owners = layer.labels_of(plane.senses)
    assert len(plane.senses) > 10

    def is_nearest(i):
        (row,) = layer.beside.take(plane.senses[[i]]).to_scipy().toarray()
        row[owners[i]] = 0
        beside = np.median([at[label] for label in np.argsort(-row)[:4]], axis=0)
        apart = np.linalg.norm(plane.sense_positions - beside, axis=1)
        return apart[i] == apart[owners == owners[i]].min()

    assert np.mean([is_nearest(i) for i in range(len(plane.senses))]) > 0.8


def test_a_model_without_weights_has_no_plane():
    data = topics()
    bare = XRLinear(max_leaf_size=4, senses="none", verbose=0).fit(data.X, data.Y)
    without_weights(bare)
    assert plane_of(bare, 1000, Run()) is None
