"""The estimator as a user sees it: what goes in, what comes out, and always the same."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from polyseme import XRLinear
from polyseme.estimators.partitioned import PartitionedClassifier
from polyseme.files.model_folder import open_model
from tests.small_data import topics

DATA = topics()
N_LABELS = DATA.Y.shape[1]
NAMES = [f"label {chr(97 + i)}" for i in range(N_LABELS)]
DENSE_X, DENSE_Y = DATA.X.toarray(), DATA.Y.toarray()


def small_model(**parameters):
    bare = {"ordering": "product", "senses": "none"}
    return XRLinear(**{"max_leaf_size": 3, "beam_size": 3, "verbose": 0, **bare, **parameters})


@pytest.fixture(scope="module")
def model():
    return small_model().fit(DATA.X, DATA.Y)


def assert_same_answers(first, second, X=DATA.X_test):
    for ours, theirs in zip(first.predict_top_k(X, 5), second.predict_top_k(X, 5), strict=True):
        np.testing.assert_array_equal(ours, theirs)


# A single row


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_a_single_row_is_answered_like_one_of_many(model, kind, dtype, index):
    X = kind(DATA.X_test.astype(dtype))
    X.indptr, X.indices = X.indptr.astype(index), X.indices.astype(index)
    labels, scores = model.predict_top_k(X, 4)
    for i in range(0, X.shape[0], 7):
        one_label, one_score = model.predict_top_k(X[[i]], 4)
        np.testing.assert_array_equal(one_label, labels[[i]])
        np.testing.assert_array_equal(one_score, scores[[i]])


def test_a_single_row_may_be_empty_or_unsorted_or_have_repeated_entries(model):
    row = DATA.X_test[[0]].tocsr().astype(np.float32)
    answer = model.predict_top_k(row, 3)
    backwards = sp.csr_array(
        (row.data[::-1].copy(), row.indices[::-1].copy(), row.indptr), shape=row.shape
    )
    halves = sp.csr_array(
        (np.repeat(row.data / 2, 2), np.repeat(row.indices, 2), row.indptr * 2), shape=row.shape
    )
    for same in (backwards, halves):
        for ours, theirs in zip(model.predict_top_k(same, 3), answer, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    empty = sp.csr_array((1, row.shape[1]), dtype=np.float32)
    np.testing.assert_array_equal(
        model.predict_top_k(empty, 3)[0], model.predict_top_k(empty.toarray(), 3)[0]
    )


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda row: row.data.__setitem__(0, np.nan), "X contains NaN in row 0"),
        (lambda row: row.data.__setitem__(0, np.inf), "X contains infinity in row 0"),
        (lambda row: row.indices.__setitem__(-1, 10**6), "X"),
        (lambda row: row.indices.__setitem__(0, -1), "X"),
    ],
)
def test_a_bad_single_row_is_refused_like_a_bad_matrix(model, spoil, message):
    row = DATA.X_test[[0]].tocsr().astype(np.float32)
    spoil(row)
    with pytest.raises(ValueError, match=message):
        model.predict_top_k(row, 3)


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "3", 2**31])
def test_a_bad_k_is_refused_for_a_single_row_too(model, k):
    with pytest.raises(ValueError, match="k must be a positive whole number"):
        model.predict_top_k(DATA.X_test[[0]].tocsr().astype(np.float32), k)


# The same model, always


def stored_arrays(model, folder):
    model.save(folder)
    return open_model(folder).arrays


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {"copies": 1, "rounds": 0},
        {"copies": 2},
        {"copies": 2, "training_rows": "both"},
        {"copies": 2, "training_rows": "matcher-aware", "sense_positives": True},
        {"loss": "logistic", "activation": "sigmoid"},
        {"assignment": "adaptive", "rounds": 2},
        {"assignment": "random"},
        {"max_weights_per_label": 5, "min_weight": 0.0},
    ],
    ids=lambda parameters: " ".join(f"{k}={v}" for k, v in parameters.items()),
)
def test_the_same_seed_gives_the_same_model_for_any_number_of_threads(parameters, tmp_path):
    data = topics(160, n_documents=1280)
    parameters = {"ordering": "learned", "senses": "induce", **parameters}
    reference = None
    for n_threads in (1, 2, 3):
        model = small_model(max_leaf_size=4, n_jobs=n_threads, **parameters)
        arrays = stored_arrays(model.fit(data.X, data.Y), tmp_path / str(n_threads))
        found = {name: (a.dtype, a.shape, a.tobytes()) for name, a in arrays.items()}
        predicted = [a.tobytes() for a in model.predict_top_k(data.X_test, 5)]
        reference = reference or (found, predicted)
        assert found.keys() == reference[0].keys()
        assert [name for name in found if found[name] != reference[0][name]] == []
        assert predicted == reference[1]


def test_fitting_twice_gives_the_same_model(model, tmp_path):
    again = small_model().fit(DATA.X, DATA.Y)
    first, second = stored_arrays(model, tmp_path / "a"), stored_arrays(again, tmp_path / "b")
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name])


def test_another_seed_gives_another_tree():
    labels = [
        small_model(random_state=seed).fit(DATA.X, DATA.Y).clusters_.labels for seed in range(3)
    ]
    assert len({array.tobytes() for array in labels}) > 1


# Data in


@pytest.mark.filterwarnings("ignore:Constructing a DIA matrix")
@pytest.mark.parametrize("container", ["array", "matrix"])
@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
def test_every_sparse_format_gives_the_same_model(model, kind, container):
    X = getattr(sp, f"{kind}_{container}")(DATA.X)
    Y = getattr(sp, f"{kind}_{container}")(DATA.Y)
    other = small_model().fit(X, Y)
    assert_same_answers(other, model)
    assert_same_answers(other, model, getattr(sp, f"{kind}_{container}")(DATA.X_test))


def test_wide_indices_unsorted_ones_and_repeated_ones_give_the_same_model(model):
    wide = sp.csr_array(DATA.X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert_same_answers(small_model().fit(wide, DATA.Y), model)

    backwards = sp.csr_array(DATA.X)
    for i in range(backwards.shape[0]):
        row = slice(backwards.indptr[i], backwards.indptr[i + 1])
        backwards.indices[row] = backwards.indices[row][::-1].copy()
        backwards.data[row] = backwards.data[row][::-1].copy()
    backwards.has_sorted_indices = False
    assert_same_answers(small_model().fit(backwards, DATA.Y), model)

    halves = sp.csr_array(
        (np.repeat(DATA.X.data / 2, 2), np.repeat(DATA.X.indices, 2), DATA.X.indptr * 2),
        shape=DATA.X.shape,
    )
    assert_same_answers(small_model().fit(halves, DATA.Y), model)
    assert halves.nnz == 2 * DATA.X.nnz


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_dense_array_gives_the_same_model(model, dtype, order):
    X = np.asarray(DENSE_X, dtype=dtype, order=order)
    assert_same_answers(small_model().fit(X, DENSE_Y), model)
    assert_same_answers(small_model().fit(X.tolist(), DENSE_Y.tolist()), model)


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint16, np.int64, bool])
def test_other_numbers_are_taken_as_they_are(dtype):
    X = (DENSE_X * 8).astype(dtype)
    reference = small_model().fit(X.astype(np.float32), DENSE_Y)
    assert_same_answers(small_model().fit(X, DENSE_Y), reference, X)
    if dtype != np.float16:  # unknown to SciPy
        assert_same_answers(small_model().fit(sp.csr_array(X), DENSE_Y), reference, X)


def test_sparse_and_dense_features_lie_side_by_side(model):
    def in_parts(X):
        return sp.csc_array(X[:, :50]), X[:, 50:].toarray()

    other = small_model().fit(in_parts(DATA.X), DATA.Y)
    assert other.n_features_in_ == DATA.X.shape[1]
    assert other.layout_ == (50, DATA.X.shape[1] - 50)
    ours, theirs = (
        other.predict_top_k(in_parts(DATA.X_test), 1),
        model.predict_top_k(DATA.X_test, 1),
    )
    assert np.mean(ours[0] == theirs[0]) > 0.85
    assert other.score(in_parts(DATA.X_test), DATA.Y_test) == 1
    with pytest.raises(ValueError, match="rows; parts side by side need the same documents"):
        other.predict((DATA.X[:3, :50], DENSE_X[:4, 50:]))


@pytest.mark.parametrize("dtype", [bool, np.int64, np.float32])
def test_labels_may_be_a_matrix_of_any_kind_of_zeros_and_ones(model, dtype):
    assert_same_answers(small_model().fit(DATA.X, DATA.Y.astype(dtype)), model)
    assert_same_answers(small_model().fit(DATA.X, DENSE_Y.astype(dtype)), model)


@pytest.mark.parametrize("kind", [list, tuple, set, np.array])
def test_labels_may_be_lists_of_names_which_the_model_remembers(model, kind):
    Y = [kind([NAMES[j] for j in np.flatnonzero(row)]) for row in DENSE_Y]
    named = small_model().fit(DATA.X, Y)
    assert list(named.label_names_) == NAMES
    assert_same_answers(named, model)
    Y_test = [[NAMES[j] for j in np.flatnonzero(row)] for row in DATA.Y_test.toarray()]
    assert named.score(DATA.X_test, Y_test) == named.score(DATA.X_test, DATA.Y_test) == 1


def test_labels_may_be_lists_of_ids_which_the_model_remembers(model):
    Y = [np.flatnonzero(row) * 10 - 50 for row in DENSE_Y]
    named = small_model().fit(DATA.X, Y)
    assert list(named.label_names_) == [j * 10 - 50 for j in range(N_LABELS)]
    assert_same_answers(named, model)


@pytest.mark.parametrize(
    "y", [np.arange(6) % 3, ["a", "b", "c"] * 2, np.array(["a", "b", "c"] * 2)]
)
def test_one_label_a_document_may_be_a_plain_list(y):
    X = np.tile(np.eye(3, dtype=np.float32), (2, 1))
    model = XRLinear().fit(X, y)
    assert list(model.label_names_) == sorted(set(np.asarray(y).tolist()))
    assert model.predict_top_k(X, 1)[0][:, 0].tolist() == [0, 1, 2] * 2
    assert model.score(X, y) == 1


def test_names_may_be_given_beside_a_matrix():
    features = [f"word {i}" for i in range(DATA.X.shape[1])]
    model = small_model().fit(DATA.X, DATA.Y, label_names=NAMES, feature_names=features)
    assert list(model.label_names_) == NAMES
    assert list(model.feature_names_) == features


def test_read_only_input_is_left_as_it_is(model):
    def frozen(matrix):
        matrix = matrix.copy()
        for array in (matrix.data, matrix.indices, matrix.indptr):
            array.setflags(write=False)
        return matrix

    X, Y, X_test = frozen(DATA.X), frozen(DATA.Y), frozen(DATA.X_test)
    other = small_model(training_rows="both", sense_positives=True).fit(X, Y)
    other.predict(X_test)
    other.score(X_test, DATA.Y_test)
    assert_same_answers(small_model().fit(X, Y), model, X_test)
    dense_X, dense_Y = DENSE_X.copy(), DENSE_Y.copy()
    dense_X.setflags(write=False)
    dense_Y.setflags(write=False)
    assert_same_answers(small_model().fit(dense_X, dense_Y), model)


def test_unsorted_input_is_not_sorted_in_place():
    X = sp.csr_array(
        (np.array([1.0, 2.0, 3.0, 4.0], np.float32), np.array([2, 0, 2, 1]), np.array([0, 3, 4])),
        shape=(2, 3),
    )
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    XRLinear().fit(X, [["a"], ["b"]]).predict(X)
    for array, kept in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(array, kept)


# Answers out


def test_the_right_answer_is_found(model):
    assert model.score(DATA.X_test, DATA.Y_test) == 1


def test_top_k_are_the_best_of_all_scores_in_order(model):
    labels, scores = model.predict_top_k(DATA.X_test, 4)
    every = model.decision_function(DATA.X_test)
    assert (labels.dtype, scores.dtype) == (np.int32, np.float32)
    assert labels.shape == scores.shape == (DATA.X_test.shape[0], 4)
    for i in range(len(labels)):
        row = slice(every.indptr[i], every.indptr[i + 1])
        np.testing.assert_array_equal(scores[i], np.sort(every.data[row])[:-5:-1])
        score_of = dict(zip(every.indices[row].tolist(), every.data[row].tolist(), strict=True))
        assert [score_of[label] for label in labels[i].tolist()] == scores[i].tolist()


def test_scores_are_stored_for_the_reached_labels_only(model):
    scores = model.decision_function(DATA.X_test)
    assert isinstance(scores, sp.csr_array)
    assert scores.shape == DATA.Y_test.shape
    assert scores.dtype == np.float32
    assert scores.has_canonical_format
    assert 0 < scores.nnz < np.prod(scores.shape)


def test_predict_gives_zeros_and_ones_for_the_likely_labels(model):
    predicted = model.predict(DATA.X_test)
    assert predicted.shape == DATA.Y_test.shape
    np.testing.assert_array_equal(
        predicted.toarray(), model.decision_function(DATA.X_test).toarray() >= 0.5
    )
    assert set(predicted.data) == {1}


def test_places_beyond_the_reached_labels_are_padded(model):
    labels, scores = model.predict_top_k(DATA.X_test, N_LABELS + 10)
    reached = np.diff(model.decision_function(DATA.X_test).indptr)
    for i, n in enumerate(reached):
        assert (labels[i, :n] >= 0).all()
        assert (labels[i, n:] == -1).all()
        assert (scores[i, n:] == 0).all()


@pytest.mark.parametrize("activation", ["l3-hinge", "sigmoid", "none"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_one_row_is_answered_like_the_same_row_of_a_batch(activation, n_threads):
    model = small_model(activation=activation, n_jobs=n_threads).fit(DATA.X, DATA.Y)
    labels, scores = model.predict_top_k(DATA.X_test, 5)
    every = model.decision_function(DATA.X_test).toarray()
    for i in range(0, 96, 7):
        one_labels, one_scores = model.predict_top_k(DATA.X_test[[i]], 5)
        np.testing.assert_array_equal(one_labels[0], labels[i])
        np.testing.assert_array_equal(one_scores[0], scores[i])
        one = model.decision_function(DATA.X_test[[i]].toarray()).toarray()[0]
        np.testing.assert_array_equal(one, every[i])


def test_models_of_different_size_do_not_get_in_each_others_way():
    X = np.eye(500, dtype=np.float32)
    small = XRLinear(rounds=0).fit(X, np.eye(500)[:, :1])
    large = XRLinear(rounds=0, max_leaf_size=1, beam_size=50).fit(X, np.eye(500))
    for i in range(0, 500, 50):
        small.predict_top_k(X[[i]], 1)
        assert large.predict_top_k(X[[i]], 1)[0] == i


def test_no_rows_are_no_answers(model):
    labels, scores = model.predict_top_k(DATA.X_test[:0], 3)
    assert labels.shape == scores.shape == (0, 3)
    assert model.decision_function(DATA.X_test[:0]).shape == (0, N_LABELS)
    assert model.predict(DATA.X_test[:0]).shape == (0, N_LABELS)


@pytest.mark.parametrize("activation", ["l3-hinge", "sigmoid"])
def test_scores_lie_between_zero_and_one(activation):
    model = small_model(activation=activation, merge="mean").fit(DATA.X, DATA.Y)
    scores = model.decision_function(DATA.X_test).data
    assert scores.min() >= 0
    assert scores.max() <= 1
    assert model.set_params(merge="sum").decision_function(DATA.X_test).data.max() <= model.copies


def test_the_beam_may_be_changed_after_training(model):
    wide = small_model().fit(DATA.X, DATA.Y).set_params(beam_size=100)
    assert wide.decision_function(DATA.X_test).nnz == np.prod(DATA.Y_test.shape)
    assert model.decision_function(DATA.X_test).nnz < np.prod(DATA.Y_test.shape)


def test_fewer_weights_are_kept_where_asked_for(model):
    few = small_model(max_weights_per_label=2).fit(DATA.X, DATA.Y).ranker_.weights
    assert few.n_weights <= 2 * len(few.bias)
    all_of_them = small_model(min_weight=0).fit(DATA.X, DATA.Y).ranker_.weights
    assert few.n_weights < model.ranker_.weights.n_weights < all_of_them.n_weights


def test_the_model_knows_what_it_was_trained_on():
    model = small_model(ordering="learned", senses="induce").fit(DATA.X, DATA.Y)
    assert (model.n_documents_, model.n_features_in_) == DATA.X.shape
    assert model.n_labels_ == N_LABELS
    np.testing.assert_array_equal(model.label_counts_, DENSE_Y.sum(axis=0))
    assert model.label_names_ is None
    assert list(model.phase_seconds_) == [
        "Label tree",
        "Cross-matching",
        "Assigning labels",
        "Training the matcher again",
        "Training the ranker",
        "Learning the order",
        "Finding senses",
    ]


@pytest.mark.parametrize(
    ("name", "value"), [("beam_size", "x"), ("beam_size", 2**40), ("n_jobs", "x")]
)
def test_a_parameter_that_was_spoilt_after_training_is_refused_when_predicting(name, value):
    spoilt = small_model().fit(DATA.X, DATA.Y).set_params(**{name: value})
    with pytest.raises(ValueError, match=f"{name} must be"):
        spoilt.predict_top_k(DATA.X_test, 3)


def test_a_model_that_is_not_trained_says_so():
    with pytest.raises(NotFittedError):
        XRLinear().match(np.eye(3))
    with pytest.raises(NotFittedError):
        _ = XRLinear().classes_


def test_a_list_of_matrices_is_told_from_parts_side_by_side():
    parts = [sp.csr_array(np.eye(3)), np.eye(3)]
    with pytest.raises(ValueError, match="give parts side by side as a tuple"):
        XRLinear().fit(parts, [["a"], ["b"], ["c"]])


def test_an_estimator_without_a_backbone_says_so():
    with pytest.raises(TypeError, match="does not say how its matcher is made"):
        PartitionedClassifier(verbose=0).fit(np.eye(3), [["a"], ["b"], ["c"]])


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("value", [np.float32, np.float64])
def test_a_plain_row_is_answered_without_the_general_checks_whatever_its_types(index, value):
    data = topics(n_labels=8, n_documents=60)
    model = XRLinear(max_leaf_size=4, verbose=0).fit(data.X, data.Y)
    row = sp.csr_array(data.X[[0]]).astype(value)
    row.indptr, row.indices = row.indptr.astype(index), row.indices.astype(index)
    quick = model._top_k_of_one(row, 3)
    assert quick is not None
    for one, other in zip(quick, model.predict_top_k(row.toarray(), 3), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    row.indices = row.indices - row.indices.max() - 1  # leads outside
    assert model._top_k_of_one(row, 3) is None
