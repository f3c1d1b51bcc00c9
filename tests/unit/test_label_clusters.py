import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from polyseme.partition.label_clusters import LabelClusters
from tests.examples import examples

# Label 0 in clusters 0 and 2, label 1 in cluster 2, label 2 in cluster 0; cluster 1 is empty.
MATRIX = np.array([[1, 0, 1], [0, 0, 1], [1, 0, 0]])


def test_slots_are_the_entries_of_the_matrix_cluster_by_cluster():
    clusters = LabelClusters.from_matrix(sp.csr_array(MATRIX))
    assert clusters.starts.tolist() == [0, 2, 2, 4]
    assert clusters.labels.tolist() == [0, 2, 0, 1]
    assert (clusters.n_labels, clusters.n_clusters, clusters.n_slots) == (3, 3, 4)
    assert clusters.sizes.tolist() == [2, 0, 2]
    assert clusters.cluster_of_slot.tolist() == [0, 0, 2, 2]
    assert clusters.copies.tolist() == [2, 1, 1]
    assert clusters.slots_of(0).tolist() == [0, 2]
    assert clusters.slots_of(2).tolist() == [1]


@examples(30)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    kind=st.sampled_from(["csr", "csc", "coo"]),
)
def test_the_table_and_its_matrix_say_the_same(seed, shape, kind):
    matrix = np.random.default_rng(seed).random(shape) < 0.4
    clusters = LabelClusters.from_matrix(sp.coo_array(matrix).asformat(kind))
    np.testing.assert_array_equal(clusters.to_matrix().toarray(), matrix)
    np.testing.assert_array_equal(clusters.copies, matrix.sum(axis=1))
    np.testing.assert_array_equal(clusters.sizes, matrix.sum(axis=0))
    assert clusters.starts.dtype == np.int64
    assert clusters.labels.dtype == np.int32


def test_an_unsorted_matrix_with_duplicates_is_read_and_left_as_it_was():
    indices = np.array([2, 0, 0, 1], dtype=np.int32)
    before = indices.copy()
    indices.flags.writeable = False
    matrix = sp.csc_array((np.ones(4), indices, [0, 3, 4]), shape=(3, 2))
    clusters = LabelClusters.from_matrix(matrix)
    assert clusters.starts.tolist() == [0, 2, 3]
    assert clusters.labels.tolist() == [0, 2, 1]
    np.testing.assert_array_equal(matrix.indices, before)
    assert matrix.nnz == 4


def test_a_partition_gives_every_label_one_slot():
    clusters = LabelClusters.from_partition([2, 0, 2, 0, 0], 4)
    assert clusters.starts.tolist() == [0, 3, 3, 5, 5]
    assert clusters.labels.tolist() == [1, 3, 4, 0, 2]
    assert (clusters.copies == 1).all()


@pytest.mark.parametrize(
    ("starts", "labels", "sentence"),
    [
        ([0, 1, 2], [0, -1000000], "labels of clusters must be from 0 to 1"),
        ([0, 1, 2], [0, 2], "labels of clusters must be from 0 to 1"),
        ([0, 2, 1, 2], [0, 1], "starts of clusters must ascend"),
        ([1, 2], [0, 1], "starts of clusters must ascend"),
        ([], [], "starts of clusters must ascend"),
        ([0, 2], [1, 1], "labels must ascend within a cluster"),
        ([0, 2], [1, 0], "labels must ascend within a cluster"),
        ([0.0, 2.0], [0, 1], "starts of int64"),
    ],
)
def test_a_table_that_would_lead_outside_its_arrays_is_refused(starts, labels, sentence):
    dtype = np.float64 if starts and isinstance(starts[0], float) else np.int64
    with pytest.raises(ValueError, match=sentence):
        LabelClusters(2, np.array(starts, dtype=dtype), np.array(labels, dtype=np.int32))


def test_empty_clusters_may_stand_anywhere():
    clusters = LabelClusters(2, np.array([0, 0, 2, 2, 3, 3]), np.array([0, 1, 0], dtype=np.int32))
    assert clusters.sizes.tolist() == [0, 2, 0, 1, 0]
