"""What every matcher and every ranker must do; a new kind is one more line in a list."""

from copy import deepcopy

import numpy as np
import pytest

from polyseme.backbones.linear.matcher import LinearTreeMatcher
from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.backbones.linear.weights import LinearTraining
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.partition.label_tree import LabelTree
from tests.small_problems import clusters_of, pattern, sparse

MATCHERS = {
    "linear tree": LinearTreeMatcher,
    "linear tree, logistic": lambda: LinearTreeMatcher(
        LinearTraining(loss="logistic"), activation="sigmoid"
    ),
    "linear tree, matcher-aware": lambda: LinearTreeMatcher(training_rows="both", beam_size=2),
    "linear tree, bare margins": lambda: LinearTreeMatcher(activation="none"),
}
RANKERS = {
    "linear slots": LinearSlotRanker,
    "linear slots, logistic": lambda: LinearSlotRanker(
        LinearTraining(loss="logistic"), activation="sigmoid"
    ),
    "linear slots, bare margins": lambda: LinearSlotRanker(activation="none"),
}

# Four topics of six documents; a document has two of its topic's three words. Each topic is a
# cluster of two labels, and label 8 is at home in topics 0 and 3.
TREE = LabelTree.uniform(2, 2)
TOPIC = np.repeat(np.arange(4), 6)
CLUSTERS = clusters_of([0, 1, 8], [2, 3], [4, 5], [6, 7, 8], n_labels=9)


def frozen(rows):
    """Make the arrays read-only: nobody may write into what was given."""
    for part in vars(rows).values():
        if isinstance(part, np.ndarray):
            part.flags.writeable = False
    return rows


def documents():
    X = np.zeros((24, 13), dtype=np.float32)
    for i, topic in enumerate(TOPIC):
        X[i, topic * 3 : topic * 3 + 3] = 1
        X[i, topic * 3 + i % 3] = 0
        X[i, 12] = 0.1
    return frozen(sparse(X))


def labels():
    Y = np.zeros((24, 9))
    Y[np.arange(24), TOPIC * 2 + (np.arange(24) % 3 == 0)] = 1
    Y[(TOPIC % 3 == 0) & (np.arange(24) % 3 == 1), 8] = 1
    return frozen(pattern(Y))


def topic_targets():
    return frozen(pattern(np.eye(4)[TOPIC]))


@pytest.fixture(params=MATCHERS.values(), ids=MATCHERS.keys())
def make_matcher(request):
    return request.param


@pytest.fixture(params=RANKERS.values(), ids=RANKERS.keys())
def make_ranker(request):
    return request.param


@pytest.fixture
def matcher(make_matcher):
    return make_matcher().fit(documents(), topic_targets(), TREE)


@pytest.fixture
def ranker(make_ranker):
    return make_ranker().fit(documents(), labels(), CLUSTERS, topic_targets())


def assert_same_rows(one, other):
    assert one.shape == other.shape
    np.testing.assert_array_equal(one.starts, other.starts)
    np.testing.assert_array_equal(one.columns, other.columns)
    np.testing.assert_array_equal(one.values, other.values)


def assert_canonical(rows):
    assert isinstance(rows, SparseRows)
    assert (rows.starts.dtype, rows.columns.dtype, rows.values.dtype) == ("i8", "i4", "f4")
    assert np.isfinite(rows.values).all()
    for i in range(rows.n_rows):
        assert (np.diff(rows.row(i)[0]) > 0).all()


def best_columns(rows):
    return np.array([rows.row(i)[0][rows.row(i)[1].argmax()] for i in range(rows.n_rows)])


# Matchers


def test_fitting_a_matcher_returns_the_matcher(make_matcher):
    matcher = make_matcher()
    assert matcher.fit(documents(), topic_targets(), TREE) is matcher


@pytest.mark.parametrize("beam_size", [1, 2, 3, 4, 50])
def test_a_matcher_returns_the_number_of_clusters_it_was_asked_for(matcher, beam_size):
    matched = matcher.match(documents(), beam_size)
    assert matched.shape == (24, 4)
    assert_canonical(matched)
    assert (np.diff(matched.starts) == min(beam_size, 4)).all()


def test_a_matcher_finds_the_right_cluster(matcher):
    np.testing.assert_array_equal(best_columns(matcher.match(documents(), 4)), TOPIC)


def test_a_matcher_trained_twice_answers_the_same(make_matcher, matcher):
    again = make_matcher().fit(documents(), topic_targets(), TREE)
    assert_same_rows(matcher.match(documents(), 2), again.match(documents(), 2))


def test_a_copy_of_an_untrained_matcher_learns_as_the_matcher_does(make_matcher, matcher):
    untrained = make_matcher()
    copied = deepcopy(untrained)
    untrained.fit(documents(), pattern(np.eye(4)[3 - TOPIC]), TREE)
    copied.fit(documents(), topic_targets(), TREE)
    assert_same_rows(matcher.match(documents(), 2), copied.match(documents(), 2))


def test_a_matcher_sees_each_document_on_its_own(matcher):
    together = matcher.match(documents(), 2)
    for i in range(24):
        assert_same_rows(matcher.match(documents().take([i]), 2), together.rows(i, i + 1))


def test_a_matcher_can_be_trained_again_for_other_targets(matcher):
    other = pattern(np.eye(4)[3 - TOPIC])
    again = matcher.fit(documents(), other, TREE, start_from=matcher)
    np.testing.assert_array_equal(best_columns(again.match(documents(), 4)), 3 - TOPIC)


