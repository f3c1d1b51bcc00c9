"""Products of sparse rows are those of slow twins, whatever the width."""

import numpy as np
import pytest

from polyseme import _native
from polyseme.inputs.documents import Documents
from tests.oracles import row_products as slow
from tests.small_problems import random_features, sparse

WIDTHS = (1, 3, 7, 8, 9, 16, 63, 64, 65, 71, 128, 136, 137)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("forms", ["sparse", "dense", "both"])
def test_documents_times_a_matrix_are_those_of_the_twin(width, forms):
    rng = np.random.default_rng(width)
    X = random_features(rng, 70, 20, density=0.2, signed=True)
    X[[0, 33, 69]] = 0
    matrix = rng.standard_normal((20, width), dtype=np.float32)
    documents = {
        "sparse": Documents(sparse(X)),
        "dense": Documents(dense=X),
        "both": Documents(sparse(X[:, :13]), np.ascontiguousarray(X[:, 13:])),
    }[forms]
    found = _native.multiply_rows(documents, matrix, 2)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, slow.multiply_rows(X, matrix), atol=1e-5)


@pytest.mark.parametrize("n_rows", [0, 1, 63, 64, 65, 300])
def test_products_are_the_same_for_any_number_of_threads(n_rows):
    rng = np.random.default_rng(n_rows)
    X = sparse(random_features(rng, n_rows, 30))
    matrix = rng.standard_normal((30, 17), dtype=np.float32)
    one = _native.multiply_rows(X, matrix, 1)
    assert one.shape == (n_rows, 17)
    for n_threads in (2, 5):
        assert _native.multiply_rows(X, matrix, n_threads).tobytes() == one.tobytes()


@pytest.mark.parametrize("seed", range(5))
def test_products_of_pairs_of_rows_are_those_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    a = random_features(rng, 12, 25, density=0.3, signed=True)
    b = random_features(rng, 9, 25, density=0.3)
    a[3], b[4] = 0, 0
    n_pairs = (0, 1, 7, 1024, 2500)[seed]
    rows_a, rows_b = rng.integers(12, size=n_pairs), rng.integers(9, size=n_pairs)
    found = [_native.multiply_pairs(sparse(a), sparse(b), rows_a, rows_b, n) for n in (1, 2, 5)]
    expected = slow.multiply_pairs(a, b, rows_a, rows_b)
    np.testing.assert_allclose(found[0], expected, rtol=1e-12, atol=1e-15)
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


def test_large_numbers_lose_nothing_in_products_of_pairs():
    a, b = sparse([[1e19, 1, -1e19]]), sparse([[1e19, 1, 1e19]])
    row = np.zeros(1, dtype=np.int64)
    assert _native.multiply_pairs(a, a, row, row, 1)[0] == pytest.approx(2e38)
    assert np.isfinite(_native.multiply_pairs(a, b, row, row, 1)[0])


@pytest.mark.parametrize(
    ("shape", "message"),
    [((3, 2), "X and matrix differ in features"), ((2, 0), "X and matrix differ in features")],
)
def test_a_matrix_that_does_not_fit_is_refused(shape, message):
    X = sparse(np.ones((4, 2)))
    _native.multiply_rows(X, np.ones((2, 1), dtype=np.float32), 1)
    with pytest.raises(ValueError, match=message):
        _native.multiply_rows(X, np.ones(shape, dtype=np.float32), 1)
    for other in (np.ones((2, 1)), np.ones(2, dtype=np.float32), np.ones((1, 2), np.float32).T):
        if other.flags.c_contiguous and other.dtype == np.float32 and other.ndim == 2:
            continue
        with pytest.raises(TypeError):
            _native.multiply_rows(X, other, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"b": sparse(np.ones((3, 5)))}, "a and b differ in columns"),
        ({"rows_a": [0]}, "rows_a and rows_b differ in length"),
        ({"rows_a": [0, -1]}, "a row number is out of range"),
        ({"rows_a": [0, 2]}, "a row number is out of range"),
        ({"rows_b": [0, -1]}, "a row number is out of range"),
        ({"rows_b": [3, 0]}, "a row number is out of range"),
        ({"rows_b": [2**62, 0]}, "a row number is out of range"),
    ],
)
def test_pairs_that_are_not_there_are_refused(changes, message):
    given = {
        "a": sparse(np.ones((2, 4))),
        "b": sparse(np.ones((3, 4))),
        "rows_a": [0, 1],
        "rows_b": [0, 2],
    }

    def multiply(given):
        rows = (np.array(given[name], dtype=np.int64) for name in ("rows_a", "rows_b"))
        return _native.multiply_pairs(given["a"], given["b"], *rows, 1)

    assert multiply(given).tolist() == [4, 4]
    with pytest.raises(ValueError, match=message):
        multiply(given | changes)
