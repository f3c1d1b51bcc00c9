import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.backbones.linear.ranker import LinearSlotRanker
from polyseme.backbones.linear.weights import LinearTraining
from polyseme.backbones.tasks import RankingTask
from polyseme.machine.run import Run
from tests.examples import examples
from tests.oracles import beam_search as oracle
from tests.small_problems import clusters_of, documents, pattern, random_problem, sparse


def random_clusters(rng, n_labels, n_clusters):
    """Overlapping ones, some of them empty."""
    member = rng.random((n_labels, n_clusters)) < 0.4
    member[:, rng.random(n_clusters) < 0.2] = False
    return clusters_of(*(np.flatnonzero(column) for column in member.T), n_labels=n_labels)


RUN = Run()


def fitted(X, Y, clusters, *, activation="l3-hinge", n_threads=1, **how):
    ranker = LinearSlotRanker(LinearTraining(**how), activation)
    rows = np.ones((len(X), clusters.n_clusters))
    task = RankingTask(pattern(Y), clusters, pattern(rows))
    return ranker.fit(documents(X), task, Run(n_threads=n_threads))


@examples(40)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_labels=st.sampled_from([1, 5, 20, 60]),
    n_clusters=st.integers(1, 6),
    activation=st.sampled_from(["l3-hinge", "sigmoid", "none"]),
)
def test_scores_are_those_of_the_trained_weights_for_the_slots_of_matched_clusters(
    seed, n_labels, n_clusters, activation
):
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng, 20, 12, n_labels)
    clusters = random_clusters(rng, n_labels, n_clusters)
    ranker = fitted(X, Y, clusters, activation=activation)
    scores = rng.random((20, n_clusters)) * (rng.random((20, n_clusters)) < 0.5)
    found = ranker.score(documents(X), sparse(scores), clusters, RUN)

    beams = [{c: row[c] for c in np.flatnonzero(row)} for row in scores.astype(np.float32)]
    expected = oracle.score_slots(ranker.weights, X, beams, activation)
    assert found.shape == (20, clusters.n_slots)
    for i, slots in enumerate(expected):
        columns, values = found.row(i)
        assert columns.tolist() == sorted(slots)
        np.testing.assert_allclose(values, [slots[slot] for slot in columns], rtol=2e-4, atol=1e-5)


def test_without_activation_the_score_of_the_cluster_does_not_matter():
    X, Y = random_problem(np.random.default_rng(0))
    clusters = clusters_of(range(8), n_labels=8)
    ranker = fitted(X, Y, clusters, activation="none")
    sure, unsure = (
        ranker.score(documents(X), sparse(np.full((len(X), 1), score)), clusters, RUN)
        for score in (1.0, 0.1)
    )
    np.testing.assert_array_equal(sure.values, unsure.values)
    assert (sure.values < 0).any()


@pytest.mark.parametrize("n_threads", [2, 5])
def test_scores_do_not_depend_on_the_number_of_threads(n_threads):
    rng = np.random.default_rng(1)
    X, Y = random_problem(rng, n_documents=700, n_labels=30)
    clusters = random_clusters(rng, 30, 5)
    matched = sparse(rng.random((700, 5)) * (rng.random((700, 5)) < 0.5))
    one, many = (
        fitted(X, Y, clusters, n_threads=n).score(documents(X), matched, clusters, RUN)
        for n in (1, n_threads)
    )
    np.testing.assert_array_equal(one.columns, many.columns)
    np.testing.assert_array_equal(one.values, many.values)


def test_a_ranker_that_was_not_trained_says_so():
    clusters = clusters_of([0], n_labels=1)
    with pytest.raises(ValueError, match="call fit first"):
        LinearSlotRanker().score(documents([[1.0]]), sparse([[1.0]]), clusters, RUN)


def test_matched_clusters_that_do_not_exist_are_refused():
    clusters = clusters_of([0], [1], n_labels=2)
    ranker = fitted(np.eye(2), np.eye(2), clusters)
    with pytest.raises(ValueError, match="matched"):
        ranker.score(documents(np.eye(2)), sparse([[0, 0, 1.0], [1.0, 0, 0]]), clusters, RUN)
    with pytest.raises(ValueError, match="matched"):
        ranker.score(documents(np.eye(2)), sparse([[1.0, 0]]), clusters, RUN)
