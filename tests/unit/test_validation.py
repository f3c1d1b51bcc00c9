import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from polyseme.inputs.features import check_features
from polyseme.inputs.labels import are_mostly_absent, check_labels
from polyseme.inputs.sparse_rows import SparsePattern, SparseRows
from tests.examples import examples

SPARSE_FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


def small_dense(seed: int = 0, shape: tuple[int, int] = (6, 5)) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) * (rng.random(shape) < 0.4)).astype(np.float32)


def assert_canonical(rows: SparseRows | SparsePattern) -> None:
    assert rows.starts.dtype == np.int64
    assert rows.columns.dtype == np.int32
    assert rows.starts[0] == 0
    assert rows.starts[-1] == len(rows.columns)
    for i in range(rows.n_rows):
        columns = rows.columns[rows.starts[i] : rows.starts[i + 1]]
        assert (np.diff(columns) > 0).all()
        assert ((columns >= 0) & (columns < rows.n_columns)).all()
    if isinstance(rows, SparseRows):
        assert rows.values.dtype == np.float32
        assert (rows.values != 0).all()


# Features


@pytest.mark.parametrize("sparse_format", SPARSE_FORMATS)
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_every_sparse_format_gives_the_same_rows(sparse_format, kind):
    dense = small_dense()
    rows = check_features(kind(dense).asformat(sparse_format)).all_sparse()
    assert_canonical(rows)
    np.testing.assert_array_equal(rows.to_scipy().toarray(), dense)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.float32, np.float64])
def test_every_kind_of_number_becomes_float32(dtype):
    dense = np.array([[1, 0, 1], [0, 1, 0]], dtype=dtype)
    np.testing.assert_array_equal(check_features(dense).to_scipy().toarray(), dense)
    np.testing.assert_array_equal(check_labels(dense, 2)[0].to_scipy().toarray(), dense)
    if dtype != np.float16:  # unknown to SciPy
        X = sp.csr_array(dense)
        np.testing.assert_array_equal(check_features(X).to_scipy().toarray(), dense)


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_both_index_types_are_accepted(index_type):
    X = sp.csr_array(small_dense())
    X.indices, X.indptr = X.indices.astype(index_type), X.indptr.astype(index_type)
    rows = check_features(X).all_sparse()
    assert_canonical(rows)
    np.testing.assert_array_equal(rows.to_scipy().toarray(), small_dense())


def test_dense_array_likes_are_accepted():
    expected = np.array([[0, 1.5], [2, 0]])
    for X in (expected, expected.tolist(), np.asfortranarray(expected), expected.astype(object)):
        rows = check_features(X).all_sparse()
        assert_canonical(rows)
        np.testing.assert_array_equal(rows.to_scipy().toarray(), expected)


def test_a_tuple_puts_its_parts_side_by_side():
    left, right = small_dense(1), small_dense(2, (6, 3))
    rows = check_features((sp.csc_matrix(left), right)).all_sparse()
    assert_canonical(rows)
    np.testing.assert_array_equal(rows.to_scipy().toarray(), np.hstack([left, right]))


def test_parts_with_different_rows_are_refused():
    with pytest.raises(ValueError, match="parts of X have 6, 5 rows"):
        check_features((small_dense(), small_dense(shape=(5, 2))))


@examples(60)
@given(st.data())
def test_unsorted_and_repeated_entries_are_sorted_and_summed(data):
    n_rows, n_columns = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 6)))
    entries = data.draw(
        st.lists(
            st.tuples(
                st.integers(0, n_rows - 1), st.integers(0, n_columns - 1), st.integers(-2, 2)
            )
        )
    )
    expected = np.zeros((n_rows, n_columns), dtype=np.float32)
    by_row: list[list[tuple[int, int]]] = [[] for _ in range(n_rows)]
    for row, column, value in entries:
        expected[row, column] += value
        by_row[row].append((column, value))
    starts = np.cumsum([0] + [len(row) for row in by_row])
    columns = np.array([column for row in by_row for column, _ in row], dtype=np.int32)
    values = np.array([value for row in by_row for _, value in row], dtype=np.float32)
    values.flags.writeable = False
    X = sp.csr_array((values, columns, starts), shape=expected.shape)
    before = X.data.copy(), X.indices.copy()

    rows = check_features(X).all_sparse()

    assert_canonical(rows)
    np.testing.assert_array_equal(rows.to_scipy().toarray(), expected)
    np.testing.assert_array_equal(X.data, before[0])
    np.testing.assert_array_equal(X.indices, before[1])


def test_a_canonical_matrix_is_shared_not_copied():
    X = sp.csr_array(small_dense())
    rows = check_features(X).all_sparse()
    assert np.shares_memory(rows.values, X.data)
    assert np.shares_memory(rows.columns, X.indices)
    assert np.shares_memory(rows.to_scipy().data, X.data)


def test_read_only_input_is_accepted():
    X = sp.csr_array(small_dense())
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    np.testing.assert_array_equal(check_features(X).to_scipy().toarray(), small_dense())
    dense = small_dense()
    dense.flags.writeable = False
    check_features(dense)


