"""The theorems of the paper, as properties of `closed_form`."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import scipy.sparse as sp

from polyseme import assignment
from polyseme.label_clusters import LabelClusters
from tests.oracles import assignment as oracle


def small_problems(n_problems: int):
    rng = np.random.default_rng(2)
    for _ in range(n_problems):
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


def test_theorem_3_the_closed_form_reaches_at_least_what_any_partition_reaches():
    for Y, is_matched, counted, present in small_problems(150):
        partitions = product(range(present.n_clusters), repeat=present.n_labels)
        best = max(
            oracle.objective(
                Y, is_matched, np.eye(present.n_clusters, dtype=bool)[list(partition)]
            )
            for partition in partitions
        )
        for copies in (1, 2, 3):
            assert assignment.closed_form(counted, present, copies).objective_after >= best