def test_a_matcher_bears_empty_documents_and_clusters_that_nobody_wants(make_matcher):
    targets = np.eye(4)[TOPIC]
    targets[:, 2] = 0
    matcher = make_matcher().fit(documents(), pattern(targets), TREE)
    empty = sparse(np.zeros((3, 13)))
    assert_canonical(matcher.match(empty, 2))
    assert matcher.match(empty.rows(0, 0), 2).shape == (0, 4)
    assert 2 not in best_columns(matcher.match(documents(), 4))[TOPIC != 2]


def test_a_matcher_bears_a_tree_of_one_cluster(make_matcher):
    matcher = make_matcher().fit(documents(), pattern(np.ones((24, 1))), LabelTree())
    matched = matcher.match(documents(), 3)
    assert matched.shape == (24, 1)
    assert matched.n_stored == 24


def test_a_matcher_tells_how_far_it_is(make_matcher):
    seen = []
    matcher = make_matcher().fit(documents(), topic_targets(), TREE, progress=seen.append)
    matcher.match(documents(), 2, progress=seen.append)
    assert all(isinstance(done, int) for done in seen)


# Rankers


def test_fitting_a_ranker_returns_the_ranker(make_ranker):
    ranker = make_ranker()
    assert ranker.fit(documents(), labels(), CLUSTERS, topic_targets()) is ranker


def test_a_ranker_scores_every_slot_of_the_matched_clusters_and_no_other(ranker):
    visits = np.zeros((24, 4))
    visits[0, 1] = visits[1, [0, 3]] = visits[2] = 0.5
    scored = ranker.score(documents(), frozen(sparse(visits)), CLUSTERS)
    assert scored.shape == (24, CLUSTERS.n_slots)
    assert_canonical(scored)
    for i in range(24):
        visited = np.flatnonzero(visits[i][CLUSTERS.cluster_of_slot])
        np.testing.assert_array_equal(scored.row(i)[0], visited)


def test_a_ranker_puts_the_right_label_first(ranker):
    own_cluster = sparse(np.eye(4)[TOPIC])
    best = CLUSTERS.labels[best_columns(ranker.score(documents(), own_cluster, CLUSTERS))]
    truth = labels().to_scipy().toarray()
    assert truth[np.arange(24), best].all()


def test_a_ranker_gives_each_sense_of_a_label_a_slot_of_its_own(ranker):
    both = sparse(np.tile([0.5, 0, 0, 0.5], (24, 1)))
    scores = ranker.score(documents(), both, CLUSTERS).to_scipy().toarray()
    in_first, in_last = CLUSTERS.slots_of(8)
    wanted = labels().to_scipy().toarray()[:, 8] > 0
    first_topic, last_topic = wanted & (TOPIC == 0), wanted & (TOPIC == 3)
    assert (scores[first_topic, in_first] > scores[last_topic, in_first].max()).all()
    assert (scores[last_topic, in_last] > scores[first_topic, in_last].max()).all()


def test_a_ranker_trained_twice_answers_the_same(make_ranker, ranker):
    again = make_ranker().fit(documents(), labels(), CLUSTERS, topic_targets())
    matched = sparse(np.ones((24, 4)))
    assert_same_rows(
        ranker.score(documents(), matched, CLUSTERS), again.score(documents(), matched, CLUSTERS)
    )


def test_a_ranker_sees_each_document_on_its_own(ranker):
    matched = sparse(np.eye(4)[TOPIC])
    together = ranker.score(documents(), matched, CLUSTERS)
    for i in range(24):
        alone = ranker.score(documents().take([i]), matched.take([i]), CLUSTERS)
        assert_same_rows(alone, together.rows(i, i + 1))


def test_a_ranker_bears_empty_clusters_labels_and_documents(make_ranker):
    clusters = clusters_of([0, 1], [], [2, 3, 4], [], n_labels=9)
    Y = labels().to_scipy().toarray()
    Y[:, 3] = 0
    rows = np.eye(4)[TOPIC]
    rows[:, 2] = 0
    ranker = make_ranker().fit(documents(), pattern(Y), clusters, pattern(rows))
    assert_canonical(ranker.score(documents(), sparse(np.ones((24, 4))), clusters))
    empty = ranker.score(sparse(np.zeros((2, 13))), sparse(np.ones((2, 4))), clusters)
    assert (np.diff(empty.starts) == 5).all()
    nowhere = ranker.score(documents(), sparse(np.zeros((24, 4))), clusters)
    assert nowhere.n_stored == 0


def test_a_ranker_takes_the_own_documents_of_each_cluster(make_ranker, ranker):
    own = np.eye(4)[TOPIC]
    own[np.arange(24) % 6 == 0] = 0
    other = make_ranker().fit(
        documents(), labels(), CLUSTERS, topic_targets(), own_documents=pattern(own)
    )
    matched = sparse(np.eye(4)[TOPIC])
    before = ranker.score(documents(), matched, CLUSTERS)
    after = other.score(documents(), matched, CLUSTERS)
    np.testing.assert_array_equal(before.columns, after.columns)
    assert (before.values != after.values).any()


def test_a_ranker_tells_how_far_it_is(make_ranker):
    seen = []
    ranker = make_ranker().fit(
        documents(), labels(), CLUSTERS, topic_targets(), progress=seen.append
    )
    ranker.score(documents(), sparse(np.ones((24, 4))), CLUSTERS, progress=seen.append)
    assert all(isinstance(done, int) for done in seen)
