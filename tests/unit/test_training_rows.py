import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.partition.training_rows import choose_training_rows, cluster_targets
from tests.examples import examples
from tests.small_problems import clusters_of, pattern, sparse

TARGETS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0]])
MATCHED = np.array([[0.5, 0.2, 0], [0, 0, 0.1], [-0.3, 0, 0]])


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("teacher-forcing", TARGETS),
        ("matcher-aware", [[1, 1, 0], [0, 0, 1], [1, 0, 0]]),
        ("both", [[1, 1, 0], [0, 1, 1], [1, 0, 0]]),
    ],
)
def test_rows_come_from_the_true_labels_or_from_the_matcher_or_from_both(kind, expected):
    rows = choose_training_rows(kind, pattern(TARGETS), sparse(MATCHED))
    np.testing.assert_array_equal(rows.to_scipy().toarray(), expected)
    assert rows.n_stored == np.sum(expected)


@examples(30)
@given(seed=st.integers(0, 2**32 - 1), n_labels=st.integers(1, 8), n_clusters=st.integers(1, 5))
def test_a_documents_clusters_are_those_of_its_labels(seed, n_labels, n_clusters):
    rng = np.random.default_rng(seed)
    Y = rng.random((7, n_labels)) < 0.3
    member = rng.random((n_labels, n_clusters)) < 0.4
    clusters = clusters_of(*(np.flatnonzero(column) for column in member.T), n_labels=n_labels)
    found = cluster_targets(pattern(Y), clusters)
    expected = (Y[:, :, None] & member[None]).any(axis=1)
    np.testing.assert_array_equal(found.to_scipy().toarray() > 0, expected)
    assert found.n_stored == expected.sum()
    for i in range(found.n_rows):
        assert (np.diff(found.row(i)) > 0).all()