def test_small_integers_do_not_overflow_when_repeated_entries_are_summed():
    X = sp.coo_array((np.array([100, 100], dtype=np.int8), ([0, 0], [1, 1])), shape=(1, 2))
    assert check_features(X).all_sparse().values.tolist() == [200.0]


def test_empty_rows_and_all_zero_features_are_accepted():
    rows = check_features(sp.csr_array((3, 4))).all_sparse()
    assert rows.shape == (3, 4)
    assert rows.n_stored == 0
    assert check_features(np.zeros((0, 4))).shape == (0, 4)


@pytest.mark.parametrize(
    ("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "inf")]
)
@pytest.mark.parametrize("make", [np.array, sp.csr_array, sp.coo_matrix])
def test_nan_and_infinity_are_refused_with_their_row(bad, word, make):
    dense = np.ones((4, 3))
    dense[2, 1] = bad
    with pytest.raises(ValueError, match=rf"X contains {word}.* in row 2"):
        check_features(make(dense))


def test_numbers_beyond_float32_are_refused_with_their_row():
    for X in (np.array([[1.0], [1e300]]), sp.csr_array([[1.0], [1e300]])):
        with pytest.raises(ValueError, match="row 1 that is too large for float32"):
            check_features(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((2, 2), dtype=complex), "Complex data not supported"),
        (sp.csr_array(np.ones((2, 2), dtype=complex)), "Complex data not supported"),
        (np.array([["a", "b"]]), "turn texts into features"),
        (np.array([["a", 1]], dtype=object), "numbers only"),
        (["a text", "another"], "turn texts into features"),
        (np.ones(3), r"X\.reshape\(1, -1\)"),
        (np.ones((2, 2, 2)), "3 dimensions"),
        (np.ones((2, 0)), r"0 feature\(s\) \(shape=\(2, 0\)\)"),
        ([[1, 2], [3]], "different lengths"),
        ((), "empty tuple"),
        ((np.ones(2), np.ones((2, 2))), r"X\[0\] has one dimension"),
    ],
)
def test_what_is_not_a_feature_matrix_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        check_features(X)


def test_another_number_of_features_is_refused():
    with pytest.raises(ValueError, match="X has 5 features, but XRLinear is expecting 7"):
        check_features(small_dense(), n_features=7, model_name="XRLinear")


@pytest.mark.parametrize("sparse_format", ["csr", "csc"])
def test_a_damaged_sparse_matrix_is_refused(sparse_format):
    for spoil in ("indices", "indptr"):
        X = sp.csr_array(np.ones((3, 3), dtype=np.float32)).asformat(sparse_format)
        getattr(X, spoil)[1] = 99
        with pytest.raises(ValueError, match="damaged sparse matrix"):
            check_features(X)


# Labels

