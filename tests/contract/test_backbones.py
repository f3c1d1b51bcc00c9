"""What every matcher and every ranker must do; a new kind is one more line in a list."""

from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier

from polyseme.adapters import ClassifierAsMatcher
from polyseme.backbones.linear.matcher import LinearTreeMatcher
from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.backbones.linear.weights import LinearTraining
from polyseme.backbones.nearest.labels import NearestClusterMatcher
from polyseme.backbones.protocols import Descends, ModelShape, Stores, Weighs
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparseRows
from polyseme.machine.run import Run
from polyseme.partition.label_tree import LabelTree
from tests import toy_backbone
from tests.contract import of_words, reading_words
from tests.contract.four_topics import (
    CLUSTERS,
    FORMS,
    TOPIC,
    TREE,
    documents,
    frozen,
    frozen_copy,
    labels,
    matching,
    no_documents,
    ranking,
    topics,
)
from tests.small_problems import clusters_of, pattern, sparse

MATCHERS = {
    "linear tree": LinearTreeMatcher,
    "linear tree, logistic": lambda: LinearTreeMatcher(
        LinearTraining(loss="logistic"), activation="sigmoid"
    ),
    "linear tree, matcher-aware": lambda: LinearTreeMatcher(training_rows="both", beam_size=2),
    "linear tree, bare margins": lambda: LinearTreeMatcher(activation="none"),
    "nearest clusters": NearestClusterMatcher,
    "ridge classifier": lambda: ClassifierAsMatcher(RidgeClassifier()),
    "centroids": toy_backbone.module().CentroidMatcher,
}
if find_spec("tokenizers") is not None:  # of the extra 'transformer'
    MATCHERS["linear tree of encoded documents"] = of_words.matcher_of_words
RANKERS = {
    "linear slots": LinearSlotRanker,
    "linear slots, logistic": lambda: LinearSlotRanker(
        LinearTraining(loss="logistic"), activation="sigmoid"
    ),
    "linear slots, bare margins": lambda: LinearSlotRanker(activation="none"),
    "centroids": toy_backbone.module().CentroidRanker,
}
if find_spec("torch") is not None:
    for network in reading_words.READINGS:
        MATCHERS[f"reading by {network}"] = partial(reading_words.matcher, network)
        RANKERS[f"reading by {network}"] = partial(reading_words.ranker, network)
# What tells how far it is; the toy is done before there is anything to tell.
TELLING = [name for name in (*MATCHERS, *RANKERS) if name != "centroids"]
# What has scores of any range, so that the order of labels is not learned from them.
BARE = [name for name in (*MATCHERS, *RANKERS) if "bare margins" in name]
RUN = Run()


@pytest.fixture(scope="module", params=MATCHERS.values(), ids=MATCHERS.keys())
def make_matcher(request):
    return request.param


@pytest.fixture(scope="module", params=RANKERS.values(), ids=RANKERS.keys())
def make_ranker(request):
    return request.param


@pytest.fixture(scope="module")
def matcher(make_matcher):
    return make_matcher().fit(documents(), topics(), RUN)


@pytest.fixture(scope="module")
def ranker(make_ranker):
    return make_ranker().fit(documents(), ranking(), RUN)


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
    assert matcher.fit(documents(), topics(), RUN) is matcher


@pytest.mark.parametrize("beam_size", [1, 2, 3, 4, 50])
def test_a_matcher_returns_the_number_of_clusters_it_was_asked_for(matcher, beam_size):
    matched = matcher.match(documents(), beam_size, RUN)
    assert matched.shape == (24, 4)
    assert_canonical(matched)
    assert (np.diff(matched.starts) == min(beam_size, 4)).all()


def test_a_matcher_finds_the_right_cluster(matcher):
    np.testing.assert_array_equal(best_columns(matcher.match(documents(), 4, RUN)), TOPIC)


def test_a_matcher_trained_twice_answers_the_same(make_matcher, matcher):
    again = make_matcher().fit(documents(), topics(), RUN)
    assert_same_rows(matcher.match(documents(), 2, RUN), again.match(documents(), 2, RUN))


def test_a_matcher_does_not_depend_on_the_number_of_threads(make_matcher, matcher):
    three = Run(n_threads=3)
    again = make_matcher().fit(documents(), topics(), three)
    assert_same_rows(matcher.match(documents(), 2, RUN), again.match(documents(), 2, three))


