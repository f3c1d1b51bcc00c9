import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from polyseme.inputs.documents import Documents
from polyseme.inputs.features import check_features
from polyseme.inputs.sparse_rows import SparseRows
from tests.examples import examples
from tests.random_matrices import random_sparse


def block(n_rows: int, n_columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns)).astype(np.float32)


def sparse(n_rows: int, n_columns: int, seed: int = 0) -> SparseRows:
    rng = np.random.default_rng(seed)
    matrix = random_sparse((n_rows, n_columns), 0.3, rng)
    return SparseRows.from_scipy(matrix)


def as_array(documents: Documents) -> np.ndarray:
    return documents.to_scipy().toarray()


def test_features_are_numbered_through_sparse_ones_first():
    documents = Documents(sparse(4, 5), block(4, 3), list("abcd"))
    assert documents.layout == (5, 3)
    assert documents.shape == (4, 8)
    np.testing.assert_array_equal(as_array(documents)[:, 5:], documents.dense)
    np.testing.assert_array_equal(
        as_array(documents)[:, :5], documents.sparse.to_scipy().toarray()
    )


def test_every_form_alone_is_enough():
    assert Documents(sparse(4, 5)).shape == (4, 5)
    assert Documents(dense=block(4, 3)).shape == (4, 3)
    assert Documents(texts=["a", "b"]).shape == (2, 0)


def test_documents_without_any_form_or_with_different_numbers_are_refused():
    with pytest.raises(ValueError, match="at least one form"):
        Documents()
    with pytest.raises(ValueError, match="4 in sparse, 3 in dense"):
        Documents(sparse(4, 5), block(3, 2))
    with pytest.raises(ValueError, match="C-contiguous float32"):
        Documents(dense=block(3, 2).astype(np.float64))
    with pytest.raises(ValueError, match="C-contiguous float32"):
        Documents(dense=np.asfortranarray(block(3, 2)))
    with pytest.raises(ValueError, match="no features"):
        Documents(texts=["a"]).all_sparse()


@pytest.mark.parametrize("forms", [{"sparse"}, {"dense"}, {"texts"}, {"sparse", "dense", "texts"}])
def test_rows_can_be_cut_taken_and_stacked_in_all_forms(forms):
    documents = Documents(
        sparse(6, 5) if "sparse" in forms else None,
        block(6, 3) if "dense" in forms else None,
        list("abcdef") if "texts" in forms else None,
    )
    parts = [documents.rows(0, 2), documents.rows(2, 2), documents.rows(2, 6)]
    for again in (Documents.stack(parts), documents.take(np.arange(6)), documents.rows(0, 6)):
        assert again.layout == documents.layout
        assert (None if again.texts is None else list(again.texts)) == documents.texts
        if documents.n_features > 0:
            np.testing.assert_array_equal(as_array(again), as_array(documents))
    backwards = documents.take([5, 4, 3, 2, 1, 0])
    if "texts" in forms:
        assert list(backwards.texts) == list("fedcba")
    if "dense" in forms:
        np.testing.assert_array_equal(backwards.dense, documents.dense[::-1])
    with pytest.raises(IndexError, match="rows 3 to 7 are not within 6 rows"):
        documents.rows(3, 7)


def test_documents_in_different_forms_cannot_be_stacked():
    with pytest.raises(ValueError, match="the same forms"):
        Documents.stack([Documents(sparse(2, 3)), Documents(dense=block(2, 3))])


@examples(50)
@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 8))
def test_a_layout_changes_the_form_and_no_number(n_sparse, n_dense, n_sparse_after):
    n_features = n_sparse + n_dense
    n_sparse_after = min(n_sparse_after, n_features)
    if n_features == 0:
        return
    documents = Documents(
        sparse(3, n_sparse) if n_sparse else None, block(3, n_dense) if n_dense else None
    )
    after = documents.in_layout(n_sparse_after, n_features - n_sparse_after)
    assert after.layout == (n_sparse_after, n_features - n_sparse_after)
    assert (after.sparse is None) == (n_sparse_after == 0)
    assert (after.dense is None) == (n_sparse_after == n_features)
    np.testing.assert_array_equal(as_array(after), as_array(documents))


# How check_features chooses


def test_a_plain_array_is_a_block_unless_it_is_mostly_zeros():
    dense, mostly_zeros = block(6, 8), block(6, 8)
    mostly_zeros[:, 1:] = 0
    assert check_features(dense).layout == (0, 8)
    assert np.shares_memory(check_features(dense).dense, dense)
    assert check_features(mostly_zeros).layout == (8, 0)


def test_dense_parts_of_a_tuple_stay_dense_and_sparse_ones_sparse():
    parts = (sp.csr_array(np.eye(3)), sp.coo_array(np.eye(3)), np.zeros((3, 2)), np.ones((3, 1)))
    documents = check_features(parts)
    assert documents.layout == (6, 3)
    expected = np.hstack([part.toarray() if sp.issparse(part) else part for part in parts])
    np.testing.assert_array_equal(as_array(documents), expected)


def test_a_sparse_part_after_a_dense_one_is_refused():
    with pytest.raises(ValueError, match=r"X\[1\] is sparse and comes after a dense part"):
        check_features((np.ones((2, 2)), sp.csr_array(np.eye(2))))


def test_a_bad_number_in_a_part_is_refused_with_part_and_row():
    bad = np.ones((5000, 2))
    bad[4321, 1] = np.nan
    with pytest.raises(ValueError, match=r"X\[1\] contains NaN in row 4321"):
        check_features((sp.csr_array(np.ones((5000, 1))), bad))


def test_documents_are_taken_as_they_are():
    documents = Documents(sparse(4, 5), block(4, 3))
    assert check_features(documents) is documents


@pytest.mark.parametrize("layout", [(6, 0), (0, 6), (2, 4)])
def test_features_are_brought_into_the_layout_of_a_model(layout):
    array = block(3, 6)
    array[:, :3] = 0
    forms = [
        array,
        sp.csr_array(array),
        (sp.csr_array(array[:, :4]), array[:, 4:]),
        Documents(dense=array),
    ]
    for X in forms:
        documents = check_features(X, layout=layout)
        assert documents.layout == layout
        np.testing.assert_array_equal(as_array(documents), array)


def test_the_number_of_features_is_compared_before_the_layout():
    with pytest.raises(ValueError, match="X has 5 features, but XRLinear is expecting 7 features"):
        check_features(block(3, 5), layout=(3, 4), model_name="XRLinear")


def test_texts_stay_when_the_layout_of_features_changes():
    documents = Documents(sparse(2, 4), texts=["a", "b"])
    assert documents.in_layout(3, 1).texts == ["a", "b"]


def test_documents_with_and_without_texts_cannot_be_stacked():
    with pytest.raises(ValueError, match="the same forms"):
        Documents.stack([Documents(sparse(2, 3)), Documents(sparse(1, 3), texts=["a"])])
