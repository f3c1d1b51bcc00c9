"""The theorems of the paper, as properties of `closed_form`."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import scipy.sparse as sp

from polyseme import assignment
from polyseme.partition.label_clusters import LabelClusters
from tests.examples import so_many
from tests.oracles import assignment as oracle


def small_problems(n_problems: int):
    rng = np.random.default_rng(2)
    for _ in range(so_many(n_problems, 50)):
        n_documents, n_labels, n_clusters = rng.integers(1, [9, 5, 5])
        Y = rng.random((n_documents, n_labels)) < 0.5
        is_matched = rng.random((n_documents, n_clusters)) < rng.random(n_clusters)
        counted = assignment.co_occurrence(
            sp.csr_array(Y), sp.csr_array(np.where(is_matched, 0.5, 0))
        )
        present = LabelClusters.from_partition(
            rng.integers(n_clusters, size=n_labels), int(n_clusters)
        )
        yield Y, is_matched, counted, present


def most_reached(Y, is_matched, copies: int) -> int:
    """Try every assignment of at most `copies` clusters per label; labels do not interact."""
    n_clusters = is_matched.shape[1]
    total = 0
    for label in range(Y.shape[1]):
        documents = is_matched[Y[:, label]]
        total += max(
            int(documents[:, list(subset)].any(axis=1).sum())
            for subset in combinations(range(n_clusters), min(copies, n_clusters))
        )
    return total


def test_theorem_1_set_cover_is_an_assignment_of_one_label():
    rng = np.random.default_rng(1)
    answers = set()
    for _ in range(so_many(200, 50)):
        n_elements, n_sets = rng.integers(1, 9), int(rng.integers(1, 6))
        sets = [set(np.flatnonzero(rng.random(n_elements) < 0.5).tolist()) for _ in range(n_sets)]
        # The elements are documents of one label, matched to the clusters whose sets have them.
        Y = np.ones((n_elements, 1), dtype=bool)
        is_matched = np.array(
            [[e in of_cluster for of_cluster in sets] for e in range(n_elements)]
        )
        matched = sp.csr_array(np.where(is_matched, 0.5, 0))
        for copies in range(1, n_sets + 1):
            for some in combinations(range(n_sets), copies):
                is_cover = set().union(*(sets[i] for i in some)) == set(range(n_elements))
                chosen = np.isin(np.arange(n_sets), some)[None].astype(np.float32)
                clusters = LabelClusters.from_matrix(sp.csr_array(chosen))
                n_reached = assignment.count_reached(sp.csr_array(Y), matched, clusters)
                assert (n_reached == n_elements) == is_cover
                answers.add(is_cover)
    assert answers == {True, False}


def test_theorem_2_the_closed_form_is_optimal_for_the_relaxed_problem():
    for Y, is_matched, counted, present in small_problems(400):
        n_clusters = present.n_clusters
        counts = Y.T.astype(int) @ is_matched.astype(int)
        for copies in (1, 2, 3):
            chosen = assignment.closed_form(counted, present, copies).clusters.to_matrix()
            relaxed = int((counts * chosen.toarray()).sum())
            # The relaxed problem falls apart by label: try every set of clusters for each.
            subsets = [
                list(subset)
                for size in range(1, copies + 1)
                for subset in combinations(range(n_clusters), size)
            ]
            best = sum(max(row[subset].sum() for subset in subsets) for row in counts)
            assert relaxed == best


def test_with_a_beam_of_one_the_closed_form_is_the_best_assignment():
    rng = np.random.default_rng(3)
    for _ in range(so_many(200, 50)):
        n_documents, n_labels, n_clusters = rng.integers(1, [9, 5, 5])
        Y = rng.random((n_documents, n_labels)) < 0.5
        is_matched = np.eye(n_clusters, dtype=bool)[rng.integers(n_clusters, size=n_documents)]
        counted = assignment.co_occurrence(sp.csr_array(Y), sp.csr_array(0.5 * is_matched))
        present = LabelClusters.from_partition(np.zeros(n_labels, dtype=int), int(n_clusters))
        for copies in (1, 2, 3):
            made = assignment.closed_form(counted, present, copies)
            assert made.reached_after == most_reached(Y, is_matched, copies)


def test_theorem_3_the_closed_form_reaches_at_least_what_any_partition_reaches():
    for Y, is_matched, counted, present in small_problems(150):
        partitions = product(range(present.n_clusters), repeat=present.n_labels)
        best = max(
            oracle.count_reached(
                Y, is_matched, np.eye(present.n_clusters, dtype=bool)[list(partition)]
            )
            for partition in partitions
        )
        for copies in (1, 2, 3):
            assert assignment.closed_form(counted, present, copies).reached_after >= best


def test_theorem_3_is_not_strict():
    # Two labels, each with a cluster to which all of its documents are matched.
    Y = np.repeat(np.eye(2, dtype=bool), 3, axis=0)
    counted = assignment.co_occurrence(sp.csr_array(Y), sp.csr_array(0.5 * Y))
    partition = LabelClusters.from_partition([0, 1], 2)
    made = assignment.closed_form(counted, partition, 2)
    assert made.reached_after == made.reached_before == made.n_positives == 6