@pytest.mark.parametrize("name", [name for name in MATCHERS if name not in BARE])
def test_scores_of_clusters_are_above_0_and_at_most_1(name):
    matcher = MATCHERS[name]().fit(documents(), topics(), RUN)
    for seen in (documents(), no_documents(2)):
        scores = matcher.match(seen, 4, RUN).values
        assert (scores > 0).all()
        assert (scores <= 1).all()


def test_a_matcher_that_descends_ends_where_it_matches(matcher):
    if isinstance(matcher, Descends):
        beams = matcher.beams(documents(), 2, RUN)
        assert [beam.n_columns for beam in beams] == [2, 4]
        assert_same_rows(beams[-1], matcher.match(documents(), 2, RUN))


def test_a_matcher_sees_each_document_on_its_own(matcher):
    together = matcher.match(documents(), 2, RUN)
    for i in range(24):
        assert_same_rows(matcher.match(documents().take([i]), 2, RUN), together.rows(i, i + 1))


def test_a_matcher_can_start_from_one_of_other_targets(make_matcher, matcher):
    other = matching(np.eye(4)[3 - TOPIC], start_from=matcher)
    again = make_matcher().fit(documents(), other, RUN)
    np.testing.assert_array_equal(best_columns(again.match(documents(), 4, RUN)), 3 - TOPIC)


def test_a_matcher_bears_empty_documents_and_clusters_that_nobody_wants(make_matcher):
    targets = np.eye(4)[TOPIC]
    targets[:, 2] = 0
    matcher = make_matcher().fit(documents(), matching(targets), RUN)
    assert_canonical(matcher.match(no_documents(3), 2, RUN))
    assert matcher.match(no_documents(0), 2, RUN).shape == (0, 4)
    assert 2 not in best_columns(matcher.match(documents(), 4, RUN))[TOPIC != 2]


def test_a_matcher_bears_a_tree_of_one_cluster(make_matcher):
    task = matching(np.ones((24, 1)), LabelTree())
    matcher = make_matcher().fit(documents(), task, RUN)
    matched = matcher.match(documents(), 3, RUN)
    assert matched.shape == (24, 1)
    assert matched.n_stored == 24


@pytest.mark.parametrize("form", FORMS)
def test_a_matcher_takes_features_in_any_form(make_matcher, form):
    matcher = make_matcher().fit(documents(form), topics(), RUN)
    np.testing.assert_array_equal(best_columns(matcher.match(documents(form), 4, RUN)), TOPIC)


def test_a_matcher_takes_a_tree_of_any_shape(make_matcher):
    starts = [np.array(starts, dtype=np.int64) for starts in ([0, 3], [0, 1, 1, 4])]
    task = matching(np.eye(4)[TOPIC], LabelTree(tuple(starts)))
    matcher = make_matcher().fit(documents(), task, RUN)
    np.testing.assert_array_equal(best_columns(matcher.match(documents(), 4, RUN)), TOPIC)


def test_nodes_above_unchanged_clusters_stay_as_they_were(make_matcher, matcher):
    # The documents of topic 1 move to cluster 0; clusters 2 and 3 have what they had.
    moved = np.eye(4)[np.where(TOPIC == 1, 0, TOPIC)]
    changed = np.array([True, True, False, False])
    task = matching(moved, start_from=matcher, changed=changed)
    again = make_matcher().fit(documents(), task, RUN)
    whole = make_matcher().fit(documents(), matching(moved), RUN)
    assert_same_rows(again.match(documents(), 4, RUN), whole.match(documents(), 4, RUN))


def test_a_stored_matcher_answers_as_before(make_matcher, matcher):
    if isinstance(matcher, ClassifierAsMatcher):
        assert not isinstance(matcher, Stores)  # it is code, which files do not hold
        return
    again = stored_and_restored(matcher, make_matcher())
    assert_same_rows(matcher.match(documents(), 3, RUN), again.match(documents(), 3, RUN))


@pytest.mark.parametrize("name", [name for name in MATCHERS if name in TELLING])
def test_a_matcher_tells_how_far_it_is(name):
    fitting, matched = [], []
    matcher = MATCHERS[name]().fit(documents(), topics(), RUN.reporting_to(fitting.append))
    many = Documents.stack([documents()] * 20)
    matcher.match(many, 2, RUN.reporting_to(matched.append))
    assert fitting == sorted(fitting)
    assert fitting[-1] == TREE.n_nodes_below_root
    assert matched[-1] == many.n_rows


# Rankers


