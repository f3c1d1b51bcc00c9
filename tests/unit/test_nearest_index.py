"""The nearest of many vectors, by a graph that is stored as arrays and checked."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from polyseme.backbones.nearest import index as index_module
from polyseme.backbones.nearest.index import NeighbourIndex
from polyseme.backbones.nearest.space import DocumentSpace, unit_rows
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.documents import Documents
from polyseme.inputs.features import check_features
from polyseme.machine.run import Run
from tests.small_data import topics
from tests.small_problems import pattern

RUN = Run(n_threads=1)
N, N_DIMENSIONS = 1500, 12  # more than are compared one by one


def some_vectors(n=N, seed=0):
    vectors = unit_rows(np.random.default_rng(seed).normal(size=(n, N_DIMENSIONS)))
    vectors.flags.writeable = False
    return vectors


@pytest.fixture(scope="module")
def index():
    return NeighbourIndex.of(some_vectors())


def stored(arrays):
    return StoredModel("model", {}, arrays, {})


def restored(arrays):
    return NeighbourIndex.restored(stored(arrays), N, N_DIMENSIONS)


# Searching


def test_a_vector_is_nearest_to_itself(index):
    ids, similarities = index.nearest(some_vectors(), 3, RUN)
    np.testing.assert_array_equal(ids[:, 0], np.arange(N))
    np.testing.assert_allclose(similarities[:, 0], 1, atol=1e-5)
    assert (np.diff(similarities) <= 0).all()


def test_the_graph_finds_nearly_all_that_a_comparison_with_all_finds(index):
    asked = some_vectors(100, seed=1)
    found, _ = index.nearest(asked, 10, RUN)
    exact, _ = NeighbourIndex(index.vectors).nearest(asked, 10, RUN)
    shares = [np.isin(row, truth).mean() for row, truth in zip(found, exact, strict=True)]
    assert np.mean(shares) > 0.97


def test_few_vectors_are_compared_one_by_one_and_exactly():
    vectors, asked = some_vectors(40), some_vectors(5, seed=1)
    few = NeighbourIndex.of(vectors)
    assert few.graph is None
    ids, similarities = few.nearest(asked, 4, RUN)
    products = asked @ vectors.T
    np.testing.assert_array_equal(ids, np.argsort(-products, axis=1)[:, :4])
    np.testing.assert_allclose(similarities, -np.sort(-products, axis=1)[:, :4], atol=1e-6)


def test_more_neighbours_than_there_are_vectors_are_not_found():
    ids, _ = NeighbourIndex.of(some_vectors(3)).nearest(some_vectors(2), 10, RUN)
    assert ids.shape == (2, 3)


def test_neither_threads_nor_company_change_what_is_found(index):
    asked = some_vectors(50, seed=1)
    ids, similarities = index.nearest(asked, 5, RUN)
    for one, other in zip(
        index.nearest(asked, 5, Run(n_threads=3)), (ids, similarities), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    for i in range(0, 50, 7):
        alone = index.nearest(asked[[i]], 5, RUN)
        np.testing.assert_array_equal(alone[0], ids[[i]])
        np.testing.assert_array_equal(alone[1], similarities[[i]])


def test_the_same_vectors_have_the_same_graph(index):
    again = NeighbourIndex.of(some_vectors()).to_arrays()
    for name, array in index.to_arrays().items():
        np.testing.assert_array_equal(array, again[name])


# Files


def test_a_restored_graph_finds_the_same(index):
    arrays = index.to_arrays()
    for array in arrays.values():
        array.flags.writeable = False
    asked = some_vectors(50, seed=1)
    for one, other in zip(
        restored(arrays).nearest(asked, 5, RUN), index.nearest(asked, 5, RUN), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def changed(arrays, name, place, value):
    array = arrays[name].copy()
    array[place] = value
    return {**arrays, name: array}


@pytest.mark.parametrize(
    ("name", "place", "value", "sentence"),
    [
        ("links", 5, N, "has values outside"),
        ("links", 5, -2, "has values outside"),
        ("levels", 5, 0, "has values outside"),
        ("levels", 5, 100, "has values outside"),
        ("entry", 0, N, "entered at a wrong vector"),
        ("entry", 0, -1, "entered at a wrong vector"),
        ("vectors", (3, 3), np.nan, "not finite"),
    ],
)
def test_a_damaged_graph_is_refused(index, name, place, value, sentence):
    with pytest.raises(ValueError, match=sentence):
        restored(changed(index.to_arrays(), name, place, value))


def test_a_link_to_a_level_that_a_vector_does_not_have_is_refused(index):
    arrays = index.to_arrays()
    levels = arrays["levels"]
    high, low = int(np.argmax(levels)), int(np.argmin(levels))
    before_row = np.where(levels == 1, 32, 32 + 16 * (levels - 1))[:high].sum()
    with pytest.raises(ValueError, match="a level that is not there"):
        restored(changed(arrays, "links", before_row + 32, low))


def test_missing_and_short_arrays_are_refused(index):
    arrays = index.to_arrays()
    with pytest.raises(ValueError, match="'links' has shape"):
        restored({**arrays, "links": arrays["links"][:-1]})
    with pytest.raises(ValueError, match="'entry' is missing"):
        restored({name: array for name, array in arrays.items() if name != "entry"})


# The extra


def test_without_the_library_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ValueError, match=r"need faiss; .*pip install '\.\[neighbours\]'"):
        index_module.needed_library()


# The space


def test_documents_of_any_scale_lie_at_the_same_place():
    X = topics().X
    space = DocumentSpace.of(check_features(X), 8, RUN)
    placed = space.place(check_features(X), RUN)
    assert placed.shape == (240, 8)
    np.testing.assert_allclose(np.linalg.norm(placed, axis=1), 1, rtol=1e-5)
    for scale in (1e-30, 1e30):
        large = space.place(check_features(X.astype(np.float64) * scale), RUN)
        np.testing.assert_allclose(large, placed, atol=1e-5)


def test_dense_features_stay_as_they_are_but_for_their_length():
    dense = np.array([[3, 4], [0, 0], [0, -2]], dtype=np.float32)
    space = DocumentSpace.of(Documents(dense=dense), 8, RUN)
    found = space.place(Documents(dense=dense), RUN)
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0], [0, -1]])


def test_with_labels_directions_are_those_that_labels_differ_in():
    # Words 0 and 1 tell the two labels apart; words 2 to 9 are louder, and chance.
    rng = np.random.default_rng(0)
    X = np.zeros((400, 10), dtype=np.float32)
    has = np.arange(400) % 2
    X[np.arange(400), has] = 0.3
    X[np.arange(400), rng.integers(2, 10, size=400)] = 1
    labels = pattern(np.eye(2)[has])
    space = DocumentSpace.of(check_features(X), 2, RUN, labels)
    told_apart = np.array([1, -1, *[0] * 8]) / np.sqrt(2)
    plain = DocumentSpace.of(check_features(X), 2, RUN)
    kept, kept_plain = (np.linalg.norm(told_apart @ one.directions) for one in (space, plain))
    assert kept > 0.95
    assert kept_plain < 0.5
