"""Bad and odd input: one clear sentence, or an answer; never a crash."""

import numpy as np
import pytest
import scipy.sparse as sp

from polyseme import XRLinear, _native
from tests.small_data import topics

DATA = topics(12, n_documents=60)
X, Y = DATA.X.toarray(), DATA.Y.toarray()


def small_model(**parameters):
    return XRLinear(**{"max_leaf_size": 3, "beam_size": 2, "senses": "none", **parameters})


@pytest.fixture(scope="module")
def model():
    return small_model().fit(X, Y)


def changed(matrix, row, column, value):
    matrix = matrix.astype(np.float64)
    matrix[row, column] = value
    return matrix


def refused(call, *arguments, **named):
    with pytest.raises(ValueError) as caught:  # noqa: PT011, the sentence is looked at below
        call(*arguments, **named)
    message = str(caught.value)
    assert "\n" not in message
    return message


# Features


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_nan_and_infinity_are_named_with_their_row(model, value, word, make):
    wrong = make(changed(X, 7, 3, value))
    for call in (model.predict, model.predict_top_k, model.decision_function):
        assert f"X contains {word} in row 7" in refused(call, wrong)
    assert f"X contains {word} in row 7" in refused(small_model().fit, wrong, Y)
    assert f"X contains {word} in row 7" in refused(model.score, wrong, Y)


@pytest.mark.parametrize("n_columns", [1, X.shape[1] - 1, X.shape[1] + 1])
def test_another_number_of_features_is_refused(model, n_columns):
    other = np.ones((2, n_columns))
    for call in (model.predict, model.predict_top_k, model.decision_function):
        message = refused(call, other)
        assert f"X has {n_columns} features, but XRLinear is expecting {X.shape[1]}" in message
        refused(call, sp.csr_array(other))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (X[0], r"Reshape your data|reshape"),
        (np.ones((2, 3, 4)), "3 dimensions"),
        (np.ones((60, 0)), "0 feature"),
        (X.astype(complex), "Complex data not supported"),
        (np.full((60, 3), "word"), "turn texts into features"),
        (["a text"] * 60, "turn texts into features"),
        ([[1.0], [1.0, 2.0]], "different lengths"),
        (None, "X must hold numbers"),
        (np.full((60, 2), 1e39), "too large for float32"),
    ],
    ids=str,
)
def test_what_is_no_feature_matrix_is_refused(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        small_model().fit(wrong, Y)


def test_a_sparse_matrix_whose_indices_lead_outside_is_refused(model):
    for spoil, value in (("indices", 10**6), ("indices", -1), ("indptr", 10**6)):
        broken = sp.csr_array(X)
        getattr(broken, spoil)[1] = value
        assert "damaged sparse matrix" in refused(small_model().fit, broken, Y)
        assert "damaged sparse matrix" in refused(model.predict, broken)


# Labels


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_matrix, sp.lil_matrix])
@pytest.mark.parametrize("value", [-1, 2, 0.5, np.nan])
def test_labels_other_than_zero_and_one_are_named_with_their_row(make, value):
    message = refused(small_model().fit, X, make(changed(Y, 9, 4, value)))
    assert f"Y has {value:g} in row 9; a label matrix holds 0 and 1 only" in message


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, lambda Y: [list("ab")] * len(Y)])
def test_different_numbers_of_rows_are_refused(model, make):
    assert "X has 60 rows and Y has 59" in refused(small_model().fit, X, make(Y[:59]))
    assert "X has 59 rows and Y has 60" in refused(small_model().fit, X[:59], make(Y))


def test_a_score_needs_the_labels_of_the_same_documents(model):
    assert "X has 60 rows and Y has 59" in refused(model.score, X, Y[:59])
    assert "Y has 7 labels, but the model has 12" in refused(model.score, X, Y[:, :7])


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (None, "target y is None"),
        (np.zeros((60, 0)), "Y has no labels"),
        ([[]] * 60, "Y has no labels"),
        ([["a", 1]] * 60, "mixes names and ids"),
        ([["a"], [None]] * 30, "labels are names"),
        (np.linspace(0, 1, 60), "Unknown label type"),
        (7, "must be a matrix or lists of labels"),
    ],
    ids=str,
)
def test_what_is_no_labels_is_refused(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        small_model().fit(X, wrong)


def test_no_documents_are_refused():
    assert "at least one document" in refused(small_model().fit, X[:0], Y[:0])


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ({"label_names": ["a"]}, "Y has 12 labels, but there are 1 label names"),
        ({"label_names": [*range(11), "a"]}, "all strings or all integers"),
        ({"feature_names": ["a"]}, f"X has {X.shape[1]} features, but there are 1 feature names"),
        ({"feature_names": [None] * X.shape[1]}, "all strings or all integers"),
    ],
    ids=str,
)
def test_names_that_do_not_fit_are_refused_before_training(names, sentence, monkeypatch):
    monkeypatch.setattr("polyseme.estimators.learning.disentangle", pytest.fail)
    assert sentence in refused(small_model().fit, X, Y, **names)


# Parameters


@pytest.mark.parametrize("name", ["copies", "beam_size"])
def test_no_copies_and_no_beam_are_refused(name):
    message = refused(small_model(**{name: 0}).fit, X, Y)
    assert f"{name} must be a whole number from 1 to 2147483647, not 0" in message