def stored_and_restored(part, fresh):
    """Put what a part learned through the form that files have."""
    assert isinstance(part, Stores)
    arrays = {name: frozen_copy(array) for name, array in part.to_arrays().items()}
    fresh.restore(StoredModel("model", {}, arrays, {}), ModelShape(13, 0, TREE, CLUSTERS))
    return fresh


def test_fitting_a_ranker_returns_the_ranker(make_ranker):
    ranker = make_ranker()
    assert ranker.fit(documents(), ranking(), RUN) is ranker


def test_a_ranker_scores_every_slot_of_the_matched_clusters_and_no_other(ranker):
    visits = np.zeros((24, 4))
    visits[0, 1] = visits[1, [0, 3]] = visits[2] = 0.5
    scored = ranker.score(documents(), frozen(sparse(visits)), CLUSTERS, RUN)
    assert scored.shape == (24, CLUSTERS.n_slots)
    assert_canonical(scored)
    for i in range(24):
        visited = np.flatnonzero(visits[i][CLUSTERS.cluster_of_slot])
        np.testing.assert_array_equal(scored.row(i)[0], visited)


def test_a_ranker_puts_the_right_label_first(ranker):
    own_cluster = sparse(np.eye(4)[TOPIC])
    best = CLUSTERS.labels[best_columns(ranker.score(documents(), own_cluster, CLUSTERS, RUN))]
    truth = labels().to_scipy().toarray()
    assert truth[np.arange(24), best].all()


def test_a_ranker_that_is_a_draft_scores_the_same_slots_and_puts_the_right_label_first(
    make_ranker, ranker
):
    draft = make_ranker().fit(documents(), ranking(is_draft=True), RUN)
    own_cluster = sparse(np.eye(4)[TOPIC])
    scored = draft.score(documents(), own_cluster, CLUSTERS, RUN)
    whole = ranker.score(documents(), own_cluster, CLUSTERS, RUN)
    np.testing.assert_array_equal(scored.columns, whole.columns)
    truth = labels().to_scipy().toarray()
    assert truth[np.arange(24), CLUSTERS.labels[best_columns(scored)]].all()


def test_a_ranker_gives_each_sense_of_a_label_a_slot_of_its_own(make_ranker):
    # Both clusters of label 8 see the documents of both topics, and have the label in one of them.
    own = np.eye(4)[TOPIC]
    seen = own + own[:, [3, 1, 2, 0]] * [1, 0, 0, 1]
    task = ranking(rows=seen, own_documents=pattern(own))
    ranker = make_ranker().fit(documents(), task, RUN)
    both = sparse(np.tile([0.5, 0, 0, 0.5], (24, 1)))
    scores = ranker.score(documents(), both, CLUSTERS, RUN).to_scipy().toarray()
    in_first, in_last = CLUSTERS.slots_of(8)
    wanted = labels().to_scipy().toarray()[:, 8] > 0
    first_topic, last_topic = wanted & (TOPIC == 0), wanted & (TOPIC == 3)
    assert (scores[first_topic, in_first] > scores[last_topic, in_first].max()).all()
    assert (scores[last_topic, in_last] > scores[first_topic, in_last].max()).all()


def test_a_ranker_trained_twice_answers_the_same(make_ranker, ranker):
    again = make_ranker().fit(documents(), ranking(), RUN)
    matched = sparse(np.ones((24, 4)))
    assert_same_rows(
        ranker.score(documents(), matched, CLUSTERS, RUN),
        again.score(documents(), matched, CLUSTERS, RUN),
    )


def test_a_ranker_does_not_depend_on_the_number_of_threads(make_ranker, ranker):
    three, matched = Run(n_threads=3), sparse(np.ones((24, 4)))
    again = make_ranker().fit(documents(), ranking(), three)
    assert_same_rows(
        ranker.score(documents(), matched, CLUSTERS, RUN),
        again.score(documents(), matched, CLUSTERS, three),
    )


@pytest.mark.parametrize("name", [name for name in RANKERS if name not in BARE])
def test_scores_of_slots_are_above_0_and_at_most_those_of_their_clusters(name):
    ranker = RANKERS[name]().fit(documents(), ranking(), RUN)
    for seen in (documents(), no_documents(2)):
        matched = sparse(np.full((seen.n_rows, 4), 0.5))
        scores = ranker.score(seen, matched, CLUSTERS, RUN).values
        assert (scores > 0).all()
        assert (scores <= 0.5).all()


