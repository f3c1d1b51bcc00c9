"""The slot that a document goes to."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polyseme.inputs.sparse_rows import SparseRows
from polyseme.partition.label_clusters import LabelClusters
from polyseme.senses.best_slots import best_slots
from tests.examples import examples
from tests.oracles.best_slots import best_slot


@examples(80)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_best_slot_is_that_of_the_plain_twin(seed, by_slot):
    rng = np.random.default_rng(seed)
    n_documents, n_labels, n_clusters = rng.integers(1, 8, 3)
    clusters = LabelClusters.from_matrix(rng.random((n_labels, n_clusters)) < 0.4)
    n_columns = clusters.n_slots if by_slot else n_clusters
    # Few different scores, so that some are alike, and some of them negative or zero.
    scores = rng.integers(-2, 3, (n_documents, n_columns)).astype(np.float32)
    scores[rng.random(scores.shape) < 0.5] = np.nan
    kept = ~np.isnan(scores)
    starts = np.append(0, np.cumsum(kept.sum(axis=1))).astype(np.int64)
    rows = SparseRows(starts, np.nonzero(kept)[1].astype(np.int32), scores[kept], n_columns)
    documents, labels = rng.integers(n_documents, size=9), rng.integers(n_labels, size=9)

    slots, found = best_slots(rows, clusters, documents, labels, by_slot=by_slot)
    for i in range(9):
        expected = best_slot(scores, clusters, documents[i], labels[i], by_slot)
        assert (slots[i], found[i]) == expected


def test_no_pairs_have_no_slots():
    clusters = LabelClusters.from_partition([0, 1], 2)
    none = np.zeros(0, dtype=np.int64)
    slots, scores = best_slots(SparseRows.from_dense(np.eye(2)), clusters, none, none)
    assert len(slots) == len(scores) == 0
