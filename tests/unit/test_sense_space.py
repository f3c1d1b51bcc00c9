"""The whitened space of documents: sound whatever the documents are."""

import numpy as np
import pytest

from polyseme.inputs.documents import Documents
from polyseme.machine.run import Run
from polyseme.senses.space import N_DIMENSIONS, whitened, with_unit_rows
from tests.sense_problems import topics_with_meanings
from tests.small_problems import documents, random_features, sparse

PROBLEM = topics_with_meanings(n_topics=10, per_topic=30)


def lengths(rows):
    return np.linalg.norm(rows.astype(np.float64), axis=1)


def test_documents_have_unit_length_and_those_of_a_topic_are_alike():
    found = whitened(PROBLEM.documents, Run(0, 2))
    assert found.dtype == np.float32
    assert found.flags.c_contiguous
    assert found.shape == (300, N_DIMENSIONS)
    np.testing.assert_allclose(lengths(found), 1, atol=1e-5)
    alike = found @ found.T
    same = PROBLEM.topic[:, None] == PROBLEM.topic
    assert alike[same].mean() > alike[~same].mean() + 0.05


def test_directions_all_count_alike():
    rng = np.random.default_rng(0)
    strong = np.repeat([1.0, 0.0], 100)  # what explains most, as languages do
    X = np.column_stack([9 * strong, 9 * (1 - strong), rng.random((200, 6))]).astype(np.float32)
    found = whitened(documents(X), Run())
    spread = (found.astype(np.float64) ** 2).mean(axis=0)
    assert found.shape == (200, 8)
    assert spread.max() < 3 * spread.min()


def test_the_space_is_the_same_to_the_bit_for_any_number_of_threads():
    one = whitened(PROBLEM.documents, Run(0, 1))
    for n_threads in (2, 5):
        assert whitened(PROBLEM.documents, Run(0, n_threads)).tobytes() == one.tobytes()
    assert whitened(PROBLEM.documents, Run(1, 1)).tobytes() != one.tobytes()


@pytest.mark.parametrize(
    "factor", [1e-19, 1e-3, 7.0, 1e19, "mixed"], ids=lambda factor: f"{factor}"
)
def test_how_long_documents_are_does_not_matter(factor):
    if factor == "mixed":
        factor = 10.0 ** np.random.default_rng(0).integers(-19, 19, size=(300, 1))
    found = whitened(documents((PROBLEM.X * factor).astype(np.float32)), Run())
    expected = whitened(PROBLEM.documents, Run())
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=0.02)


@pytest.mark.parametrize("size", [1e-45, 1e-38, 1e-30, 1e19, 1e30, 3e38])
@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_numbers_of_any_size_give_finite_ones(size, form):
    X = np.sign(PROBLEM.X) * np.float32(size)
    X[::3] = PROBLEM.X[::3]
    given = Documents(sparse(X)) if form == "sparse" else Documents(dense=X)
    found = whitened(given, Run())
    assert np.isfinite(found).all()
    is_unit = np.abs(lengths(found) - 1) < 1e-3
    assert (is_unit | (lengths(found) == 0)).all()
    assert is_unit[::3].all()


def test_dense_features_are_as_good_as_sparse_ones():
    X = PROBLEM.X
    forms = (
        Documents(sparse(X)),
        Documents(dense=X),
        Documents(sparse(X[:, :70]), np.ascontiguousarray(X[:, 70:])),
    )
    first, *others = (found @ found.T for found in (whitened(form, Run()) for form in forms))
    for other in others:
        np.testing.assert_allclose(other, first, atol=0.02)


def test_empty_documents_have_rows_of_zeros():
    X = PROBLEM.X.copy()
    X[[0, 5, 299]] = 0
    found = whitened(documents(X), Run())
    assert np.flatnonzero(lengths(found) == 0).tolist() == [0, 5, 299]


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (np.zeros((4, 3)), 0),
        (np.zeros((0, 3)), 0),
        (np.ones((1, 3)), 1),
        (np.ones((5, 1)), 1),
        (np.full((6, 4), -2.0), 1),
    ],
    ids=["nothing", "none", "one", "one feature", "all the same"],
)
def test_documents_of_hardly_anything_are_no_trouble(X, expected):
    for form in (documents(X), Documents(dense=X.astype(np.float32))):
        found = whitened(form, Run())
        assert len(found) == len(X)
        np.testing.assert_allclose(lengths(found), expected, atol=1e-5)


def test_documents_beyond_the_sample_are_in_the_same_space(monkeypatch):
    monkeypatch.setattr("polyseme.senses.space.N_SAMPLED", 150)
    found = whitened(PROBLEM.documents, Run())
    np.testing.assert_allclose(lengths(found), 1, atol=1e-5)
    alike = found @ found.T
    same = PROBLEM.topic[:, None] == PROBLEM.topic
    assert alike[same].mean() > alike[~same].mean() + 0.05


def test_rows_are_brought_to_unit_length_and_what_cannot_be_becomes_zero():
    rows = np.array([[3, 4], [0, 0], [np.inf, 1], [1e-30, 0], [-1e30, 0]], dtype=np.float32)
    with np.errstate(invalid="ignore"):
        found = with_unit_rows(rows)
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0], [0, 0], [1, 0], [-1, 0]], atol=1e-6)


def test_random_documents_fewer_than_dimensions_keep_as_many_as_there_are():
    X = random_features(np.random.default_rng(0), 20, 50)
    assert whitened(documents(X), Run()).shape[1] <= 20
