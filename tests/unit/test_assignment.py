from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pytest
import scipy.sparse as sp

from polyseme import assignment
from polyseme.machine.run import Run
from polyseme.partition.assignment import METHODS, AssignmentPlan, CoOccurrence
from polyseme.partition.label_clusters import LabelClusters
from polyseme.partition.label_tree import LabelTree
from tests.examples import so_many
from tests.oracles import assignment as oracle
from tests.random_matrices import random_sparse


@dataclass
class Problem:
    """A small problem in the dense form of the oracles; scores are coarse, so that they tie."""

    Y: np.ndarray
    is_matched: np.ndarray
    matched: np.ndarray
    present: np.ndarray

    @classmethod
    def random(cls, rng: np.random.Generator, most_labels: int = 12, most_documents: int = 25):
        n_labels = int(rng.integers(1, most_labels + 1))
        n_documents = int(rng.integers(1, most_documents + 1))
        n_clusters = int(rng.integers(1, 8))
        Y = rng.random((n_documents, n_labels)) < 0.6 * rng.random(n_labels) ** 2
        popular = rng.dirichlet(np.full(n_clusters, 0.5)) * rng.uniform(1, 4)
        is_matched = rng.random((n_documents, n_clusters)) < popular
        matched = np.where(is_matched, rng.integers(1, 5, is_matched.shape) / 4, 0)
        present = np.zeros((n_labels, n_clusters), dtype=bool)
        present[np.arange(n_labels), rng.integers(n_clusters, size=n_labels)] = True
        return cls(Y, is_matched, matched, present)

    @cached_property
    def dense(self) -> tuple[np.ndarray, np.ndarray]:
        return oracle.co_occurrence(self.Y, self.matched, self.is_matched)

    @cached_property
    def counted(self) -> CoOccurrence:
        return assignment.co_occurrence(sp.csr_array(self.Y), sp.csr_array(self.matched))

    @cached_property
    def clusters(self) -> LabelClusters:
        return LabelClusters.from_matrix(self.present)

    def choose(self, method: str, copies: int, **options: int) -> np.ndarray:
        return as_dense(METHODS[method](self.counted, self.clusters, copies, **options).clusters)

    def count_reached(self, chosen: np.ndarray) -> int:
        return oracle.count_reached(self.Y, self.is_matched, chosen)

    @property
    def smallest_size(self) -> int:
        return -(-self.present.shape[0] // self.present.shape[1])


def as_dense(clusters: LabelClusters) -> np.ndarray:
    return clusters.to_matrix().toarray() > 0


def random_problems(seed: int, n_problems: int, **sizes: int):
    rng = np.random.default_rng(seed)
    for _ in range(so_many(n_problems, 40)):
        yield Problem.random(rng, **sizes)


def big_problem(n_labels: int = 3000, n_documents: int = 4000, n_clusters: int = 60) -> Problem:
    rng = np.random.default_rng(5)
    Y = random_sparse((n_documents, n_labels), 0.003, rng).toarray() > 0
    matched = random_sparse((n_documents, n_clusters), 0.1, rng).toarray()
    present = np.zeros((n_labels, n_clusters), dtype=bool)
    present[np.arange(n_labels), np.arange(n_labels) % n_clusters] = True
    return Problem(Y, matched > 0, matched, present)


def test_co_occurrence_and_reach_equal_their_dense_twins():
    for problem in random_problems(0, 300):
        counts, scores = problem.dense
        np.testing.assert_array_equal(problem.counted.counts.toarray(), counts)
        np.testing.assert_array_equal(problem.counted.scores.toarray(), scores)
        value = assignment.count_reached(
            sp.csr_array(problem.Y), sp.csr_array(problem.matched), problem.clusters
        )
        assert value == problem.count_reached(problem.present)
        assert value == problem.counted.count_reached(problem.clusters)


def test_a_stored_score_of_any_sign_is_a_match():
    matched = sp.csr_array(([-1.5, 0.0], ([0, 0], [0, 2])), shape=(1, 3))
    counted = assignment.co_occurrence(sp.csr_array([[1.0]]), matched)
    assert counted.counts.toarray().tolist() == [[1, 0, 1]]
    assert counted.scores.toarray().tolist() == [[-1.5, 0, 0]]


def test_unsorted_duplicate_and_read_only_input_is_understood_and_left_alone():
    columns, scores = np.array([2, 0, 2], np.int64), np.array([1.0, 2.0, 3.0])
    for array in (columns, scores):
        array.flags.writeable = False
    matched = sp.csr_array((scores, columns, np.array([0, 3], np.int64)), shape=(1, 3))
    counted = assignment.co_occurrence(sp.coo_array([[1, 1]]), matched)
    assert counted.counts.toarray().tolist() == [[1, 0, 1], [1, 0, 1]]
    assert counted.scores.toarray().tolist() == [[2, 0, 4], [2, 0, 4]]
    assert matched.indices.tolist() == [2, 0, 2]


def test_progress_is_told_how_many_labels_are_done():
    problem = big_problem()
    seen: list[int] = []
    assignment.co_occurrence(
        sp.csr_array(problem.Y), sp.csr_array(problem.matched), progress=seen.append
    )
    assert seen[-1] == problem.Y.shape[1]


def test_closed_form_equals_its_twin():
    for problem in random_problems(1, 300):
        for copies in (1, 2, 3):
            expected = oracle.closed_form(*problem.dense, problem.present, copies)
            np.testing.assert_array_equal(problem.choose("closed_form", copies), expected)


def test_ties_go_to_the_score_then_the_present_cluster_then_the_lower_id():
    def first_choice(scores: list[float], present: int) -> int:
        counted = assignment.co_occurrence(sp.csr_array([[1.0]]), sp.csr_array([scores]))
        clusters = LabelClusters.from_partition([present], 3)
        return int(assignment.closed_form(counted, clusters, 1).clusters.cluster_of_slot[0])

    assert first_choice([0.5, 0.5, 0.75], present=0) == 2
    assert first_choice([0.5, 0.5, 0.5], present=1) == 1
    assert first_choice([0, 0.5, 0.5], present=0) == 1


@pytest.mark.slow
def test_coverage_equals_its_twin():
    for problem in random_problems(2, 300):
        for copies in (1, 2, 3, 4):
            expected = oracle.coverage(
                problem.Y, problem.is_matched, *problem.dense, problem.present, copies
            )
            np.testing.assert_array_equal(problem.choose("coverage", copies), expected)


@pytest.mark.slow
def test_coverage_is_never_below_the_closed_form_and_the_best_where_copies_are_two():
    for problem in random_problems(3, 2000):
        counted, present = problem.counted, problem.clusters
        pair = assignment.coverage(counted, present, 2).reached_after
        assert pair == oracle.best_cover(problem.Y, problem.is_matched, 2)
        assert pair >= assignment.closed_form(counted, present, 2).reached_after
        three = assignment.coverage(counted, present, 3).reached_after
        assert three >= assignment.closed_form(counted, present, 3).reached_after


def test_coverage_uses_as_many_slots_as_the_closed_form():
    for problem in random_problems(4, 100):
        slots = problem.choose("coverage", 3).sum(axis=1)
        np.testing.assert_array_equal(slots, problem.choose("closed_form", 3).sum(axis=1))


@pytest.mark.slow
def test_capped_is_feasible_and_within_one_percent_of_the_exact_optimum():
    rng = np.random.default_rng(6)
    for problem in random_problems(6, 300, most_labels=30, most_documents=60):
        counts, _ = problem.dense
        copies = int(rng.integers(1, 4))
        size = problem.smallest_size + int(rng.integers(0, problem.smallest_size + 2))
        chosen = problem.choose("capped", copies, max_cluster_size=size)
        assert chosen.sum(axis=0).max() <= size
        assert chosen.sum(axis=1).min() >= 1
        assert chosen.sum(axis=1).max() <= copies
        best = oracle.best_capped_total(counts, copies, size)
        # One percent of a small total is less than one count.
        assert (counts * chosen).sum() >= min(0.99 * best, best - 1)


def test_capped_with_room_for_all_is_the_closed_form():
    for problem in random_problems(7, 200):
        for copies in (1, 2, 3):
            size = problem.present.shape[0]
            chosen = problem.choose("capped", copies, max_cluster_size=size)
            np.testing.assert_array_equal(chosen, problem.choose("closed_form", copies))


def test_capped_keeps_clusters_at_three_times_the_mean_unless_told():
    everybody_in_one = sp.csr_array((np.ones(20), (np.arange(20), np.zeros(20))), shape=(20, 10))
    counted = assignment.co_occurrence(sp.eye_array(20).tocsr(), everybody_in_one)
    present = LabelClusters.from_partition(np.arange(20) // 2, 10)
    result = assignment.capped(counted, present, 2)
    assert assignment.default_max_cluster_size(present) == 6
    assert assignment.default_max_cluster_size(present, copies=5) == 15
    assert result.clusters.sizes[0] == 6
    # The others stay where they are, as far as there is room.
    stayed = as_dense(result.clusters) & as_dense(present)
    assert (stayed.any(axis=1) | as_dense(result.clusters)[:, 0]).all()


def test_a_label_without_room_at_home_goes_where_most_room_is():
    matched = sp.csr_array(np.array([[1.0, 0, 0]] * 2))
    counted = assignment.co_occurrence(sp.csr_array(np.eye(2)), matched)
    present = LabelClusters.from_partition([0, 0], 3)
    chosen = as_dense(assignment.capped(counted, present, 2, max_cluster_size=1).clusters)
    assert chosen.tolist() == [[True, False, False], [False, True, False]]


def test_adaptive_equals_its_twin_where_no_cluster_is_full():
    for problem in random_problems(8, 300):
        for copies in (1, 2, 3):
            expected = oracle.adaptive(
                problem.Y, problem.is_matched, *problem.dense, problem.present, copies
            )
            size = problem.present.shape[0]
            chosen = problem.choose("adaptive", copies, max_cluster_size=size)
            np.testing.assert_array_equal(chosen, expected)


def test_adaptive_keeps_its_budget_and_the_size_of_clusters():
    for problem in random_problems(9, 300):
        size = problem.smallest_size + 1
        chosen = problem.choose("adaptive", 2, max_cluster_size=size)
        assert chosen.sum() <= 2 * len(chosen)
        assert chosen.sum(axis=0).max() <= size
        assert chosen.sum(axis=1).min() >= 1
        first = problem.choose("capped", 1, max_cluster_size=size)
        assert (chosen >= first).all()
        n_added = chosen.sum() - first.sum()
        assert problem.count_reached(chosen) >= problem.count_reached(first) + n_added
        if n_added < len(chosen):  # budget left: no cluster with room would add anything
            has_room = chosen.sum(axis=0) < size
            widened = chosen | (has_room & (problem.dense[0] > 0))
            assert problem.count_reached(widened) == problem.count_reached(chosen)


def test_adaptive_gives_more_slots_to_a_label_with_more_senses():
    # Label 0: three documents in three clusters. Labels 1 and 2: one cluster each.
    Y = sp.csr_array(np.array([[1, 0, 0]] * 3 + [[0, 1, 0]] * 2 + [[0, 0, 1]]))
    matched = sp.csr_array(np.eye(3)[[0, 1, 2, 0, 0, 1]])
    counted = assignment.co_occurrence(Y, matched)
    present = LabelClusters.from_partition([0, 1, 2], 3)
    result = assignment.adaptive(counted, present, 2)
    assert result.clusters.copies.tolist() == [3, 1, 1]
    assert (result.reached_before, result.reached_after) == (1, 6)
    assert (result.reach_before, result.reach_after) == (1 / 6, 1.0)


def test_strongest_equals_its_twin():
    rng = np.random.default_rng(13)
    for problem in random_problems(13, 300):
        for copies in (1, 2, 3):
            size = problem.smallest_size + int(rng.integers(0, 5))
            first = problem.choose("capped", 1, max_cluster_size=size)
            expected = oracle.strongest(*problem.dense, first, copies * len(first), size)
            chosen = problem.choose("strongest", copies, max_cluster_size=size)
            np.testing.assert_array_equal(chosen, expected)


def test_strongest_loses_no_label_and_fills_clusters_alike_within_its_budget():
    for problem in random_problems(14, 300):
        chosen = problem.choose("strongest", 2)
        first = problem.choose("capped", 1)
        assert (chosen >= first).all()
        assert chosen.sum() <= 2 * len(chosen)
        # A cluster that was filled is as large as any other, or has no candidate left.
        sizes, candidates = chosen.sum(axis=0), (problem.dense[0] > 0) & ~chosen
        filled = sizes > first.sum(axis=0)
        if filled.any():
            common = sizes[filled].max()
            assert all(sizes[c] >= common or not candidates[:, c].any() for c in range(len(sizes)))


def test_strongest_gives_a_cluster_to_the_labels_with_most_documents_there():
    # Clusters 0 and 1; label 0 is frequent in both, label 1 in cluster 1, label 2 seldom in 0.
    Y = np.array([[1, 0, 0]] * 3 + [[1, 1, 0]] * 2 + [[0, 1, 0], [0, 0, 1]])
    matched = sp.csr_array(np.eye(2)[[0, 0, 0, 1, 1, 1, 0]])
    counted = assignment.co_occurrence(sp.csr_array(Y), matched)
    result = assignment.strongest(counted, LabelClusters.from_partition([1, 1, 1], 2), 2)
    assert as_dense(result.clusters).tolist() == [[True, True], [False, True], [True, False]]
    assert (result.reached_before, result.reached_after) == (5, 9)


def test_random_keeps_the_present_cluster_and_adds_different_ones():
    for problem in random_problems(10, 200):
        for copies in (1, 2, 3):
            chosen = problem.choose("random", copies, seed=3)
            assert (chosen >= problem.present).all()
            assert (chosen.sum(axis=1) == min(copies, chosen.shape[1])).all()


def test_random_draws_every_other_cluster_equally_often():
    n_labels, n_clusters = 20_000, 5
    present = LabelClusters.from_partition(np.full(n_labels, 2), n_clusters)
    counted = assignment.co_occurrence(sp.csr_array((1, n_labels)), sp.csr_array((1, n_clusters)))
    sizes = assignment.random(counted, present, 2, seed=1).clusters.sizes
    assert sizes[2] == n_labels
    assert np.abs(np.delete(sizes, 2) / n_labels - 0.25).max() < 0.02
    other = assignment.random(counted, present, 2, seed=2).clusters
    assert not np.array_equal(other.sizes, sizes)


@pytest.mark.parametrize("name", METHODS)
def test_the_report_holds_the_reached_before_and_after(name: str):
    for problem in random_problems(11, 100):
        result = METHODS[name](problem.counted, problem.clusters, 2)
        n_positives = int(problem.Y.sum())
        assert result.reached_before == problem.count_reached(problem.present)
        assert result.reached_after == problem.count_reached(as_dense(result.clusters))
        assert result.n_positives == n_positives
        assert result.reach_after == result.reached_after / max(1, n_positives)


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_the_result_does_not_depend_on_the_number_of_threads(name: str):
    problem = big_problem()
    Y, matched = sp.csr_array(problem.Y), sp.csr_array(problem.matched)
    results = []
    for n_threads in (1, 2, 5):
        counted = assignment.co_occurrence(Y, matched, n_threads=n_threads)
        results.append(METHODS[name](counted, problem.clusters, 3, n_threads=n_threads))
    for result in results[1:]:
        np.testing.assert_array_equal(result.clusters.starts, results[0].clusters.starts)
        np.testing.assert_array_equal(result.clusters.labels, results[0].clusters.labels)
        assert result.reached_after == results[0].reached_after


@pytest.mark.parametrize("name", [name for name in METHODS if name != "random"])
def test_labels_that_were_never_matched_keep_their_present_clusters(name: str):
    # Label 0 has no document, label 1 one without a match, label 2 is matched to cluster 0.
    Y = sp.csr_array(np.array([[0, 1, 0], [0, 0, 1]]))
    counted = assignment.co_occurrence(Y, sp.csr_array(np.array([[0, 0, 0], [1.0, 0, 0]])))
    present = LabelClusters.from_partition([2, 1, 1], 3)
    chosen = METHODS[name](counted, present, 2).clusters
    assert as_dense(chosen).argmax(axis=1).tolist() == [2, 1, 0]
    assert chosen.n_slots == 3


@pytest.mark.parametrize("name", ["closed_form", "coverage", "capped"])
def test_a_label_that_lost_its_matches_keeps_both_of_its_clusters(name: str):
    counted = assignment.co_occurrence(sp.csr_array((1, 1)), sp.csr_array((1, 3)))
    present = LabelClusters.from_matrix(np.array([[1, 0, 1]]))
    assert as_dense(METHODS[name](counted, present, 2).clusters).tolist() == [[True, False, True]]
    assert METHODS[name](counted, present, 1).clusters.n_slots == 1


@pytest.mark.parametrize("name", METHODS)
def test_a_single_cluster_takes_every_label_once(name: str):
    counted = assignment.co_occurrence(sp.csr_array(np.eye(3)), sp.csr_array(np.ones((3, 1))))
    result = METHODS[name](counted, LabelClusters.from_partition([0, 0, 0], 1), 2)
    assert result.clusters.labels.tolist() == [0, 1, 2]
    assert result.reach_after == 1.0


@pytest.mark.parametrize("name", METHODS)
def test_no_labels_and_no_documents_are_fine(name: str):
    counted = assignment.co_occurrence(sp.csr_array((0, 0)), sp.csr_array((0, 2)))
    result = METHODS[name](counted, LabelClusters.from_partition([], 2), 2)
    assert (result.clusters.n_slots, result.reach_after) == (0, 0.0)


def test_bad_arguments_are_named():
    problem = next(random_problems(12, 1, most_labels=5))
    counted, present = problem.counted, problem.clusters
    n_labels, n_clusters = present.n_labels, present.n_clusters
    with pytest.raises(ValueError, match=r"assignment must be one of closed_form.*got 'best'"):
        assignment.method_named("best")
    assert assignment.method_named("capped") is assignment.capped
    with pytest.raises(ValueError, match="copies must be at least 1, got 0"):
        assignment.random(counted, present, 0)
    smallest = rf"max_cluster_size=0 .* at least {problem.smallest_size}"
    for method in (assignment.capped, assignment.adaptive, assignment.strongest):
        with pytest.raises(ValueError, match=smallest):
            method(counted, present, 2, max_cluster_size=0)
    with pytest.raises(ValueError, match="present has"):
        assignment.closed_form(counted, LabelClusters.from_partition([0], n_clusters + 1), 1)
    nowhere = LabelClusters.from_matrix(np.zeros((n_labels, n_clusters)))
    with pytest.raises(ValueError, match="label 0 is in no cluster"):
        assignment.coverage(counted, nowhere, 1)
    with pytest.raises(ValueError, match="Y has 2 rows and matched has 1"):
        assignment.co_occurrence(sp.csr_array((2, 3)), sp.csr_array((1, 3)))
    with pytest.raises(ValueError, match="clusters has"):
        assignment.count_reached(sp.csr_array((2, 3)), sp.csr_array((2, 3)), present)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="NaN or infinity"):
            assignment.co_occurrence(sp.csr_array((1, 1)), sp.csr_array([[bad]]))


def test_counts_that_do_not_fit_the_documents_are_refused():
    problem = big_problem()
    for factor in (0, 2):
        counts = problem.counted.counts * np.int32(factor)
        with pytest.raises(ValueError, match="counts"):
            assignment.coverage(replace(problem.counted, counts=counts), problem.clusters, 2)


def test_a_plan_passes_everything_on():
    problem = big_problem(300, 400, 10)
    counted, present = problem.counted, problem.clusters
    tree = LabelTree.uniform(present.n_clusters)
    plans = [AssignmentPlan("random", 2), AssignmentPlan("capped", 2, 45)]
    for plan in plans:
        for seed in (0, 7):
            made = plan.assign(counted, present, tree, Run(seed))
            expected = METHODS[plan.method](
                counted, present, 2, max_cluster_size=plan.max_cluster_size, seed=seed
            )
            np.testing.assert_array_equal(made.clusters.labels, expected.clusters.labels)
    random = [
        plans[0].assign(counted, present, tree, Run(seed)).clusters.labels for seed in (0, 7)
    ]
    assert not np.array_equal(*random)
    assert plans[1].assign(counted, present, tree, Run()).clusters.sizes.max() <= 45
