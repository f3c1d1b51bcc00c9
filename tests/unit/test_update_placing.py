"""Where an update places new labels, and when a full training is due instead."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp

from polyseme import XRLinear
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.run import Run
from polyseme.partition.co_occurrence import co_occurrence
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree
from polyseme.partition.placing import Placing
from polyseme.training.update import Update, _reasons, place_labels, updated
from tests import growing_models
from tests.growing_models import SMALL, split
from tests.small_data import topics

case = growing_models.case


# Placing


def counted(Y, matched):
    return co_occurrence(sp.csr_array(np.array(Y)), sp.csr_array(np.array(matched, dtype=float)))


def test_labels_go_where_most_of_their_documents_are_and_frequent_ones_choose_first():
    Y = [[1, 0], [1, 0], [0, 1]]
    matched = [[0.9, 0, 0.1], [0.9, 0, 0], [0.5, 0.4, 0]]
    placed, n_without_room = place_labels(counted(Y, matched), np.zeros(3, dtype=int), 1, 1)
    assert placed.toarray().tolist() == [[1, 0, 0], [0, 1, 0]]
    assert n_without_room == 0


def test_every_label_gets_a_first_slot_before_any_gets_a_second():
    Y, matched = [[1, 0], [1, 0], [0, 1]], [[0.9, 0.1], [0.9, 0.1], [0.1, 0.2]]
    placed, _ = place_labels(counted(Y, matched), np.array([0, 0]), 2, 1)
    assert placed.toarray().tolist() == [[1, 0], [0, 1]]


def test_a_label_without_room_goes_to_the_smallest_cluster():
    placed, n_without_room = place_labels(counted([[1]], [[1, 0, 0]]), np.array([7, 5, 4]), 2, 3)
    assert placed.toarray().tolist() == [[0, 0, 1]]
    assert n_without_room == 1


def test_documents_count_before_scores_when_a_label_is_placed():
    Y, matched = [[1], [1], [1]], [[0.1, 0.9], [0.1, 0], [0.1, 0]]
    placed, _ = place_labels(counted(Y, matched), np.array([0, 0]), 1, 9)
    assert placed.toarray().tolist() == [[1, 0]]
    placed, _ = place_labels(counted([[1]], [[0.1, 0.9]]), np.array([0, 0]), 1, 9)
    assert placed.toarray().tolist() == [[0, 1]]


def test_sizes_that_are_given_stay_as_they_are():
    sizes = np.array([2, 3])
    place_labels(counted([[1]], [[1, 0]]), sizes, 1, 9)
    assert sizes.tolist() == [2, 3]


def placing(cluster_of_label, n_clusters, matched, copies=1, max_cluster_size=None, seed=0):
    clusters = LabelClusters.from_partition(cluster_of_label, n_clusters)
    rows = SparseRows.from_dense(np.array(matched, dtype=np.float32))
    tree = LabelTree.uniform(clusters.n_clusters)
    return Placing(clusters, tree, rows, copies, max_cluster_size, Run(seed))


def test_new_labels_find_the_room_that_all_labels_together_have_and_a_quarter_more():
    one = sp.csr_array([[1.0]])
    # Three times the mean of two labels in two clusters.
    placed, n_without_room = placing([0], 2, [[1, 0]]).place(one)
    assert (placed.toarray().tolist(), n_without_room) == ([[1, 0]], 0)
    placed, n_without_room = placing([0], 2, [[1, 0]], max_cluster_size=1).place(one)
    assert (placed.toarray().tolist(), n_without_room) == ([[0, 1]], 1)
    # Six labels in four clusters: the usual limit is 4.
    placed, n_without_room = placing([0, 0, 0, 0, 1], 4, [[1, 0, 0, 0]]).place(one)
    assert (placed.toarray().tolist(), n_without_room) == ([[1, 0, 0, 0]], 0)


def test_the_reach_of_new_labels_is_that_of_documents_that_did_not_place_them():
    both = sp.csr_array([[1.0], [1.0]])
    assert placing([0], 2, [[1, 0], [0, 1]], copies=2).new_reach(both) == 0
    assert placing([0], 2, [[1, 0], [1, 0]]).new_reach(both) == 1


def test_a_new_label_in_one_half_only_does_not_count():
    labels = sp.csr_array([[1.0, 0], [1, 0], [1, 0], [1, 1]])
    assert placing([0], 2, [[1, 0]] * 4).new_reach(labels) == 1
    assert placing([0], 2, [[1, 0]] * 4).new_reach(labels[:, 1:]) is None


def test_chance_divides_the_new_documents_by_the_seed():
    labels, matched = sp.csr_array(np.ones((4, 1))), [[1, 0], [1, 0], [0, 1], [0, 1]]
    reached = {placing([0], 2, matched, seed=seed).new_reach(labels) for seed in range(10)}
    assert reached == {0, 0.5}


# When a full training is due


def test_few_new_documents_that_fit_do_not_call_for_a_full_training():
    data = topics(n_labels=80, n_documents=2400)
    X_old, Y_old, X_new, Y_new = split(data, n_new_labels=1)
    model = XRLinear(**SMALL | {"beam_size": 8}).fit(X_old, Y_old)
    _, update = updated(model, X_old, Y_old, X_new, Y_new)
    assert update.known_reach > 0.7
    assert update.full_training_due == ()


def test_many_new_labels_or_documents_call_for_one():
    data = topics(n_labels=40, n_documents=400)
    X_old, Y_old, X_new, Y_new = split(data, n_new_labels=10)
    model = XRLinear(**SMALL).fit(X_old, Y_old)
    _, update = updated(model, X_old, Y_old, X_new, Y_new)
    first, second = update.full_training_due[:2]
    assert "documents were added" in first
    assert "more than 20%" in first
    assert "10 labels were added to the 30 of the last full training" in second


def test_new_labels_that_belong_nowhere_call_for_one():
    rng = np.random.default_rng(0)
    data = topics(n_labels=64, n_documents=1600)
    model = XRLinear(**SMALL | {"beam_size": 1}).fit(data.X, data.Y)
    n = 60  # documents of all topics, with a label drawn by chance
    Y_new = sp.hstack(
        [sp.csr_array((n, 64)), sp.csr_array(np.eye(3)[rng.integers(3, size=n)])], format="csr"
    )
    _, update = updated(model, data.X, data.Y, data.X_test[:n], Y_new)
    assert update.known_reach is None
    assert update.new_reach < 0.75
    assert any("no present cluster suits them" in reason for reason in update.full_training_due)


def test_full_clusters_call_for_one(case):
    _, _, parts = case
    full = XRLinear(**SMALL, max_cluster_size=10).fit(*parts[:2])
    full.max_cluster_size = 5
    _, update = updated(full, *parts)
    assert update.n_without_room > 0
    assert any("are full" in reason for reason in update.full_training_due)


def test_the_reach_of_new_labels_is_compared_with_that_of_known_ones():
    model = SimpleNamespace(updates_=[], n_documents_=100, n_labels_=10)

    def is_due(new_reach, known_reach):
        update = Update(1, 1, 1, 1, known_reach=known_reach, new_reach=new_reach)
        return any("The beam reaches only" in reason for reason in _reasons(model, update))

    assert [is_due(0.4, 0.5), is_due(0.3, 0.5)] == [False, True]
    assert [is_due(0.8, None), is_due(0.7, None), is_due(None, 0.5)] == [False, True, False]