def test_a_beam_that_was_taken_away_after_training_is_refused():
    model = small_model().fit(X, Y).set_params(beam_size=0)
    assert "beam_size" in refused(model.predict_top_k, X)
    assert "beam_size" in refused(model.predict, X)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "5", None, 2**31, 2**70])
def test_a_k_that_is_no_positive_whole_number_is_refused(model, k):
    assert "k must be a positive whole number" in refused(model.predict_top_k, X, k)


def test_a_k_beyond_the_labels_is_padded(model):
    labels, scores = model.predict_top_k(X, 40)
    assert labels.shape == (60, 40)
    assert (labels[:, 12:] == -1).all()
    assert (scores[:, 12:] == 0).all()


def test_a_beam_beyond_the_clusters_reaches_them_all():
    wide = small_model(beam_size=10_000, copies=50).fit(X, Y)
    assert wide.decision_function(X).nnz == Y.size


def test_a_cap_without_room_for_the_labels_is_refused():
    assert "leaves no room" in refused(small_model(max_cluster_size=1).fit, X, Y)


def test_training_that_runs_out_of_numbers_is_refused(monkeypatch):
    train = _native.train_clusters

    def overflowing(*arguments, **named):
        arrays, draft = train(*arguments, **named)
        return {**arrays, "bias": np.full_like(arrays["bias"], np.nan)}, draft

    monkeypatch.setattr(_native, "train_clusters", overflowing)
    model = small_model()
    assert "bring the rows of X to a length near 1" in refused(model.fit, X, Y)
    assert not hasattr(model, "clusters_")


# Odd, but fine

EVERY_WAY = [
    {},
    {"rounds": 0, "copies": 1},
    {"rounds": 2, "assignment": "adaptive"},
    {"training_rows": "matcher-aware"},
    {"training_rows": "both", "sense_positives": True},
    {"loss": "logistic", "activation": "sigmoid", "bias": 0},
    {"assignment": "closed_form", "activation": "none"},
]
every_way = pytest.mark.parametrize("parameters", EVERY_WAY, ids=str)


def assert_answers(model, X):
    labels, scores = model.predict_top_k(X, 3)
    assert labels.max() < model.n_labels_
    assert (labels[:, 0] >= 0).all()
    assert np.isfinite(scores).all()
    assert np.isfinite(model.decision_function(X).data).all()
    assert (model.clusters_.copies >= 1).all()


@every_way
def test_empty_rows_are_answered(parameters):
    holes = X.copy()
    holes[::5] = 0
    model = small_model(**parameters).fit(holes, Y)
    assert_answers(model, holes)
    assert_answers(model, np.zeros((1, X.shape[1])))


@every_way
def test_documents_without_labels_and_labels_without_documents(parameters):
    holes = Y.copy()
    holes[::4] = 0
    holes[:, [0, 5, 11]] = 0
    model = small_model(**parameters).fit(X, holes)
    assert_answers(model, X)
    assert model.label_counts_[[0, 5, 11]].tolist() == [0, 0, 0]
    assert not np.isin(model.predict_top_k(X[holes.any(axis=1)], 1)[0], [0, 5, 11]).any()


@every_way
def test_features_that_are_all_zero(parameters):
    assert_answers(small_model(**parameters).fit(np.zeros_like(X), Y), X)
    assert_answers(small_model(**parameters).fit(sp.csr_array(X.shape), Y), X)


@every_way
def test_no_labels_at_all(parameters):
    assert_answers(small_model(**parameters).fit(X, np.zeros_like(Y)), X)


@every_way
def test_a_single_label(parameters):
    for labels in (Y[:, :1], np.ones((60, 1)), [["only"]] * 60):
        model = small_model(**parameters).fit(X, labels)
        assert_answers(model, X)
        assert model.predict_top_k(X, 2)[0].tolist() == [[0, -1]] * 60


@every_way
def test_a_single_document(parameters):
    model = small_model(**parameters).fit(X[:1], Y[:1])
    assert_answers(model, X)
    model = small_model(**parameters).fit(X[:1], [["one", "two"]])
    assert_answers(model, X)


@every_way
def test_documents_that_are_all_the_same(parameters):
    assert_answers(small_model(**parameters).fit(np.tile(X[:1], (60, 1)), Y), X)


def test_a_label_of_every_document_and_a_feature_of_one(model):
    labels, features = Y.copy(), np.hstack([X, np.eye(60, 1)])
    labels[:, 2] = 1
    assert_answers(small_model().fit(features, labels), features)


@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
@pytest.mark.parametrize("scale", [1e-38, 1e-20, 1e9, 1e20, 1e38])
def test_features_of_any_size_are_learned_from_or_refused(scale, loss):
    model = small_model(loss=loss)
    try:
        model.fit(X * scale, Y)
    except ValueError as error:
        if "bring the rows of X to a length near 1" not in str(error):
            raise
    else:
        assert_answers(model, X * scale)


@pytest.mark.parametrize("activation", ["l3-hinge", "sigmoid"])
@pytest.mark.parametrize("scale", [1e-38, 1e-20, 1e20, 1e38, -1e38])
def test_features_of_any_size_are_answered(scale, activation):
    assert_answers(small_model(activation=activation).fit(X, Y), X * scale)


def test_a_failed_fit_leaves_the_earlier_one(model):
    twin = small_model().fit(X, Y)
    refused(twin.fit, X, -Y)
    refused(twin.set_params(copies=0).fit, X, Y)
    np.testing.assert_array_equal(twin.predict_top_k(X)[1], model.predict_top_k(X)[1])
