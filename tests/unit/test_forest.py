"""Several trees as one: each label has clusters in all of them, and the mean of its scores."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import polyseme
from polyseme import XRLinear
from polyseme.machine.run import Run
from polyseme.partition.forest import SEED_STEP, grow_forest, plant_together
from polyseme.partition.label_tree import LabelTree
from polyseme.update import updated
from tests.small_data import topics, two_senses
from tests.small_problems import clusters_of

DATA = topics(n_labels=40, n_documents=400)
HOW = {"max_leaf_size": 5, "branching": 4, "senses": "none", "ordering": "product", "verbose": 0}
PLAIN = {**HOW, "copies": 1, "rounds": 0}


@pytest.fixture(scope="module")
def forest():
    return XRLinear(**PLAIN, n_trees=3).fit(DATA.X, DATA.Y)


@pytest.mark.parametrize("activation", ["l3-hinge", "l2-hinge", "sigmoid"])
@pytest.mark.parametrize("dense", [False, True])
def test_the_score_of_a_label_is_the_mean_of_those_in_single_trees(activation, dense):
    how = {**PLAIN, "beam_size": 40, "activation": activation, "weight_bits": 32}
    X = (DATA.X[:, :50], DATA.X[:, 50:].toarray()) if dense else DATA.X
    forest = XRLinear(**how, n_trees=3).fit(X, DATA.Y)
    found = forest.decision_function(X).toarray()
    seeds = [0, *(number * SEED_STEP % 2**31 for number in (1, 2))]
    single = [XRLinear(**how, random_state=seed).fit(X, DATA.Y) for seed in seeds]
    expected = np.mean([tree.decision_function(X).toarray() for tree in single], axis=0)
    # Solvers visit rows in another order; what they find is nearly the same.
    assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.995
    assert np.abs(found - expected).mean() < 0.01
    assert found.max() <= 1 + 1e-5


def test_every_label_is_in_each_tree_and_the_trees_differ(forest):
    tree, clusters = forest.tree_, forest.clusters_
    assert tree.n_trees == 3
    parts = [clusters.take(own) for own in tree.clusters_of_trees]
    for part in parts:
        assert (part.copies == 1).all()
    assert len({frozenset(_groups(part)) for part in parts}) == 3


def test_a_document_is_matched_to_a_beam_of_each_tree(forest):
    matched = forest.match(DATA.X)
    assert np.diff(matched.starts).max() <= 3 * forest.beam_size
    assert forest.beam_of_all_trees == 30


def test_one_tree_is_the_model_without_a_forest():
    one, plain = (XRLinear(**HOW, **how).fit(DATA.X, DATA.Y) for how in ({"n_trees": 1}, {}))
    for name, array in one.ranker_.to_arrays().items():
        np.testing.assert_array_equal(array, plain.ranker_.to_arrays()[name])
    assert one.tree_ == plain.tree_


def test_labels_have_their_copies_in_each_tree():
    model = XRLinear(**HOW, copies=2, n_trees=2).fit(DATA.X, DATA.Y)
    for own in model.tree_.clusters_of_trees:
        copies = model.clusters_.take(own).copies
        assert copies.max() == 2
        assert copies.min() >= 1
    assert model.score(DATA.X_test, DATA.Y_test) > 0.9


def test_trees_of_different_depth_are_planted_together():
    tree = plant_together([LabelTree.uniform(2), LabelTree.uniform(2, 2)])
    assert tree.n_trees == 2
    assert tree.n_levels == 3
    assert [starts.tolist() for starts in tree.levels] == [
        [0, 2],
        [0, 2, 4],
        [0, 1, 2, 4, 6],
    ]
    assert tree.clusters_of_trees == [slice(0, 2), slice(2, 6)]


def test_seeds_of_the_trees_differ_and_progress_counts_all_of_them():
    seen, numbers, told = [], [], []

    def grow(number, run):
        numbers.append(number)
        seen.append(run.seed)
        run.progress(4)
        return LabelTree.uniform(2), clusters_of([0, 1], [2, 3], n_labels=4)

    grow_forest(grow, 3, Run(seed=7, progress=told.append))
    assert seen[0] == 7
    assert len(set(seen)) == 3
    assert numbers == [0, 1, 2]
    assert told == [4, 8, 12]


@pytest.mark.parametrize("tree_features", ["sampled", "co-occurrence", "both", "varied"])
def test_trees_of_other_features_group_labels_otherwise(forest, tree_features):
    found = XRLinear(**PLAIN, n_trees=3, tree_features=tree_features).fit(DATA.X, DATA.Y)
    assert found.tree_ == forest.tree_
    first, second, third = found.tree_.clusters_of_trees
    own = [_groups(found.clusters_.take(part)) for part in (first, second, third)]
    plain = [_groups(forest.clusters_.take(part)) for part in (first, second, third)]
    assert (own[0] == plain[0]) == (tree_features == "varied")
    assert own[1] != plain[1]
    assert own[2] != plain[2]
    assert found.score(DATA.X_test, DATA.Y_test) > 0.9


def test_features_of_trees_matter_for_a_single_tree_as_well(forest):
    one = XRLinear(**PLAIN, tree_features="both").fit(DATA.X, DATA.Y)
    plain = XRLinear(**PLAIN).fit(DATA.X, DATA.Y)
    assert _groups(one.clusters_) != _groups(plain.clusters_)


def _groups(clusters):
    return {tuple(labels) for labels in np.split(clusters.labels, clusters.starts[1:-1])}


def test_a_tree_that_is_no_forest_of_so_many_is_refused():
    with pytest.raises(ValueError, match="a node for each of its 3 trees"):
        LabelTree.uniform(2, 2).__class__(LabelTree.uniform(2, 2).levels, n_trees=3)


def test_an_order_of_labels_and_senses_are_learned_for_a_forest_as_well():
    data = two_senses(n_documents=600)
    model = XRLinear(max_leaf_size=8, n_trees=2, copies=2, verbose=0).fit(data.X, data.Y)
    assert model.ordering_ is not None
    assert model.senses_ is not None
    _, scores = model.predict_top_k(data.X_test, 3)
    assert ((scores > 0) & (scores < 1)).all()
    found = polyseme.explain.explain(model, data.X_test[[0]], n_labels=1).labels[0]
    assert {len(slot.path) for slot in found.slots} == {model.tree_.n_levels}


def test_new_labels_get_clusters_in_each_tree():
    Y = sp.csr_array(DATA.Y)
    known = XRLinear(**HOW, n_trees=2, copies=2).fit(DATA.X[:300], Y[:300, :36])
    grown, _ = updated(known, DATA.X[:300], Y[:300, :36], DATA.X[300:], Y[300:])
    assert grown.n_labels_ == 40
    for own in grown.tree_.clusters_of_trees:
        assert (grown.clusters_.take(own).copies[:36] > 0).all()
    new = np.flatnonzero(grown.label_counts_[36:]) + 36
    for own in grown.tree_.clusters_of_trees:
        assert (grown.clusters_.take(own).copies[new] > 0).all()


@pytest.mark.slow
def test_the_cost_of_a_forest_is_estimated():
    one, three = (
        polyseme.estimate_training(XRLinear(**HOW, n_trees=n), DATA.X, DATA.Y) for n in (1, 3)
    )
    assert three.model_bytes.about > 1.5 * one.model_bytes.about


def test_a_forest_can_be_cloned_and_refuses_no_trees():
    assert clone(XRLinear(n_trees=4)).n_trees == 4
    with pytest.raises(ValueError, match="n_trees must be a whole number"):
        XRLinear(n_trees=0).fit(DATA.X, DATA.Y)
