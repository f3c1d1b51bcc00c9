"""Cross-matching: by matchers that did not see the documents."""

import weakref
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme import XRLinear, estimate_training, load
from polyseme.backbones.linear.matcher import LinearTreeMatcher
from polyseme.backbones.linear.weights import LinearTraining
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.run import Run
from polyseme.partition.label_tree import LabelTree
from polyseme.training.cross_matching import cross_match, split_into_folds, usable_folds
from tests.examples import examples
from tests.oracles.cross_matching import cross_match as match_one_by_one
from tests.small_data import two_senses
from tests.small_problems import documents, pattern, random_problem, sparse

TREE = LabelTree.uniform(2, 4)
SMALL = two_senses(n_documents=300)


class Recorder:
    """A matcher that remembers its training documents; each has a feature of its own."""

    alive: ClassVar = weakref.WeakSet()
    most_alive = 0

    def __init__(self):
        self.seen = None

    def fit(self, documents, task, run):
        assert self.seen is None
        Recorder.alive.add(self)
        Recorder.most_alive = max(Recorder.most_alive, len(Recorder.alive))
        assert task.is_draft
        assert task.start_from is None
        assert task.changed is None
        np.testing.assert_array_equal(documents.sparse.columns, task.targets.columns)
        self.seen = set(documents.sparse.columns)
        return self

    def match(self, documents, beam_size, run):
        assert self.seen.isdisjoint(documents.sparse.columns)
        return documents.sparse


def small_model(**parameters):
    usual = {"max_leaf_size": 8, "beam_size": 2, "senses": "none", "verbose": 0}
    return XRLinear(**usual | parameters)


def assert_same_model(one, other):
    np.testing.assert_array_equal(one.clusters_.labels, other.clusters_.labels)
    np.testing.assert_array_equal(one.slot_documents_, other.slot_documents_)
    for ours, theirs in zip(
        (*one.matcher_.levels, one.ranker_.weights),
        (*other.matcher_.levels, other.ranker_.weights),
        strict=True,
    ):
        for name, array in ours.to_arrays().items():
            np.testing.assert_array_equal(array, theirs.to_arrays()[name])


# Folds


@given(st.integers(2, 40), st.integers(0, 2**31 - 1), st.data())
@examples(50)
def test_every_document_is_in_one_fold_and_folds_are_of_one_size(n_documents, seed, data):
    n_folds = data.draw(st.integers(2, n_documents))
    folds = split_into_folds(n_documents, n_folds, seed)
    assert len(folds) == n_folds
    assert sorted(np.concatenate(folds)) == list(range(n_documents))
    assert np.ptp([len(fold) for fold in folds]) <= 1
    for fold, again in zip(folds, split_into_folds(n_documents, n_folds, seed), strict=True):
        assert (np.diff(fold) > 0).all()
        np.testing.assert_array_equal(fold, again)


def test_another_seed_gives_other_folds():
    first, other = (split_into_folds(50, 2, seed)[0] for seed in (0, 1))
    assert first.tolist() != other.tolist()


# Matching


@given(
    st.integers(0, 2**31 - 1),
    st.integers(2, 14),
    st.sampled_from(["teacher-forcing", "both"]),
    st.data(),
)
@examples(15)
def test_matches_are_those_of_the_documents_one_by_one(seed, n_documents, training_rows, data):
    n_folds = data.draw(st.integers(2, n_documents))
    X, targets = random_problem(np.random.default_rng(seed), n_documents, n_labels=8)

    def make_matcher():
        return LinearTreeMatcher(LinearTraining(), training_rows, beam_size=2)

    run = Run(seed)
    matched = cross_match(make_matcher, documents(X), pattern(targets), TREE, 3, n_folds, run)
    folds = split_into_folds(n_documents, n_folds, seed)
    expected = match_one_by_one(make_matcher, X, targets, TREE, 3, folds, run)
    np.testing.assert_array_equal(matched.to_scipy().toarray(), expected)
    assert (np.diff(matched.starts) == 3).all()
    assert (matched.starts.dtype, matched.columns.dtype) == (np.int64, np.int32)


@pytest.mark.parametrize("n_folds", [2, 3, 7])
def test_no_matcher_sees_its_documents_and_there_is_one_at_a_time(n_folds):
    Recorder.most_alive = 0
    identity = np.eye(7)
    matched = cross_match(
        Recorder, documents(identity), pattern(identity), TREE, 2, n_folds, Run()
    )
    np.testing.assert_array_equal(matched.to_scipy().toarray(), np.eye(7))
    assert Recorder.most_alive == 1


def test_every_fold_has_a_fresh_matcher():
    made = []

    def make_matcher():
        made.append(Recorder())
        return made[-1]

    identity = np.eye(7)
    cross_match(make_matcher, documents(identity), pattern(identity), TREE, 2, 3, Run())
    assert sorted(len(matcher.seen) for matcher in made) == [4, 5, 5]


def test_progress_counts_the_nodes_of_all_folds():
    X, targets = random_problem(np.random.default_rng(0), 200)
    done = []
    run = Run(progress=done.append)
    cross_match(LinearTreeMatcher, documents(X), pattern(targets), TREE, 3, 4, run)
    assert done == sorted(done)
    assert done[-1] <= 4 * TREE.n_nodes_below_root == 40


