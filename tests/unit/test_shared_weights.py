"""One weight vector per label, which stands in each of its slots."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyseme
from polyseme import XRLinear
from polyseme.backbones.linear import shared_ranker
from polyseme.backbones.linear.shared_ranker import Groups, SharedSlotRanker
from polyseme.backbones.linear.weights import LinearTraining
from polyseme.backbones.tasks import RankingTask
from polyseme.machine.run import Run
from polyseme.training.update import updated
from tests.oracles.beam_search import dense_weights
from tests.small_data import two_senses
from tests.small_problems import clusters_of, documents, pattern, random_problem, train_slots

EXACT = {"tolerance": 1e-5, "max_iter": 3000, "min_weight": 0.0, "weight_bits": 32}
SMALL = {
    "copies": 2,
    "max_leaf_size": 8,
    "branching": 4,
    "beam_size": 4,
    "senses": "none",
    "slot_weights": "shared",
    "n_jobs": 1,
    "verbose": 0,
}


def overlapping(rng, n_labels, n_clusters):
    """Clusters that share labels; some labels are in none."""
    member = rng.random((n_labels, n_clusters)) < 0.4
    return clusters_of(*(np.flatnonzero(column) for column in member.T), n_labels=n_labels)


def trained_by_hand(X, Y, clusters, rows, own=None):
    """Train each label alone, on the rows of all its clusters: one vector per slot, and biases."""
    vectors = {}
    for label in set(clusters.labels.tolist()):
        homes = clusters.cluster_of_slot[clusters.labels == label]
        of_label = rows[:, homes].any(axis=1)[:, np.newaxis]
        positives = Y[:, [label]]
        if own is not None:
            own_of_label = own[:, homes].any(axis=1)[:, np.newaxis]
        alone = train_slots(
            X,
            positives,
            clusters_of([0], n_labels=1),
            rows=of_label,
            own=None if own is None else own_of_label,
            **EXACT,
        )
        weights, bias = dense_weights(alone)
        vectors[label] = np.append(weights[0], bias[0])
    return np.stack([vectors[label] for label in clusters.labels.tolist()], axis=1)


def fitted(X, Y, clusters, rows, *, n_threads=1, how=EXACT, **others):
    task = RankingTask(pattern(Y), clusters, pattern(rows), **others)
    ranker = SharedSlotRanker(LinearTraining(**how))
    return ranker.fit(documents(X), task, Run(n_threads=n_threads))


def vectors_of(weights):
    matrix, bias = dense_weights(weights)
    return np.vstack([matrix.T, bias])


def assert_slots_of_a_label_are_alike(weights, clusters):
    vectors = vectors_of(weights)
    for label in range(clusters.n_labels):
        own = vectors[:, clusters.labels == label]
        assert (own == own[:, :1]).all()


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_clusters=st.integers(1, 4), has_own=st.booleans())
def test_a_label_is_trained_once_on_the_documents_of_all_its_clusters(seed, n_clusters, has_own):
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng, 40, 8, 6)
    clusters = overlapping(rng, 6, n_clusters)
    rows = rng.random((40, n_clusters)) < 0.5
    own = rng.random((40, n_clusters)) < 0.8 if has_own else None
    others = {"own_documents": pattern(own)} if has_own else {}
    ranker = fitted(X, Y, clusters, rows, **others)
    assert_slots_of_a_label_are_alike(ranker.trained, clusters)
    if clusters.n_slots:
        expected = trained_by_hand(X, Y, clusters, rows, own)
        np.testing.assert_allclose(vectors_of(ranker.trained), expected, atol=5e-3)


def test_labels_with_the_same_clusters_are_a_group():
    clusters = clusters_of([0, 1, 3], [1, 3], [2, 4], n_labels=6)
    groups = Groups.of(clusters, np.array([0, 1, 2, 3, 4]))
    assert groups.labels.tolist() == [0, 1, 3, 2, 4]
    assert groups.starts.tolist() == [0, 1, 3, 5]
    assert groups.clusters.toarray().tolist() == [[1, 0, 0], [1, 1, 0], [0, 0, 1]]
    rows = pattern([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    found = groups.documents_of(rows).to_scipy().toarray()
    assert found.tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize("weight_bits", [8, 32])
def test_the_number_of_threads_and_of_parts_changes_little_or_nothing(weight_bits, monkeypatch):
    rng = np.random.default_rng(3)
    X, Y = random_problem(rng, 200, 15, 30)
    clusters = overlapping(rng, 30, 5)
    rows = rng.random((200, 5)) < 0.6
    how = {**EXACT, "weight_bits": weight_bits}
    one, many = (fitted(X, Y, clusters, rows, n_threads=n, how=how) for n in (1, 3))
    for name, array in one.to_arrays().items():
        np.testing.assert_array_equal(array, many.to_arrays()[name])
    monkeypatch.setattr(shared_ranker, "MOST_ROWS_AT_ONCE", 500)
    in_parts = fitted(X, Y, clusters, rows, how=how)
    assert_slots_of_a_label_are_alike(in_parts.trained, clusters)
    np.testing.assert_allclose(
        vectors_of(in_parts.trained),
        vectors_of(one.trained),
        atol=0.05 if weight_bits == 8 else 5e-3,
    )


def test_a_draft_on_the_way_has_not_seen_the_documents_that_are_held_out():
    rng = np.random.default_rng(4)
    X, Y = random_problem(rng, 80, 10, 12)
    clusters, rows = overlapping(rng, 12, 3), np.ones((80, 3))
    is_held_out = rng.random(80) < 0.3
    other = Y ^ (is_held_out[:, np.newaxis] & (rng.random(Y.shape) < 0.5))
    drafts = [fitted(X, given, clusters, rows, held_out=is_held_out).draft for given in (Y, other)]
    np.testing.assert_array_equal(*(vectors_of(draft.trained) for draft in drafts))
    assert_slots_of_a_label_are_alike(drafts[0].trained, clusters)
    assert fitted(X, Y, clusters, rows).draft is None


def test_dense_features_are_refused_in_a_sentence():
    data = two_senses(n_documents=300)
    dense = np.ones((data.X.shape[0], 3), dtype=np.float32)
    with pytest.raises(
        ValueError, match="slot_weights='shared' takes sparse features only, but 3"
    ):
        XRLinear(**SMALL).fit((data.X, dense), data.Y)
    with pytest.raises(ValueError, match="slot_weights must be"):
        XRLinear(slot_weights="none").fit(data.X, data.Y)


@pytest.fixture(scope="module")
def model():
    data = two_senses()
    return data, XRLinear(**SMALL).fit(data.X, data.Y)


def test_a_model_finds_labels_in_a_learned_order_and_explains_them(model):
    data, shared = model
    assert shared.ordering_ is not None
    assert shared.clusters_.n_slots > shared.n_labels_
    assert shared.score(data.X_test, data.Y_test) > 0.8
    assert_slots_of_a_label_are_alike(shared.ranker_.trained, shared.clusters_)
    explained = polyseme.explain.explain(shared, data.X_test[:1])
    best = shared.predict_top_k(data.X_test[:1], 1)[0][0, 0]
    assert explained.labels[0].label == best


def test_a_saved_model_answers_as_before_and_is_still_one_of_shared_weights(model, tmp_path):
    data, shared = model
    shared.save(tmp_path / "model")
    again = polyseme.load(tmp_path / "model", n_jobs=1)
    assert again.slot_weights == "shared"
    assert isinstance(again.make_ranker(), SharedSlotRanker)
    for ours, theirs in zip(
        shared.predict_top_k(data.X_test), again.predict_top_k(data.X_test), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("weight_bits", [8, 32])
def test_an_update_leaves_slots_alike_and_other_clusters_as_they_were(weight_bits):
    data = two_senses()
    n_known = data.Y.shape[1] - 3
    is_new = np.diff(data.Y[:, n_known:].indptr) > 0
    old, new = np.flatnonzero(~is_new), np.flatnonzero(is_new)
    X_old, Y_old = data.X[old], data.Y[old][:, :n_known]
    before = XRLinear(**SMALL, weight_bits=weight_bits, ordering="product").fit(X_old, Y_old)
    after, update = updated(before, X_old, Y_old, data.X[new], data.Y[new])
    assert 0 < update.n_changed_clusters < update.n_clusters
    assert_slots_of_a_label_are_alike(after.ranker_.trained, after.clusters_)
    touched = set((data.Y[new] @ after.clusters_.to_matrix()).indices.tolist())
    known = {}
    for name, one in (("before", before), ("after", after)):
        clusters, vectors = one.clusters_, vectors_of(one.ranker_.trained)
        pairs = zip(clusters.cluster_of_slot.tolist(), clusters.labels.tolist(), strict=True)
        known[name] = {pair: vectors[:, slot] for slot, pair in enumerate(pairs)}
    stayed = {label for cluster, label in known["before"] if cluster not in touched}
    moved = 0
    for (cluster, label), vector in known["before"].items():
        if label in stayed:
            np.testing.assert_array_equal(known["after"][cluster, label], vector)
        else:
            moved += (known["after"][cluster, label] != vector).any()
    assert stayed
    assert moved > 0
    found = after.predict_top_k(data.X[new], 5)[0]
    assert (found >= n_known).any(axis=1).mean() > 0.5


def test_trees_of_a_forest_share_weights_too():
    data = two_senses(n_documents=600)
    forest = XRLinear(**SMALL, n_trees=2, ordering="product").fit(data.X, data.Y)
    assert forest.clusters_.copies.max() > 2
    assert_slots_of_a_label_are_alike(forest.ranker_.trained, forest.clusters_)
