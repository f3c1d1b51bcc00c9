import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyseme.label_features import label_features
from tests.oracles import label_features as oracle
from tests.small_problems import pattern, sparse


def native(X, Y, **how):
    return label_features(sparse(X), pattern(Y), **how)


def test_a_label_gets_the_sum_of_its_documents_scaled_to_length_one():
    found = native([[3.0, 0], [0, 4.0], [9, 9]], [[1, 0], [1, 0], [0, 1]])
    np.testing.assert_allclose(
        found.to_scipy().toarray(), [[0.6, 0.8], [np.sqrt(0.5)] * 2], rtol=1e-6
    )


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 20), st.integers(1, 90), st.integers(1, 12)),
    density=st.sampled_from([0.05, 0.3, 1.0]),
    n_threads=st.sampled_from([1, 3]),
)
def test_label_features_are_the_normalised_product_of_labels_and_documents(
    seed, shape, density, n_threads
):
    rng = np.random.default_rng(seed)
    n_documents, n_features, n_labels = shape
    X = rng.standard_normal((n_documents, n_features)).astype(np.float32)
    X *= rng.random(X.shape) < density
    Y = rng.random((n_documents, n_labels)) < density
    found = native(X, Y, n_threads=n_threads)
    assert found.shape == (n_labels, n_features)
    for label in range(n_labels):
        assert (np.diff(found.row(label)[0]) > 0).all()
    np.testing.assert_allclose(found.to_scipy().toarray(), oracle.label_features(X, Y), atol=2e-6)


def test_a_label_without_documents_or_with_empty_ones_gets_an_empty_row():
    found = native([[1.0, 2.0], [0.0, 0.0]], [[1, 0, 0], [0, 0, 1]])
    assert np.diff(found.starts).tolist() == [2, 0, 0]


@pytest.mark.parametrize("n_threads", [2, 5])
def test_label_features_do_not_depend_on_the_number_of_threads(n_threads):
    rng = np.random.default_rng(0)
    X = rng.random((400, 50)) * (rng.random((400, 50)) < 0.2)
    Y = rng.random((400, 1100)) < 0.01  # several blocks of labels
    one, many = native(X, Y), native(X, Y, n_threads=n_threads)
    np.testing.assert_array_equal(one.starts, many.starts)
    np.testing.assert_array_equal(one.columns, many.columns)
    np.testing.assert_array_equal(one.values, many.values)
    np.testing.assert_allclose(one.to_scipy().toarray(), oracle.label_features(X, Y), atol=2e-6)