def test_stacked_rows_keep_their_order_and_stored_zeros():
    zero = SparseRows(np.array([0, 1]), np.array([2], "i4"), np.zeros(1, "f4"), 3)
    stacked = SparseRows.stack([sparse([[1, 0, 2], [0, 0, 0]]), zero, sparse([[0, 4, 0]])])
    assert stacked.starts.tolist() == [0, 2, 2, 3, 4]
    assert stacked.columns.tolist() == [0, 2, 2, 1]
    assert stacked.values.tolist() == [1, 2, 0, 4]


# The estimator


@pytest.mark.parametrize("parameters", [{}, {"training_rows": "both", "rounds": 2}], ids=str)
def test_empty_documents_and_documents_without_labels_are_no_trouble(parameters):
    X, Y = SMALL.X.toarray(), SMALL.Y.toarray()
    X[::3] = 0
    Y[::4] = 0
    for labels in (Y, np.zeros_like(Y), Y[:, :1]):
        model = small_model(match_folds=3, **parameters).fit(X, labels)
        assert (model.predict_top_k(X, 1)[0] >= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"assignment": "adaptive", "rounds": 2},
        {"training_rows": "both", "sense_positives": True},
        {"finetune_matcher": False},
    ],
    ids=str,
)
def test_the_model_depends_on_the_seed_and_not_on_threads(parameters):
    one, again, other = (
        small_model(match_folds=3, n_jobs=n_threads, random_state=seed, **parameters).fit(
            SMALL.X, SMALL.Y
        )
        for n_threads, seed in ((1, 0), (2, 0), (2, 1))
    )
    assert_same_model(one, again)
    assert one.clusters_.labels.tolist() != other.clusters_.labels.tolist()


def test_without_a_question_to_the_matcher_folds_change_nothing():
    for finetune_matcher in (True, False):
        parameters = {"rounds": 0, "finetune_matcher": finetune_matcher}
        folds = small_model(match_folds=3, **parameters).fit(SMALL.X, SMALL.Y)
        assert_same_model(folds, small_model(**parameters).fit(SMALL.X, SMALL.Y))
        assert "Cross-matching" not in folds.phase_seconds_


def test_the_matcher_that_is_kept_has_seen_all_documents():
    folds = small_model(match_folds=3, finetune_matcher=False).fit(SMALL.X, SMALL.Y)
    plain = small_model(rounds=0).fit(SMALL.X, SMALL.Y)
    for ours, theirs in zip(folds.matcher_.levels, plain.matcher_.levels, strict=True):
        np.testing.assert_array_equal(ours.bytes, theirs.bytes)


def test_the_matcher_is_trained_once_where_drafts_of_folds_choose_the_slots():
    model = small_model(match_folds=2).fit(SMALL.X, SMALL.Y)
    assert list(model.phase_seconds_) == [
        "Label tree",
        "Cross-matching",
        "Assigning labels",
        "Training the matcher again",
        "Training the ranker",
        "Learning the order",
    ]


@pytest.mark.parametrize("asks", [{"training_rows": "both"}, {"sense_positives": True}], ids=str)
def test_rows_and_positives_of_the_ranker_come_from_held_out_matches(asks):
    folds, plain = (
        small_model(rounds=0, beam_size=1, match_folds=n, **asks).fit(SMALL.X, SMALL.Y)
        for n in (4, 0)
    )
    for ours, theirs in zip(folds.matcher_.levels, plain.matcher_.levels, strict=True):
        np.testing.assert_array_equal(ours.bytes, theirs.bytes)
    ours, theirs = folds.ranker_.weights.to_rows(), plain.ranker_.weights.to_rows()
    assert ours.shape == theirs.shape
    assert not np.array_equal(ours.values, theirs.values)


def test_a_label_learned_by_heart_is_reached_only_by_those_who_saw_it():
    """Labels at random: nothing can be known of a document that was not seen."""
    rng = np.random.default_rng(0)
    X = np.eye(200, dtype=np.float32) + 0.1 * rng.random((200, 200), dtype=np.float32)
    Y = np.eye(40, dtype=np.int8)[rng.integers(40, size=200)]
    reached, n_slots = {}, {}
    for n_folds in (0, 4):
        model = small_model(match_folds=n_folds, assignment="adaptive", max_leaf_size=2)
        last = model.fit(X, Y).assignments_[-1]
        reached[n_folds] = last["reached_before"] / last["n_positives"]
        n_slots[n_folds] = model.clusters_.n_slots
    assert reached[0] > 0.9
    assert reached[4] < 0.5
    assert n_slots[4] > n_slots[0] + 10


def test_folds_are_remembered_by_a_saved_model(tmp_path):
    small_model(match_folds=3).fit(SMALL.X, SMALL.Y).save(tmp_path / "model")
    assert load(tmp_path / "model").match_folds == 3


def test_there_are_no_more_folds_than_documents():
    assert [usable_folds(n_documents, 5) for n_documents in (9, 5, 4, 2, 1)] == [5, 5, 4, 2, 0]
    X, Y = np.eye(4, dtype=np.float32), np.eye(4, dtype=np.int8)
    for n_documents, phase in {4: "Cross-matching", 1: "Matching"}.items():
        model = small_model(match_folds=5).fit(X[:n_documents], Y[:n_documents])
        assert phase in model.phase_seconds_
        estimated = estimate_training(model, X[:n_documents], Y[:n_documents])
        assert estimated.seconds.keys() == model.phase_seconds_.keys()