Y = np.array([[1, 0, 1], [0, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("make", [np.array, sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_every_kind_of_label_matrix_gives_the_same_pattern(dtype, make):
    labels, names = check_labels(make(Y.astype(dtype)), 3)
    assert names is None
    assert_canonical(labels)
    np.testing.assert_array_equal(labels.to_scipy().toarray(), Y)


def test_lists_of_names_are_numbered_in_sorted_order():
    labels, names = check_labels([["pear", "apple"], [], {"fig", "apple"}], 3)
    assert names == ["apple", "fig", "pear"]
    assert [labels.row(i).tolist() for i in range(3)] == [[0, 2], [], [0, 1]]


def test_lists_of_ids_keep_their_ids_as_names():
    labels, names = check_labels([[7, 3, 7], np.array([12]), (3,)], 3)
    assert names == [3, 7, 12]
    assert all(type(name) is int for name in names)
    assert [labels.row(i).tolist() for i in range(3)] == [[0, 1], [2], [0]]


def test_equal_lists_of_zeros_and_ones_are_a_matrix():
    labels, names = check_labels([[0, 1], [1, 1]], 2)
    assert names is None
    np.testing.assert_array_equal(labels.to_scipy().toarray(), [[0, 1], [1, 1]])


def test_sets_of_zeros_and_ones_are_label_ids():
    labels, names = check_labels([{0}, {1}], 2)
    assert names == [0, 1]
    np.testing.assert_array_equal(labels.to_scipy().toarray(), np.eye(2))


@pytest.mark.parametrize(
    ("single", "expected"),
    [
        (["b", "a", "b"], ["a", "b"]),
        (np.array([5, -1, 5]), [-1, 5]),
        (np.array([2.0, 1.0, 2.0]), [1, 2]),
        (np.array([True, False, True]), [0, 1]),
        (np.array(["b", "a", "b"], dtype=object), ["a", "b"]),
    ],
)
def test_one_label_a_document_is_accepted(single, expected):
    labels, names = check_labels(single, 3)
    assert names == expected
    assert labels.columns.tolist() == [1, 0, 1]


def test_an_array_of_lists_and_an_array_of_names_are_lists_of_names():
    ragged = np.empty(2, dtype=object)
    ragged[:] = [["a"], ["b", "a"]]
    assert check_labels(ragged, 2)[1] == ["a", "b"]
    assert check_labels(np.array([["a", "b"], ["c", "a"]]), 2)[1] == ["a", "b", "c"]


def test_known_names_keep_their_columns():
    labels, names = check_labels([["b"], ["a"]], 2, label_names=["b", "x", "a"])
    assert names == ["b", "x", "a"]
    assert labels.shape == (2, 3)
    assert labels.columns.tolist() == [0, 2]


def test_an_unknown_name_is_refused_with_its_row():
    with pytest.raises(ValueError, match="Row 1 of Y has the label 'z'"):
        check_labels([["a"], ["z"]], 2, label_names=["a", "b"])


def test_repeated_and_stored_zero_labels_are_tolerated():
    matrix = sp.csr_array(
        (np.array([1, 1, 0]), np.array([2, 2, 0]), np.array([0, 3])), shape=(1, 3)
    )
    labels, _ = check_labels(matrix, 1)
    assert labels.columns.tolist() == [2]
    assert matrix.nnz == 3


@pytest.mark.parametrize("make", [np.array, sp.csr_array, sp.csc_array, sp.lil_array])
@pytest.mark.parametrize("bad", [-1.0, 2.0, 0.5, np.nan])
def test_labels_other_than_zero_and_one_are_refused_with_their_row(make, bad):
    wrong = Y.astype(np.float64)
    wrong[2, 0] = bad
    with pytest.raises(ValueError, match=f"Y has {bad:g} in row 2"):
        check_labels(make(wrong), 3)


@pytest.mark.parametrize(
    ("labels", "n_rows", "message"),
    [
        (Y, 10, "X has 10 rows and Y has 3; each row is one document"),
        (np.ones((3, 0)), 3, "Y has no labels"),
        ([[], []], 2, "Y has no labels"),
        (np.ones((0, 2)), 0, "no rows"),
        ([["a"], [1]], 2, "mixes names and ids"),
        ([["a"], [1.5]], 2, "Row 1 of Y has the label 1.5"),
        ([["a", "b"], "c"], 2, "Row 1 of Y must be a list"),
        (np.array([0.5, 1.0]), 2, "Unknown label type"),
        (np.array([np.nan, 1.0]), 2, "Unknown label type"),
        (np.ones((2, 2, 2)), 2, "3 dimensions"),
        (np.ones((2, 2), dtype=complex), 2, "dtype complex"),
        (None, 2, "target y is None"),
        (7, 2, "but is a int"),
    ],
)
def test_what_is_not_labels_is_refused(labels, n_rows, message):
    with pytest.raises(ValueError, match=message):
        check_labels(labels, n_rows)


def test_as_many_names_as_columns_are_needed():
    with pytest.raises(ValueError, match="Y has 3 labels, but there are 2 label names"):
        check_labels(Y, 3, label_names=["a", "b"])


# The inner form


def test_rows_and_take_agree_with_scipy():
    dense = small_dense()
    rows = SparseRows.from_dense(dense)
    pattern = SparsePattern.from_scipy(sp.csr_array(dense))
    ids = [4, 0, 0, 5]
    np.testing.assert_array_equal(rows.rows(1, 4).to_scipy().toarray(), dense[1:4])
    np.testing.assert_array_equal(rows.take(ids).to_scipy().toarray(), dense[ids])
    np.testing.assert_array_equal(pattern.rows(1, 4).to_scipy().toarray(), dense[1:4] != 0)
    np.testing.assert_array_equal(pattern.take(ids).to_scipy().toarray(), dense[ids] != 0)
    with pytest.raises(IndexError):
        rows.rows(3, 7)


def test_a_transposed_pattern_lists_the_rows_of_each_column():
    dense = small_dense(3)
    by_column = SparsePattern.from_scipy(sp.csr_array(dense)).transpose()
    assert_canonical(by_column)
    np.testing.assert_array_equal(by_column.to_scipy().toarray(), dense.T != 0)


def test_labels_that_are_not_known_get_columns_after_the_known_if_that_is_wanted():
    rows = [["z", "b"], ["a"], []]
    labels, names = check_labels(rows, 3, label_names=["b", "c"], allow_unknown=True)
    assert names == ["b", "c", "a", "z"]
    assert labels.to_scipy().toarray().tolist() == [[1, 0, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0]]
    with pytest.raises(ValueError, match="not among the 2 known labels"):
        check_labels(rows, 3, label_names=["b", "c"])


def test_few_labels_may_be_absent_whatever_their_share():
    assert not are_mostly_absent(20_000_000, 1)
    assert are_mostly_absent(20_000_001, 1)
    assert not are_mostly_absent(40_000_000, 2_000_000)


def test_more_columns_than_can_be_counted_are_refused():
    with pytest.raises(ValueError, match="2147483648 columns of X are too many"):
        check_features(sp.csr_array((1, 2**31)))
    assert check_features(sp.csr_array((1, 2**31 - 1))).n_features == 2**31 - 1


def test_a_diagonal_that_is_there_twice_is_refused():
    matrix = sp.dia_array((np.ones((2, 3)), [0, 1]), shape=(3, 3))
    matrix.offsets = np.array([1, 1])
    with pytest.raises(ValueError, match="damaged sparse matrix"):
        check_features(matrix)
