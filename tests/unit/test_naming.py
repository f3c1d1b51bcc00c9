"""The sense that a document means is the one that a slow twin finds nearest."""

import numpy as np
import pytest

from polyseme.senses.naming import name_senses, weights_of_scores
from tests.oracles.naming import nearness
from tests.small_problems import random_features, sparse
from tests.unit.test_sense_layer import N_FEATURES, N_LABELS, make_layer


def made_layer(seed):
    layer = make_layer((1, 4, 6), (2, 5, 3), seed=seed)
    beside = layer.beside.to_scipy().toarray()
    for i, label in enumerate(layer.labels):
        beside[layer.starts[i] : layer.starts[i + 1], label] = 0
    layer = make_layer((1, 4, 6), (2, 5, 3), seed=seed)
    object.__setattr__(layer, "beside", sparse(beside))
    layer.probabilities[:] = 0.9, 0.6, 0.3
    return layer


@pytest.mark.parametrize("seed", range(10))
def test_senses_are_named_as_the_twin_names_them(seed):
    rng = np.random.default_rng(seed)
    layer = made_layer(seed)
    X = random_features(rng, 40, N_FEATURES) * 10.0 ** rng.integers(-9, 9, (40, 1))
    others = rng.random((40, N_LABELS)) * (rng.random((40, N_LABELS)) < 0.4)
    X[3], others[4], X[5], others[5] = 0, 0, 0, 0
    document, label = rng.integers(40, size=300), rng.integers(N_LABELS, size=300)
    X, others = X.astype(np.float32), others.astype(np.float32)
    found = [
        name_senses(
            layer, sparse(X), sparse(others), document, label, at_least=0.5, n_threads=n_threads
        )
        for n_threads in (1, 3)
    ]
    np.testing.assert_array_equal(*found)
    words, beside = layer.words.to_scipy().toarray(), layer.beside.to_scipy().toarray()
    for i, sense in enumerate(found[0]):
        own = layer.senses_of(label[i], at_least=0.5)
        if not own:
            assert sense == -1
            continue
        near = nearness(
            words[own.start : own.stop],
            beside[own.start : own.stop],
            X[document[i]],
            others[document[i]],
            label[i],
        )
        assert near[sense - own.start] == pytest.approx(near.max(), abs=1e-6)


def test_a_document_without_anything_has_the_commonest_sense():
    layer = made_layer(0)
    nothing = np.zeros((1, N_FEATURES)), np.zeros((1, N_LABELS))
    found = name_senses(
        layer, *map(sparse, nothing), np.zeros(3, dtype=int), layer.labels, at_least=0
    )
    assert found.tolist() == layer.starts[:-1].tolist()


def test_only_labels_that_are_likely_enough_ambiguous_have_senses():
    layer = made_layer(0)
    X, others = np.ones((1, N_FEATURES)), np.ones((1, N_LABELS))
    label = np.arange(N_LABELS)
    for at_least, with_senses in ((0, [1, 4, 6]), (0.5, [1, 4]), (0.8, [1]), (1, [])):
        found = name_senses(
            layer, sparse(X), sparse(others), np.zeros(8, dtype=int), label, at_least=at_least
        )
        assert np.flatnonzero(found >= 0).tolist() == with_senses


def test_no_pairs_and_no_senses_are_fine():
    X, others, none = np.ones((1, N_FEATURES)), np.ones((1, N_LABELS)), np.zeros(0, dtype=int)
    assert name_senses(made_layer(0), sparse(X), sparse(others), none, none).tolist() == []
    empty = make_layer((), ())
    one = np.zeros(1, dtype=int)
    assert name_senses(empty, sparse(X), sparse(others), one, one).tolist() == [-1]


def test_the_label_itself_says_nothing_of_its_sense():
    layer = made_layer(1)
    rng = np.random.default_rng(0)
    X, others = rng.random((30, N_FEATURES)), rng.random((30, N_LABELS))
    document, label = np.arange(30), np.full(30, 4)
    before = name_senses(layer, sparse(X), sparse(others), document, label)
    others[:, 4] = 1e6
    after = name_senses(layer, sparse(X), sparse(others), document, label)
    np.testing.assert_array_equal(before, after)


def test_long_documents_beside_do_not_change_how_a_short_one_is_named():
    layer = made_layer(2)
    rng = np.random.default_rng(0)
    X, others = rng.random((30, N_FEATURES)), sparse(rng.random((30, N_LABELS)))
    document, label = np.arange(30), np.full(30, 4)
    before = name_senses(layer, sparse(X), others, document, label)
    X[::2] *= 1e18
    np.testing.assert_array_equal(name_senses(layer, sparse(X), others, document, label), before)


def test_scores_count_for_less_apart_than_they_are():
    found = weights_of_scores(np.array([4.0, 1, 0, -1]))
    assert found.dtype == np.float32
    assert found.tolist() == [2, 1, 0, 0]
