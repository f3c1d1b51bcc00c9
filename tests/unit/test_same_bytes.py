"""Any part of a training is, byte for byte, that part of the whole."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from polyseme import XRLinear
from polyseme.backbones.linear.matcher import LinearTreeMatcher
from polyseme.backbones.linear.weights import LinearTraining, LinearWeights
from polyseme.backbones.tasks import MatchingTask, RankingTask
from polyseme.inputs.features import check_features
from polyseme.inputs.labels import check_labels
from polyseme.machine.run import Run
from polyseme.partition.training_rows import choose_training_rows, cluster_targets
from polyseme.partition.trees import balanced
from polyseme.training.update import updated
from tests.examples import examples
from tests.small_data import topics
from tests.small_problems import clusters_of, documents, pattern, random_problem, train_slots


def assert_same_bytes(one: LinearWeights, other: LinearWeights) -> None:
    for name, array in one.to_arrays().items():
        expected = other.to_arrays()[name]
        assert array.dtype == expected.dtype, name
        np.testing.assert_array_equal(array, expected, err_msg=name)


def random_cut(rng, n_clusters):
    """Return which of up to five parts each cluster goes to; some parts may stay empty."""
    return rng.integers(rng.integers(1, 6), size=n_clusters)


@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from(["squared-hinge", "logistic"]),
    weight_bits=st.sampled_from([8, 32]),
    has_own_documents=st.booleans(),
    # Clusters are trained whole; some of them in pieces, of copied rows or in place; all of them.
    max_entries_whole=st.sampled_from([1 << 20, 150, 0]),
    n_features=st.sampled_from([6, 60]),
)
@examples(60)
def test_joined_parts_are_the_whole_training(
    seed, loss, weight_bits, has_own_documents, max_entries_whole, n_features
):
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng, n_documents=50, n_features=n_features, n_labels=40)
    n_clusters = int(rng.integers(1, 8))
    # From no slots to more than two vectors of them.
    table = rng.random((n_clusters, 40)) < rng.random((n_clusters, 1))
    clusters = clusters_of(*map(np.flatnonzero, table), n_labels=40)
    rows = rng.random((50, n_clusters)) < rng.random(n_clusters)
    own = rng.random((50, n_clusters)) < 0.5 if has_own_documents else None
    how = {
        "loss": loss,
        "weight_bits": weight_bits,
        "max_entries_whole": max_entries_whole,
        "min_weight": 0.0,
    }
    n_threads = int(rng.integers(1, 4))
    whole = train_slots(X, Y, clusters, rows, own, seed=seed, n_threads=n_threads, **how)
    part_of_cluster = random_cut(rng, n_clusters)
    parts: dict[int, LinearWeights] = {}
    for number in rng.permutation(part_of_cluster.max() + 1):
        parts[number] = LinearWeights.train(
            documents(X),
            pattern(rows),
            clusters.starts,
            clusters.labels,
            pattern(Y),
            LinearTraining(**how),
            Run(seed, int(rng.integers(1, 4))),
            own_documents=None if own is None else pattern(own),
            only=part_of_cluster == number,
        )[0]
    in_order = [parts[number] for number in range(len(parts))]
    assert_same_bytes(LinearWeights.join(in_order, part_of_cluster), whole)


@pytest.mark.parametrize("weight_bits", [8, 32])
def test_other_documents_and_clusters_beside_a_large_cluster_do_not_change_it(weight_bits):
    """The limits themselves, not lowered ones: more than a million entries in one cluster."""
    rng = np.random.default_rng(0)
    X = rng.random((1400, 800), dtype=np.float32)
    Y = rng.random((1400, 17)) < X[:, :17]
    how = {"max_iter": 2, "weight_bits": weight_bits, "n_threads": 2}
    alone = train_slots(X, Y, clusters_of(range(17), n_labels=17), **how)
    # Ten times as many entries in the call: the cluster is a small part of all of them.
    more = np.concatenate([X] * 10)
    more_labels = np.concatenate([Y, np.zeros((1400 * 9, 17), dtype=bool)])
    rows = np.zeros((len(more), 2))
    rows[:1400, 0] = 1
    rows[-5:, 1] = 1
    among = train_slots(more, more_labels, clusters_of(range(17), [0], n_labels=17), rows, **how)
    np.testing.assert_array_equal(among.bias[:17], alone.bias)
    for slot in range(17):
        for mine, other in zip(among.weights_of(slot), alone.weights_of(slot), strict=True):
            np.testing.assert_array_equal(mine, other)


@given(seed=st.integers(0, 10**6))
@examples(15)
def test_levels_of_the_matcher_trained_apart_and_in_parts_are_those_of_the_whole(seed):
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng, n_documents=60, n_labels=12)
    tree, clusters = balanced.build(documents(X), pattern(Y), branching=4, max_leaf_size=2)
    targets = cluster_targets(pattern(Y), clusters)
    how, run = LinearTraining(max_entries_whole=int(rng.choice([100, 1 << 20]))), Run(seed)
    whole = LinearTreeMatcher(how).fit(documents(X), MatchingTask(targets, tree), run)
    for level in rng.permutation(tree.n_levels):
        above = tree.ancestors(targets, level)
        below = tree.ancestors(targets, level + 1)
        part_of_node = random_cut(rng, tree.n_nodes(level))
        parts = [
            LinearWeights.train(
                documents(X),
                above,
                tree.levels[level],
                np.arange(tree.n_nodes(level + 1), dtype=np.int32),
                below,
                how,
                run,
                only=part_of_node == number,
            )[0]
            for number in range(part_of_node.max() + 1)
        ]
        assert_same_bytes(LinearWeights.join(parts, part_of_node), whole.levels[level])


def clusters_from(kept: LinearWeights, new: LinearWeights, is_new) -> LinearWeights:
    return LinearWeights.join([kept, new], np.asarray(is_new))


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    settings_=st.sampled_from(
        [
            {},
            {"training_rows": "both"},
            {"training_rows": "matcher-aware"},
            {"sense_positives": True},
            {"weight_bits": 32, "copies": 1},
        ]
    ),
)
@examples(12)
def test_an_update_makes_what_a_full_training_with_these_slots_makes(seed, settings_):
    rng = np.random.default_rng(seed)
    data = topics(n_labels=24, n_documents=300)
    has_new_label = np.diff(data.Y[:, 22:].indptr) > 0
    is_old, is_new = ~has_new_label, np.zeros(300, dtype=bool)
    chosen = [rng.choice(data.Y[:, [label]].nonzero()[0]) for label in (22, 23)]
    is_new[chosen] = True  # few, so that some clusters stay as they are
    model = XRLinear(
        max_leaf_size=2, branching=4, beam_size=3, verbose=0, random_state=seed % 7, **settings_
    ).fit(data.X[is_old], data.Y[is_old][:, :22])
    grown, update = updated(
        model, data.X[is_old], data.Y[is_old][:, :22], data.X[is_new], data.Y[is_new]
    )
    X = check_features(sp.vstack([data.X[is_old], data.X[is_new]]))
    Y, _ = check_labels(sp.vstack([data.Y[is_old], data.Y[is_new]]), X.n_rows)
    targets = cluster_targets(Y, grown.clusters_)
    is_changed = np.zeros(grown.clusters_.n_clusters, dtype=bool)
    is_changed[targets.columns[targets.starts[is_old.sum()] :]] = True
    assert 0 < is_changed.sum() == update.n_changed_clusters < update.n_clusters

    run = grown._run()
    full = grown.make_matcher().fit(X, MatchingTask(targets, grown.tree_), run)
    for level in range(grown.tree_.n_levels):
        is_above = is_changed.reshape(grown.tree_.n_nodes(level), -1).any(axis=1)
        before, after = model.matcher_.levels[level], grown.matcher_.levels[level]
        assert_same_bytes(after, clusters_from(before, full.levels[level], is_above))

    matched = grown.matcher_.match(X, grown.beam_size, run)
    rows = choose_training_rows(grown.training_rows, targets, matched)
    own = matched.pattern() if grown.sense_positives else None
    ranker = grown.make_ranker().fit(X, RankingTask(Y, grown.clusters_, rows, own), run)
    expected = clusters_from(model.ranker_.weights, ranker.weights, is_changed)
    assert_same_bytes(grown.ranker_.weights, expected)


def test_parts_that_do_not_fit_together_are_refused():
    X, Y = random_problem(np.random.default_rng(0), n_labels=4)
    one = train_slots(X, Y, clusters_of([0, 1], [2], n_labels=4))
    other = train_slots(X, Y, clusters_of([3], n_labels=4))
    narrow = train_slots(X[:, :5], Y, clusters_of([3], n_labels=4))
    in_bytes = train_slots(X, Y, clusters_of([3], n_labels=4), weight_bits=8)
    LinearWeights.join([one, other], np.array([0, 1]))
    for parts, part_of_cluster, message in [
        ([one, other], [0, 2], "names a part that is not there"),
        ([one, other], [-1, 0], "names a part that is not there"),
        ([one, other], [0, 1, 1], "either all clusters or those that come from it"),
        ([one, narrow], [0, 1], "differ in features"),
        ([one, in_bytes], [0, 1], "differ in the kind of their weights"),
        ([], [], "at least one part"),
    ]:
        with pytest.raises(ValueError, match=message):
            LinearWeights.join(parts, np.array(part_of_cluster))


HASHED = """
import sys
from polyseme import TextModel
from polyseme.demo import make_corpus
corpus = make_corpus(400, seed=0)
TextModel(verbose=0).fit(corpus.texts, corpus.labels).save(sys.argv[1])
"""


@pytest.mark.slow
def test_a_model_does_not_depend_on_the_order_in_which_a_process_keeps_sets(tmp_path):
    stored = []
    for seed in ("1", "2"):
        place = tmp_path / seed
        command = [sys.executable, "-c", HASHED, str(place)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
        stored.append([file.read_bytes() for file in sorted(place.glob("*.safetensors"))])
    assert len(stored[0]) == 2
    assert stored[0] == stored[1]