def test_a_ranker_that_weighs_has_a_classifier_for_each_slot(ranker):
    if isinstance(ranker, Weighs):
        weights = ranker.all_weights().to_scipy().toarray()
        assert weights.shape == (13, CLUSTERS.n_slots)
        for slot in range(CLUSTERS.n_slots):
            own = ranker.weights_of(slot)
            np.testing.assert_array_equal(own.features, np.flatnonzero(weights[:, slot]))
            np.testing.assert_array_equal(own.weights, weights[own.features, slot])


def test_a_ranker_sees_each_document_on_its_own(ranker):
    matched = sparse(np.eye(4)[TOPIC])
    together = ranker.score(documents(), matched, CLUSTERS, RUN)
    for i in range(24):
        alone = ranker.score(documents().take([i]), matched.take([i]), CLUSTERS, RUN)
        assert_same_rows(alone, together.rows(i, i + 1))


def test_a_ranker_bears_empty_clusters_labels_and_documents(make_ranker):
    clusters = clusters_of([0, 1], [], [2, 3, 4], [], n_labels=9)
    Y = labels().to_scipy().toarray()
    Y[:, 3] = 0
    rows = np.eye(4)[TOPIC]
    rows[:, 2] = 0
    ranker = make_ranker().fit(documents(), ranking(Y, clusters, rows), RUN)
    assert_canonical(ranker.score(documents(), sparse(np.ones((24, 4))), clusters, RUN))
    empty = ranker.score(no_documents(2), sparse(np.ones((2, 4))), clusters, RUN)
    assert (np.diff(empty.starts) == 5).all()
    nowhere = ranker.score(documents(), sparse(np.zeros((24, 4))), clusters, RUN)
    assert nowhere.n_stored == 0


def test_a_ranker_takes_the_own_documents_of_each_cluster(make_ranker, ranker):
    own = np.eye(4)[TOPIC]
    own[np.arange(24) % 6 == 1] = 0
    other = make_ranker().fit(documents(), ranking(own_documents=pattern(own)), RUN)
    matched = sparse(np.eye(4)[TOPIC])
    before = ranker.score(documents(), matched, CLUSTERS, RUN)
    after = other.score(documents(), matched, CLUSTERS, RUN)
    np.testing.assert_array_equal(before.columns, after.columns)
    assert (before.values != after.values).any()


@pytest.mark.parametrize("form", FORMS)
def test_a_ranker_takes_features_in_any_form(make_ranker, form):
    ranker = make_ranker().fit(documents(form), ranking(), RUN)
    scored = ranker.score(documents(form), sparse(np.eye(4)[TOPIC]), CLUSTERS, RUN)
    truth = labels().to_scipy().toarray()
    assert truth[np.arange(24), CLUSTERS.labels[best_columns(scored)]].all()


def test_unchanged_clusters_stay_as_they_were(make_ranker, ranker):
    # Label 0 moves to cluster 1; clusters 2 and 3 have the slots that they had.
    clusters = clusters_of([1, 8], [0, 2, 3], [4, 5], [6, 7, 8], n_labels=9)
    changed = np.array([True, True, False, False])
    task = ranking(clusters=clusters, start_from=ranker, changed=changed)
    again = make_ranker().fit(documents(), task, RUN)
    whole = make_ranker().fit(documents(), ranking(clusters=clusters), RUN)
    everywhere = sparse(np.ones((24, 4)))
    assert_same_rows(
        again.score(documents(), everywhere, clusters, RUN),
        whole.score(documents(), everywhere, clusters, RUN),
    )


def test_a_stored_ranker_answers_as_before(make_ranker, ranker):
    again = stored_and_restored(ranker, make_ranker())
    everywhere = sparse(np.ones((24, 4)))
    assert_same_rows(
        ranker.score(documents(), everywhere, CLUSTERS, RUN),
        again.score(documents(), everywhere, CLUSTERS, RUN),
    )


@pytest.mark.parametrize("name", [name for name in RANKERS if name in TELLING])
def test_a_ranker_tells_how_far_it_is(name):
    fitting, scored = [], []
    ranker = RANKERS[name]().fit(documents(), ranking(), RUN.reporting_to(fitting.append))
    many = Documents.stack([documents()] * 20)
    everywhere = sparse(np.ones((many.n_rows, 4)))
    ranker.score(many, everywhere, CLUSTERS, RUN.reporting_to(scored.append))
    assert fitting == sorted(fitting)
    assert fitting[-1] == CLUSTERS.n_slots
    assert scored[-1] == many.n_rows
