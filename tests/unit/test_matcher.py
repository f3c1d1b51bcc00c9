import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.backbones.linear.matcher import DRAFT_ITER, LinearTreeMatcher
from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.backbones.linear.weights import LinearTraining
from polyseme.backbones.tasks import MatchingTask
from polyseme.machine.run import Run
from polyseme.partition.label_tree import LabelTree
from tests.examples import examples
from tests.oracles import beam_search as oracle
from tests.small_problems import clusters_of, documents, pattern, random_problem, train_slots

ACTIVATIONS = ["l3-hinge", "l2-hinge", "sigmoid", "none"]


RUN = Run()


def fitted(
    X, targets, fan_outs, *, activation="l3-hinge", rows="teacher-forcing", n_threads=1, **how
):
    matcher = LinearTreeMatcher(LinearTraining(**how), rows, 3, activation)
    task = MatchingTask(pattern(targets), LabelTree.uniform(*fan_outs))
    return matcher.fit(documents(X), task, Run(n_threads=n_threads))


def as_dicts(matched):
    return [
        dict(zip(*(part.tolist() for part in matched.row(i)), strict=True))
        for i in range(matched.n_rows)
    ]


def assert_same_beams(found, expected):
    """Compare {id: score} of each document; None stands for one that a tie decides."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        if other is None:
            continue
        np.testing.assert_allclose(
            sorted(one.values()), sorted(other.values()), rtol=2e-4, atol=1e-5
        )
        for node in one.keys() & other.keys():
            assert one[node] == pytest.approx(other[node], rel=2e-4, abs=1e-5)
        for node in one.keys() - other.keys():
            assert one[node] == pytest.approx(min(other.values()), rel=2e-4, abs=1e-5)


@examples(40)
@given(
    seed=st.integers(0, 2**32 - 1),
    fan_outs=st.sampled_from([(), (1,), (5,), (2, 3), (3, 1, 4), (2, 2, 2, 2), (40, 2)]),
    beam_size=st.sampled_from([1, 2, 5, 100]),
    activation=st.sampled_from(ACTIVATIONS),
    n_documents=st.sampled_from([1, 9, 40]),
)
def test_matching_is_a_plain_beam_search_over_the_trained_weights(
    seed, fan_outs, beam_size, activation, n_documents
):
    n_clusters = int(np.prod(fan_outs))
    X, targets = random_problem(np.random.default_rng(seed), n_documents, 12, n_clusters)
    matcher = fitted(X, targets, fan_outs, activation=activation, n_threads=2)
    found = matcher.match(documents(X), beam_size, RUN)
    assert found.shape == (n_documents, n_clusters)
    expected = oracle.beam_search(matcher.levels, X, beam_size, activation)
    assert_same_beams(as_dicts(found), expected)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_margins_become_scores_as_the_activation_says(activation):
    X = np.array([[1.0], [-1.0]])
    weights = train_slots(X, [[1], [0]], clusters_of([0], n_labels=1), bias=0.0)
    features, (weight,), _ = weights.weights_of(0)
    assert features.tolist() == [0]
    margins = np.concatenate([np.linspace(-40, 40, 801), np.linspace(-3, 3, 601)])
    rows = (margins / weight).astype(np.float32)
    matcher = LinearTreeMatcher(activation=activation, levels=[weights])
    found = matcher.match(documents(rows[:, None]), 1, RUN).to_scipy().toarray()[:, 0]
    expected = [oracle.activate(x * float(weight), 1.0, activation) for x in rows]
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-30)
    if activation != "none":
        assert (found > 0).all()
        assert (found <= 1).all()


def test_scores_multiply_along_the_path():
    X, targets = random_problem(np.random.default_rng(0), n_labels=6)
    matcher = fitted(X, targets, (2, 3))
    upper, lower = (beam.to_scipy().toarray() for beam in matcher.beams(documents(X), 6, RUN))
    weights, bias = oracle.dense_weights(matcher.levels[1])
    activate = np.vectorize(lambda margin: oracle.activate(margin, 1.0, "l3-hinge"))
    own = activate(X @ weights.T + bias)
    assert own.max() > 0.1
    np.testing.assert_allclose(lower, np.repeat(upper, 3, axis=1) * own, rtol=1e-4, atol=1e-6)


def test_clusters_with_equal_scores_are_taken_in_the_order_of_their_numbers():
    X, targets = random_problem(np.random.default_rng(1), n_labels=1)
    matcher = fitted(X, np.repeat(targets, 6, axis=1), (6,))
    for beam_size in (1, 3, 5):
        for row in as_dicts(matcher.match(documents(X), beam_size, RUN)):
            assert list(row) == list(range(beam_size))
            assert len(set(row.values())) == 1


def test_a_beam_wider_than_the_tree_reaches_every_cluster():
    X, targets = random_problem(np.random.default_rng(2), n_labels=8)
    matched = fitted(X, targets, (2, 4)).match(documents(X), 2**31 - 1, RUN)
    assert (np.diff(matched.starts) == 8).all()


def test_a_tree_of_one_cluster_matches_every_document_to_it():
    matched = fitted(np.ones((20, 3)), np.ones((20, 1)), ()).match(
        documents(np.ones((20, 3))), 4, RUN
    )
    np.testing.assert_array_equal(matched.to_scipy().toarray(), np.ones((20, 1)))


@pytest.mark.parametrize("n_threads", [2, 5])
@pytest.mark.parametrize("rows", ["teacher-forcing", "matcher-aware", "both"])
def test_matched_clusters_do_not_depend_on_the_number_of_threads(rows, n_threads):
    X, targets = random_problem(np.random.default_rng(3), n_documents=300, n_labels=12)
    one, many = (
        fitted(X, targets, (3, 4), rows=rows, n_threads=n).match(documents(X), 3, RUN)
        for n in (1, n_threads)
    )
    np.testing.assert_array_equal(one.starts, many.starts)
    np.testing.assert_array_equal(one.columns, many.columns)
    np.testing.assert_array_equal(one.values, many.values)


def test_matcher_aware_rows_of_a_node_are_the_documents_of_its_beam():
    X, targets = random_problem(np.random.default_rng(4), n_labels=6)
    targets[:, 0] |= ~targets.any(axis=1)
    matcher = fitted(X, targets, (3, 2), rows="matcher-aware")
    forced = fitted(X, targets, (3, 2))
    # All three nodes are in a beam of three, so every document trains every node.
    everywhere = train_slots(
        X,
        targets,
        clusters_of([0, 1], [2, 3], [4, 5], n_labels=6),
        np.ones((len(X), 3)),
    )
    np.testing.assert_array_equal(matcher.levels[1].bias, everywhere.bias)
    np.testing.assert_array_equal(matcher.levels[0].bias, forced.levels[0].bias)
    assert (matcher.levels[1].bias != forced.levels[1].bias).any()


def test_a_draft_takes_few_passes_and_never_more_than_asked_for():
    X, targets = random_problem(np.random.default_rng(5), n_labels=6)

    def biases(max_iter, is_draft):
        task = MatchingTask(pattern(targets), LabelTree.uniform(3, 2), is_draft=is_draft)
        how = LinearTraining(max_iter=max_iter, tolerance=1e-6)
        levels = LinearTreeMatcher(how).fit(documents(X), task, RUN).levels
        return np.concatenate([weights.bias for weights in levels])

    np.testing.assert_array_equal(biases(20, is_draft=True), biases(DRAFT_ITER, is_draft=False))
    np.testing.assert_array_equal(biases(2, is_draft=True), biases(2, is_draft=False))
    assert (biases(20, is_draft=False) != biases(DRAFT_ITER, is_draft=False)).any()


def test_a_matcher_is_put_together_only_with_a_ranker_of_the_same_activation():
    X, targets = random_problem(np.random.default_rng(6), n_labels=6)
    clusters = clusters_of([0, 1], [2, 3], [4, 5], n_labels=6)
    weights = train_slots(X, targets, clusters)
    matcher = LinearTreeMatcher(activation="sigmoid")
    assert matcher.fused_with(LinearSlotRanker(activation="sigmoid"), clusters) is None
    for activation in ACTIVATIONS:
        ranker = LinearSlotRanker(activation=activation, weights=weights)
        assert (matcher.fused_with(ranker, clusters) is None) == (activation != "sigmoid")


def test_only_the_nodes_above_changed_clusters_are_trained():
    X, targets = random_problem(np.random.default_rng(7), n_labels=6)
    present, told = fitted(X, targets, (3, 2)), []
    changed = np.arange(6) == 5
    task = MatchingTask(
        pattern(targets), LabelTree.uniform(3, 2), start_from=present, changed=changed
    )
    LinearTreeMatcher().fit(documents(X), task, Run(progress=told.append))
    assert told == sorted(told)
    assert told[-1] == 3 + 2
